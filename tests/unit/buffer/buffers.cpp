// Views of one block: slices, who is charged and who inherits, transfers, requests that fail.
#include <support/buffer_fixture.hpp>

TEST_CASE_METHOD(fixture, "a buffer is charged by what its memory takes", "[buffer]") {
    buffer x = memory.allocate(a, 100);
    CHECK(x.size() == 100);
    CHECK(x.block_bytes() == 256);
    CHECK(x.charged_bytes() == 256);
    CHECK(a.used() == 256);
    CHECK(a.stats().buffers == 1);
    CHECK(x.capacity() == 256);
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
    CHECK(a.stats().buffers == 1);
}

TEST_CASE_METHOD(fixture, "slices are views of the same block", "[buffer]") {
    buffer x = memory.allocate(a, 100);
    for (unsigned i = 0; i != 100; ++i) x.set<std::uint8_t>(i, static_cast<std::uint8_t>(i));
    buffer y = x.slice(10, 50), z = y.slice(5, 45), all = x.slice();
    CHECK(y.data() == x.data() + 10);
    CHECK(z.get<std::uint8_t>(0) == 15);
    CHECK(z.get<std::uint8_t>(44) == 59);
    CHECK(all.size() == 100);
    CHECK(a.stats().buffers == 1); // one ledger
    CHECK(x.is_shared());
    CHECK(y.capacity() == 50); // others have views
    x.release(), all.release(), y.release();
    CHECK(a.used() == 256);
    CHECK_FALSE(z.is_shared());
    CHECK(z.capacity() == 256 - 15);
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
    CHECK(b.stats().buffers == 1);
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
    CHECK(a.stats().buffers == 0);
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

TEST_CASE_METHOD(fixture, "a transfer is forced, and reports", "[buffer]") {
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
    std::string reported;
    const allot::leak_sink sink{
        [](void* to, std::string_view text) noexcept { static_cast<std::string*>(to)->append(text); }, &reported};
    {
        account shut{query, name{"shut"}, sink}, d{query, name{"d"}};
        buffer s = x.retain(shut), t = x.retain(d);
        CHECK_FALSE(shut.close()); // one view is open
        CHECK_THAT(reported, ContainsSubstring("1 buffers"));
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
    CHECK(why.requested == 1024);
    CHECK(a.peak() == 0);
    CHECK(pool.live == 0);
    a.set_limit(SIZE_MAX), root.set_limit(SIZE_MAX);
    pool.asked = 0, pool.fail_from = 0;
    CHECK_FALSE(memory.try_allocate(a, 900, &why));
    CHECK(why.outcome == charge_outcome::no_memory); // the account would have
    CHECK(why.at == nullptr);
    CHECK(why.requested == 900);
    CHECK(a.peak() == 0);
    CHECK_FALSE(memory.try_allocate(a, SIZE_MAX - 10, &why));
    CHECK_FALSE(memory.try_allocate(a, 100'000, &why));
    CHECK(a.peak() == 0);
#if ALLOT_EXCEPTIONS
    try {
        static_cast<void>(memory.allocate(a, 900));
        FAIL("nothing was thrown");
    } catch (const allot::out_of_memory& e) {
        CHECK_THAT(e.what(), ContainsSubstring("a buffer of 900 bytes for account query / a: no memory"));
        CHECK_THAT(
            std::string(e.report()),
            ContainsSubstring("out of memory: a buffer of 900 bytes for account query / a: no memory: the system\n"));
    }
    pool.fail_from = ~0u;
    a.set_limit(1000);
    try {
        static_cast<void>(memory.allocate(a, 900));
        FAIL("nothing was thrown");
    } catch (const allot::out_of_memory& e) {
        CHECK_THAT(e.what(), ContainsSubstring("for account query / a"));
        CHECK_THAT(e.report(), ContainsSubstring("root"));
    }
#endif
}

TEST_CASE("a large request beyond a limit takes no memory, and calls reclaimers before", "[buffer]") {
    counting_memory pool;
    buffer_memory memory{pool};
    account root{name{"root"}, limit{100'000}};
    buffer old = memory.allocate(root, 50'000);
    struct spiller : allot::reclaimer {
        buffer* victim = nullptr;
        spiller() : reclaimer("spiller") {}
        bool reclaim(const allot::shortage&) noexcept override { return victim->release(), true; }
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
