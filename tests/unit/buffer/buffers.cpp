#include <support/catch.hpp>
#include <support/rescue.hpp>

#include <allot/buffers.hpp>
#include <allot/row_manager.hpp>

#include <cstring>
#include <string>
#include <utility>

using allot::account;
using allot::buffer;
using allot::buffer_memory;
using allot::charge_outcome;
using allot::charge_status;
using allot::limit;
using allot::name;
using namespace allot::literals;

namespace {

// Blocks of 256 bytes; counts, and fails on demand.
struct counting_memory {
    allot::heap_memory heap;
    std::size_t live = 0, blocks = 0;
    unsigned fail_from = ~0u, asked = 0;
    allot::memory_block try_allocate(std::size_t n, std::size_t align) noexcept {
        if (asked++ >= fail_from) return {};
        const allot::memory_block b = heap.try_allocate(allot::align_up(n, 256), align);
        live += b.bytes, ++blocks;
        return b;
    }
    void deallocate(void* p, std::size_t n) noexcept {
        live -= n, --blocks;
        heap.deallocate(p);
    }
};
// The same, told before.
struct telling_memory : counting_memory {
    static std::size_t capacity_for(std::size_t n) noexcept { return allot::align_up(n, 256); }
};

struct scribe : allot::account_listener {
    std::string heard;
    void transferred(const account& from, const account& to, std::size_t n, const charge_status&) noexcept override {
        heard += std::string{from.name()} + " to " + to.name() + " " + std::to_string(n) + "; ";
    }
    void after(const account& a, std::size_t n, const charge_status&) noexcept override {
        heard += std::string{"charge "} + a.name() + " " + std::to_string(n) + "; ";
    }
    void released(const account& a, std::size_t n) noexcept override {
        heard += std::string{"refund "} + a.name() + " " + std::to_string(n) + "; ";
    }
    std::string take() { return std::exchange(heard, {}); }
};

struct fixture {
    counting_memory pool;
    buffer_memory memory{pool};
    account root{name{"root"}, limit{10'000}};
    account query{root, name{"query"}};
    account a{query, name{"a"}}, b{query, name{"b"}}, c{query, name{"c"}}, away{root, name{"away"}};
    ~fixture() {
        CHECK(pool.live == 0);
        CHECK(root.used() == 0);
        CHECK(root.verify());
        for (const account* x : {&a, &b, &c, &away}) CHECK(x->figures().buffers == 0);
    }
};

} // namespace

TEST_CASE_METHOD(fixture, "a buffer is charged by what its memory takes", "[buffer]") {
    buffer x = memory.allocate(a, 100);
    CHECK(x.size() == 100);
    CHECK(x.block_bytes() == 256);
    CHECK(x.charged_bytes() == 256);
    CHECK(a.used() == 256);
    CHECK(a.figures().buffers == 1);
    CHECK(x.room() == 256);
    CHECK(x.holder() == &a);
    CHECK(x.valid());
    x.release();
    CHECK_FALSE(x);
    CHECK(a.used() == 0);
    x.release(); // the empty buffer: nothing
}

TEST_CASE_METHOD(fixture, "the empty buffer is free", "[buffer]") {
    buffer e, none = memory.allocate(a, 0);
    CHECK(none.empty());
    CHECK_FALSE(none);
    CHECK(none.valid());
    CHECK(pool.blocks == 0);
    CHECK(a.used() == 0);
    CHECK(e.slice(0, 0).empty());
    CHECK_FALSE(e.retain(b));
    auto [view, how] = std::move(e).transfer(b);
    CHECK_FALSE(view);
    CHECK(how.fitted());
    CHECK(view.holder() == nullptr);
    CHECK(view.charged() == nullptr);
    CHECK(view.charged_bytes() == 0);
    CHECK_FALSE(view.is_shared());
    CHECK(view.bytes().empty());
    CHECK(view.reallocate_if_needed(0));
    CHECK_FALSE(view.reallocate_if_needed(1));
    buffer x = memory.allocate(a, 10);
    CHECK_FALSE(x.slice(10, 0)); // at the end
    CHECK(a.figures().buffers == 1);
}

TEST_CASE_METHOD(fixture, "slices are views of the same block", "[buffer]") {
    buffer x = memory.allocate(a, 100);
    for (unsigned i = 0; i != 100; ++i) x.set<std::uint8_t>(i, static_cast<std::uint8_t>(i));
    buffer y = x.slice(10, 50), z = y.slice(5, 45), all = x.slice();
    CHECK(y.data() == x.data() + 10);
    CHECK(z.get<std::uint8_t>(0) == 15);
    CHECK(z.get<std::uint8_t>(44) == 59);
    CHECK(all.size() == 100);
    CHECK(a.figures().buffers == 1); // one ledger
    CHECK(x.is_shared());
    CHECK(y.room() == 50); // others have views
    x.release(), all.release(), y.release();
    CHECK(a.used() == 256);
    CHECK_FALSE(z.is_shared());
    CHECK(z.room() == 256 - 15);
    buffer moved{std::move(z)};
    z = std::move(moved);
    CHECK(z.get<std::uint8_t>(1) == 16);
    z = memory.allocate(b, 1); // the old block goes
    CHECK(a.used() == 0);
}

TEST_CASE_METHOD(fixture, "retain leaves the charge, and who inherits it is the longest holder", "[buffer]") {
    scribe ears;
    buffer x = memory.allocate(a, 100);
    root.add(ears);
    buffer away_first = x.retain(away), z = x.retain(c), y = x.retain(b), y2 = x.retain(b), mine = x.retain(a);
    CHECK(mine.holder() == &a);
    CHECK(b.figures().buffers == 1);
    CHECK(y.holder() == &b);
    CHECK(y.charged() == &a);
    CHECK(y.charged_bytes() == 0);
    CHECK(query.used() == 256);
    CHECK(b.used() + c.used() + away.used() == 0);
    CHECK(ears.take() == "");
    x.release();
    CHECK(ears.take() == ""); // a has another view
    away_first.release();
    CHECK(ears.take() == ""); // it was not charged
    mine.release();
    CHECK(ears.take() == "a to c 256; "); // c came before b
    CHECK(z.charged() == &c);
    CHECK(y.valid());
    z.release();
    CHECK(ears.take() == "c to b 256; ");
    y.release();
    CHECK(ears.take() == "");
    CHECK(b.used() == 256);
    y2.release();
    CHECK(ears.take() == "refund b 256; ");
    CHECK(root.remove(ears));
}

TEST_CASE_METHOD(fixture, "a transfer charges one account, and nobody above both notices", "[buffer]") {
    buffer x = memory.allocate(a, 100);
    const std::size_t used = query.used(), peak = query.peak(), all = root.peak();
    auto [y, how] = std::move(x).transfer(b);
    CHECK_FALSE(x);
    CHECK(how.fitted());
    CHECK(a.used() == 0);
    CHECK(a.figures().buffers == 0);
    CHECK(b.used() == 256);
    CHECK(y.holder() == &b);
    CHECK(y.charged() == &b);
    CHECK(query.used() == used);
    CHECK(query.peak() == peak);
    auto kept = y.transfer(c); // an lvalue stays a view of b's
    CHECK(y.holder() == &b);
    CHECK(kept.view.charged() == &c);
    CHECK(y.charged_bytes() == 0);
    CHECK(query.peak() == peak);
    auto third = y.transfer(away); // not b's to give: the charge stays
    CHECK(third.fitted());
    CHECK(third.view.charged() == &c);
    CHECK(root.peak() == all);
    auto itself = std::move(kept.view).transfer(c);
    CHECK(itself.view.charged() == &c);
    CHECK_FALSE(kept.view);
}

TEST_CASE_METHOD(fixture, "a transfer among shared views", "[buffer]") {
    buffer x = memory.allocate(a, 100), x2 = x.slice(50, 50), y = x.retain(b);
    auto [z, how] = std::move(x2).transfer(b); // a has another view, b a ledger
    CHECK(how.fitted());
    CHECK_FALSE(x2);
    CHECK(z.size() == 50);
    CHECK(b.used() == 256);
    CHECK(x.valid());
    CHECK(x.charged_bytes() == 0);
    y.release(), z.release();
    CHECK(a.used() == 256); // back to the only holder
    // a relabelled ledger arrives anew
    buffer c1 = x.retain(c), w = x.retain(away);
    auto r = std::move(x).transfer(b);
    CHECK(r.view.valid());
    r.view.release();
    CHECK(w.charged() == &c);
}

TEST_CASE_METHOD(fixture, "a transfer is forced, and tells", "[buffer]") {
    account small{query, name{"small"}, limit{100}};
    buffer x = memory.allocate(a, 100);
    auto [y, how] = std::move(x).transfer(small);
    CHECK_FALSE(how.fitted());
    CHECK(how.outcome == charge_outcome::forced);
    CHECK(how.at == &small);
    CHECK(small.used() == 256);
    buffer z = y.retain(a);
    small.set_limit(0);
    y.release();
    CHECK(a.used() == 256);
}

TEST_CASE_METHOD(fixture, "a closed account gets nothing, and is passed over", "[buffer]") {
    const support::rescue ends{"a charge passed to a closed account again and again"};
    buffer x = memory.allocate(a, 100);
    {
        account gone{query, name{"gone"}};
        gone.close();
        CHECK_FALSE(x.retain(gone));
        auto r = std::move(x).transfer(gone);
        CHECK_FALSE(r.view);
        CHECK(r.status.outcome == charge_outcome::closed);
        CHECK(x.charged() == &a);
        charge_status why;
        CHECK_FALSE(memory.try_allocate(gone, 10, &why));
        CHECK(why.outcome == charge_outcome::closed);
    }
    std::string told;
    const allot::leak_sink sink{
        [](void* to, std::string_view text) noexcept { static_cast<std::string*>(to)->append(text); }, &told};
    {
        account shut{query, name{"shut"}, sink}, d{query, name{"d"}};
        buffer s = x.retain(shut), t = x.retain(d);
        CHECK_FALSE(shut.close()); // one view is open
        CHECK_THAT(told, ContainsSubstring("1 buffers"));
        x.release();
        CHECK(d.used() == 256); // not shut, though it came first
        s.release();
        CHECK(t.valid());
    }
    // nobody can inherit: who let go stays charged until the end
    x = memory.allocate(a, 100);
    account last{query, name{"last"}, sink};
    buffer s = x.retain(last);
    last.close();
    x.release();
    CHECK(a.used() == 256);
    CHECK(s.charged() == &a);
    s.release();
    CHECK(a.used() == 0);
}

TEST_CASE_METHOD(fixture, "a failing request leaves everything as it was", "[buffer]") {
    charge_status why;
    CHECK_FALSE(memory.try_allocate(a, 20'000, &why));
    CHECK(why.outcome == charge_outcome::over_limit);
    CHECK(why.at == &root);
    CHECK(a.peak() == 0);
    a.set_limit(1000);
    CHECK_FALSE(memory.try_allocate(a, 900, &why)); // 1024 bytes of memory
    CHECK_FALSE(why);
    CHECK(why.asked == 1024);
    CHECK(a.peak() == 0);
    CHECK(pool.live == 0);
    a.set_limit(SIZE_MAX), root.set_limit(SIZE_MAX);
    pool.asked = 0, pool.fail_from = 0;
    CHECK_FALSE(memory.try_allocate(a, 900, &why));
    CHECK(why.outcome == charge_outcome::no_memory); // the account would have
    CHECK(why.at == nullptr);
    CHECK(why.asked == 900);
    CHECK(a.peak() == 0);
    CHECK_FALSE(memory.try_allocate(a, SIZE_MAX - 10, &why));
    CHECK_FALSE(memory.try_allocate(a, 100'000, &why));
    CHECK(a.peak() == 0);
#if ALLOT_EXCEPTIONS
    try {
        static_cast<void>(memory.allocate(a, 900));
        FAIL("nothing was thrown");
    } catch (const allot::out_of_memory& e) {
        CHECK_THAT(e.what(), ContainsSubstring("a buffer of 900 bytes for account a: the memory behind it has none"));
        CHECK_THAT(
            std::string(e.report()),
            ContainsSubstring("out of memory: a buffer of 900 bytes for account a: the memory behind it has none\n"));
    }
    pool.fail_from = ~0u;
    a.set_limit(1000);
    try {
        static_cast<void>(memory.allocate(a, 900));
        FAIL("nothing was thrown");
    } catch (const allot::out_of_memory& e) {
        CHECK_THAT(e.what(), ContainsSubstring("for account a"));
        CHECK_THAT(e.report(), ContainsSubstring("root"));
    }
#endif
}

TEST_CASE("a large request beyond a limit takes no memory, and asks listeners before", "[buffer]") {
    counting_memory pool;
    buffer_memory memory{pool};
    account root{name{"root"}, limit{100'000}};
    buffer old = memory.allocate(root, 50'000);
    struct spiller : allot::account_listener {
        buffer* victim;
        unsigned failed(const account&, const charge_status&) noexcept override { return victim->release(), 1u; }
    } spill;
    charge_status why;
    CHECK_FALSE(memory.try_allocate(root, 90'000, &why));
    CHECK(pool.asked == 1);
    CHECK(root.peak() == 50'176);
    spill.victim = &old;
    root.add(spill);
    buffer fresh = memory.try_allocate(root, 90'000, &why);
    CHECK(fresh.size() == 90'000);
    CHECK(why.fitted());
    CHECK(root.remove(spill));
}

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

// ---- reservations --------------------------------------------------------------------------------------------------

TEST_CASE_METHOD(fixture, "a reservation is charged as it grows, and is one buffer then", "[buffer][reservation]") {
    telling_memory told;
    buffer_memory telling{told};
    {
        allot::buffer_reservation r{telling, a};
        CHECK(a.figures().reservations == 1);
        CHECK_FALSE(r.add(SIZE_MAX - 5)); // rounded up it would be nothing
        CHECK(r.bytes() == 0);
        CHECK(r.add(100));
        CHECK(r.add(100));
        CHECK(a.used() == 256); // of one block of 200
        CHECK(r.add(100));
        CHECK(a.used() == 512);
        CHECK(r.bytes() == 300);
        CHECK_FALSE(r.add(20'000));
        CHECK_FALSE(r.add(SIZE_MAX - 5));
        CHECK(r.charged() == 512);
        CHECK(a.used() == 512);
        buffer x = r.allocate();
        CHECK(x.size() == 300);
        CHECK(a.used() == 512);
        CHECK(r.charged() == 0);
        CHECK_FALSE(r.is_open());
        r.close();
        CHECK(a.used() == 512);
        CHECK(a.figures().reservations == 0);
    }
    CHECK(a.used() == 0);
    CHECK(told.live == 0);
    {
        allot::buffer_reservation unused{telling, a}, nothing{telling, b};
        CHECK(unused.add(1000));
        CHECK_FALSE(nothing.allocate()); // of nothing
        CHECK_FALSE(nothing.is_open());
        unused.close();
        CHECK(a.used() == 0);
        unused.close();
        allot::buffer_reservation dropped{telling, a};
        CHECK(dropped.add(1000));
    }
    CHECK(a.used() == 0);
    CHECK(a.figures().reservations == 0);
}

TEST_CASE_METHOD(fixture, "a failing allocation leaves a reservation's balance right", "[buffer][reservation]") {
    allot::buffer_reservation r{memory, a}; // this memory does not tell what it will take
    CHECK(r.add(100));
    CHECK(a.used() == 100);
    pool.asked = 0, pool.fail_from = 0;
    CHECK_FALSE(r.allocate());
    CHECK(r.is_open());
    CHECK(a.used() == 100);
    pool.fail_from = ~0u;
    a.set_limit(200);
    charge_status why;
    CHECK_FALSE(r.allocate(&why)); // 256 bytes
    CHECK(why.at == &a);
    CHECK(a.used() == 100);
    CHECK(pool.live == 0);
    SECTION("it is closed then") {
        r.close();
        CHECK(a.used() == 0);
    }
    SECTION("it is tried again") {
        a.set_limit(300);
        buffer x = r.allocate();
        CHECK(x);
        CHECK(a.used() == 256);
    }
}
