// Pages are charged while they are committed: a private arena's to its owner's ledger, and within each arena's limit.
#include <support/catch.hpp>

#include <allot/ledger/tree.hpp>
#include <allot/page/arena.hpp>
#include <allot/row_manager.hpp>

#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;

namespace {

constexpr allot::page_bytes small{64_KiB};
struct in_tree : allot::policies<allot::ledger::tree, allot::oom::null> {};
struct counted : allot::policies<allot::oom::null> {};
struct on_call : allot::policies<allot::oom::null, allot::retain::on_call> {};

template <class Rows> void fill_and_release(Rows& rows, std::size_t bytes) {
    std::vector<void*> all;
    while (void* const row = rows.try_allocate(bytes)) all.push_back(row);
    for (void* const row : all) rows.release(row);
}

} // namespace

TEMPLATE_TEST_CASE("a take of idle pages costs no charge, and a page is refunded when it returns", "[page][resident]",
                   in_tree, counted) {
    allot::row_manager<TestType> rows{limit{8_MiB}, small};
    void* const row = rows.allocate(1'000'000);
    const std::size_t used = rows.used(), charged = rows.charges().charged;
    rows.release(row);
    CHECK(rows.used() == used);
    CHECK(rows.stats().idle == used);
    rows.release(rows.allocate(1'000'000));
    CHECK(rows.charges().charged == charged);
    CHECK(rows.trim() == used);
    CHECK(rows.used() == 0);
    CHECK(rows.charges().refunded == charged);
    CHECK(rows.peak() == used);
    CHECK(rows.arena().valid());
}

TEST_CASE("idle pages go to who is short, about as many as are missing", "[page][resident]") {
    account engine{name{"engine"}, limit{8_MiB}};
    allot::row_manager<in_tree> one{engine, small}, two{engine, small};
    fill_and_release(one, 500'000);
    CHECK(one.stats().idle > 7_MiB);
    void* const row = two.allocate(1'000'000);
    CHECK(row != nullptr);
    CHECK(engine.used() <= 8_MiB);
    CHECK(one.stats().idle >= 5_MiB);
    CHECK(one.arena().stats().committed + two.arena().stats().committed == engine.used());
    two.release(row);
}

TEST_CASE("idle pages serve requests of their owner at the limit, wherever they lie", "[page][resident]") {
    allot::row_manager<on_call> rows{limit{4_MiB}, small};
    fill_and_release(rows, 1000); // single pages, from the low end
    rows.release_empty_pages();
    CHECK(rows.used() == 4_MiB);
    void* const row = rows.try_allocate(2_MiB); // a run, from the high end
    CHECK(row != nullptr);
    CHECK(rows.used() == 4_MiB);
    CHECK(rows.arena().stats().committed == 4_MiB);
    rows.release(row);
    CHECK(rows.trim() == 4_MiB);
}

TEST_CASE("a limit that was lowered holds for idle pages", "[page][resident]") {
    account engine{name{"engine"}, limit{8_MiB}};
    allot::row_manager<in_tree> rows{engine, small};
    allot::row_manager<counted> alone{limit{8_MiB}, small};
    fill_and_release(rows, 500'000);
    fill_and_release(alone, 500'000);
    engine.set_limit(1_MiB);
    alone.set_limit(1_MiB);
    CHECK(rows.try_allocate(2_MiB) == nullptr);
    CHECK(alone.try_allocate(2_MiB) == nullptr);
    CHECK(rows.used() <= 1_MiB);
    CHECK(alone.used() <= 1_MiB);
    rows.release(rows.allocate(500'000));
    alone.release(alone.allocate(500'000));
}

TEST_CASE("an arena's limit bounds its committed pages", "[page][resident]") {
    allot::arena<> pages{limit{1_MiB}, small};
    std::vector<std::byte*> all;
    for (int i = 0; i != 12; ++i) all.push_back(pages.take());
    for (std::byte* const p : all) pages.give(p, 1);
    std::byte* const run = pages.take(12); // from the other end
    CHECK(run != nullptr);
    CHECK(pages.stats().committed <= 1_MiB);
    pages.give(run, 12);
    CHECK(pages.take(17) == nullptr);
    CHECK(pages.valid());
    allot::arena<allot::policies<allot::retain::never>> kept{limit{1_MiB}, small};
    for (std::byte*& p : all) p = kept.take();
    for (std::byte* const p : all) kept.give(p, 1);
    allot::charge_status why;
    std::byte* const used = kept.take(8, &why); // of pages that were used
    CHECK(used != nullptr);
    std::byte* const more = kept.take(5, &why); // four of them are left, and four that were never
    CHECK((more == nullptr || kept.stats().committed <= 1_MiB));
    CHECK(kept.valid());
    kept.give(used, 8);
    if (more != nullptr) kept.give(more, 5);
}
