// Where a buffer's memory comes from: foreign, larger, of rows; and what is read and logged of it.
#include <support/buffer_fixture.hpp>

TEST_CASE_METHOD(fixture, "foreign memory is released once, and only if it was taken over", "[buffer]") {
    static std::byte bytes[300];
    static unsigned called = 0;
    called = 0;
    const auto back = [](void* context, std::byte* p, std::size_t n) noexcept {
        called += context == bytes && p == bytes && n == 300;
    };
    account small{query, name{"small"}, limit{299}};
    charge_status why;
    CHECK_FALSE(buffer::of_foreign(small, bytes, 300, back, bytes, true, &why));
    CHECK(why.at == &small);
    CHECK(called == 0);
    buffer x = buffer::of_foreign(a, bytes, 300, back, bytes);
    CHECK(a.used() == 300);
    CHECK(x.block_bytes() == 300);
    CHECK_FALSE(x.reallocate_if_needed(301)); // nobody has more of it
    CHECK(x.size() == 300);
    buffer y = x.slice(299, 1), z = y.retain(b);
    x.release(), y.release();
    CHECK(called == 0);
    CHECK(b.used() == 300);
    z.release();
    CHECK(called == 1);
}

#if !ALLOT_CHECKED // which tells, see tests/death
TEST_CASE_METHOD(fixture, "an account of another tree is misused, and not closed", "[buffer]") {
    account other{name{"other"}};
    buffer x = memory.allocate(a, 100);
    const auto kept = x.transfer(other), gone = std::move(x).transfer(other);
    CHECK(kept.status.outcome == charge_outcome::misused);
    CHECK(gone.status.outcome == charge_outcome::misused);
    CHECK(gone.status.at == &other);
    CHECK_FALSE(kept.view);
    CHECK_FALSE(gone.view);
    CHECK(x.charged() == &a);
}
#endif

TEST_CASE_METHOD(fixture, "reallocate if needed", "[buffer]") {
    buffer x = memory.allocate(a, 100);
    std::byte* const at = x.data();
    CHECK(x.reallocate_if_needed(50));
    CHECK(x.size() == 100);
    CHECK(x.reallocate_if_needed(256)); // where it stands
    CHECK(x.data() == at);
    CHECK(x.size() == 256);
    buffer y = x.slice(0, 100);
    CHECK(y.reallocate_if_needed(101)); // x has the bytes behind it
    CHECK(y.data() != at);
    CHECK(a.used() == 512);
    CHECK(x.data() == at);
    a.set_limit(600);
    charge_status why;
    CHECK_FALSE(x.reallocate_if_needed(1000, &why));
    CHECK(why.at == &a);
    CHECK(x.data() == at);
    CHECK(x.size() == 256);
    buffer other = x.retain(b);
    CHECK(other.reallocate_if_needed(300));
    CHECK(b.used() == 512); // its own
    CHECK(x.valid());
}

TEST_CASE_METHOD(fixture, "numbers are little-endian at any offset", "[buffer]") {
    buffer x = memory.allocate(a, 64);
    x.set<std::uint32_t>(1, 0x01020304u);
    CHECK(x.get<std::uint8_t>(1) == 4);
    CHECK(x.get<std::uint8_t>(4) == 1);
    x.set<double>(13, -2.5);
    CHECK(x.get<double>(13) == -2.5);
    x.set<std::int64_t>(56, -7); // the last bytes
    CHECK(x.get<std::int64_t>(56) == -7);
    enum class color : std::uint16_t { red = 0x1234 };
    x.set(3, color::red);
    CHECK(x.get<std::uint8_t>(3) == 0x34);
    CHECK(x.get<color>(3) == color::red);
    // as a big-endian machine does it
    allot::detail::store_little<std::uint32_t, std::endian::big>(x.data(), 0x01020304u);
    CHECK(static_cast<unsigned>(x.data()[0]) == 1); // its own order is the other one, so the turn is seen here
    CHECK(allot::detail::load_little<std::uint32_t, std::endian::big>(x.data()) == 0x01020304u);
    allot::detail::store_little<double, std::endian::big>(x.data(), 1.0);
    CHECK(static_cast<unsigned>(x.data()[0]) == 0x3f);
}

TEST_CASE("buffers of rows are charged by the row's capacity", "[buffer]") {
    struct set : allot::policies<> {};
    allot::row_manager<set> rows{limit{8_MiB}};
    account a{name{"a"}};
    {
        buffer_memory memory{rows};
        buffer x = memory.allocate(a, 1000), big = memory.allocate(a, 3_MiB);
        CHECK(reinterpret_cast<std::uintptr_t>(x.data()) % 64 == 0);
        CHECK(x.block_bytes() == rows.capacity(x.data()));
        CHECK(a.used() == x.block_bytes() + big.block_bytes());
        CHECK(x.host_access());
        std::memset(big.data(), 1, big.size());
        allot::any_rows any{rows};
        buffer_memory erased{any};
        buffer y = erased.allocate(a, 1000);
        CHECK(rows.live_rows() == 3);
    }
    CHECK(rows.live_rows() == 0);
    CHECK(a.used() == 0);
}

TEST_CASE_METHOD(fixture, "a log keeps what happened to a block", "[buffer]") {
    allot::account_log log;
    std::string all;
    {
        buffer x = memory.allocate(a, 10);
        x.set_log(&log);
        buffer y = x.retain(b);
        x.release();
        auto z = std::move(y).transfer(c);
    }
    log.visit([&](const allot::account_event& e) {
        all += std::string{e.what} + " " + std::to_string(e.bytes) + "/" + std::to_string(e.used) + "; ";
    });
    CHECK(all == "retain 256/0; transfer 256/256; transfer 256/256; end 256/256; ");
}

// ---- refusals ------------------------------------------------------------------------------------------------------

TEST_CASE_METHOD(fixture, "a refused buffer names the exhausted memory, or the account", "[buffer][refusal]") {
    struct full : allot::policies<allot::ledger::counter, allot::oom::null> {};
    allot::row_manager<full> rows{name{"pool"}, limit{64_KiB}, allot::page_bytes{64_KiB}};
    const buffer_memory from_pool{rows};
    root.set_limit(1_MiB);
    buffer first = from_pool.try_allocate(a, 1000);
    charge_status why;
    CHECK_FALSE(from_pool.try_allocate(a, 200'000, &why));
    CHECK(why.outcome == charge_outcome::over_limit);
    CHECK(why.by == allot::refuser::limit);
    CHECK(why.name == std::string{"pool"});
    CHECK(why.limit == 64_KiB);
    pool.fail_from = 0; // a memory that cannot say why; the refusal before it is another one's
    CHECK_FALSE(memory.try_allocate(a, 100, &why));
    CHECK(why.outcome == charge_outcome::no_memory);
    CHECK(why.by == allot::refuser::system);
    CHECK(why.requested == 100);
    pool.fail_from = ~0u;
    account small{query, name{"small"}, limit{100}};
    CHECK_FALSE(memory.try_allocate(small, 300, &why));
    CHECK(why.by == allot::refuser::account);
    CHECK(why.name == std::string{"small"});
    CHECK(memory.try_allocate(a, 300, &why));
    CHECK(why.fitted());
#if ALLOT_EXCEPTIONS
    try {
        static_cast<void>(from_pool.allocate(a, 200'000));
        FAIL("it was not refused");
    } catch (const allot::out_of_memory& e) {
        CHECK_THAT(e.what(),
                   ContainsSubstring(
                       "for account query / a: over the limit: pool uses 64 KiB of 64 KiB; the request needs 256 KiB"));
        CHECK(e.why().name == std::string{"pool"});
    }
#endif
}
