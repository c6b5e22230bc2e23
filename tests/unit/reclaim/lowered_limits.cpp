// A limit that was lowered holds for memory that objects keep and do not use: it leaves before anything is granted.
#include <support/catch.hpp>
#include <support/device_sets.hpp>

#include <allot/chunk_arena.hpp>
#include <allot/ledger/pool.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/row_manager.hpp>

#include <cstddef>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;

namespace {

struct counted : allot::policies<allot::oom::null> {};
struct counted_runs : allot::policies<allot::fit::runs, allot::oom::null> {};
struct in_tree : allot::policies<allot::ledger::tree, allot::oom::null> {};
struct pooled : allot::policies<allot::ledger::pool, allot::fit::runs, allot::oom::null> {};
struct keeps : allot::policies<allot::ledger::tree, allot::retain::never, allot::oom::null> {};
struct device_in_tree : allot::policies<on_simulated, allot::ledger::tree, allot::oom::null> {};

// Fills 32 MiB, lowers the limit to 8 MiB, gives all but a 16th back, and takes until it is refused.
template <class Take, class Give, class SetLimit>
std::size_t live_after(std::size_t bytes, Take take, Give give, SetLimit set_limit) {
    std::vector<void*> all;
    while (void* const p = take(bytes)) all.push_back(p);
    const std::size_t left = all.size() / 16;
    CHECK(all.size() * bytes > 16_MiB);
    set_limit(8_MiB);
    while (all.size() > left) give(all.back()), all.pop_back();
    while (void* const p = take(bytes)) all.push_back(p);
    const std::size_t live = all.size() * bytes;
    for (void* const p : all) give(p);
    return live;
}
template <class Object, class SetLimit> void check_rows(Object& rows, std::size_t bytes, SetLimit set_limit) {
    const std::size_t live = live_after(
        bytes, [&](std::size_t n) { return rows.try_allocate(n); }, [&](void* p) { rows.release(p); }, set_limit);
    CAPTURE(bytes, live, rows.used());
    CHECK((live <= 8_MiB && rows.used() <= 8_MiB));
    CHECK(live > 4_MiB);
}
template <class Object, class SetLimit> void check_blocks(Object& blocks, std::size_t bytes, SetLimit set_limit) {
    const std::size_t live = live_after(
        bytes, [&](std::size_t n) { return blocks.try_allocate(n).address; }, [&](void* p) { blocks.deallocate(p); },
        set_limit);
    CAPTURE(bytes, live, blocks.used());
    CHECK((live <= 8_MiB && blocks.used() <= 8_MiB));
    CHECK(live > 4_MiB);
}

} // namespace

TEST_CASE("rows below a lowered limit come from no page that is beyond it", "[reclaim][limit]") {
    const std::size_t bytes =
        GENERATE(std::size_t{100}, std::size_t{2'000}, std::size_t{100'000}, std::size_t{900'000});
    {
        allot::row_manager<counted> rows{limit{32_MiB}};
        check_rows(rows, bytes, [&](std::size_t n) { rows.set_limit(n); });
    }
    account root{name{"root"}, limit{32_MiB}};
    allot::row_manager<in_tree> rows{root};
    check_rows(rows, bytes, [&](std::size_t n) { root.set_limit(n); });
}

TEST_CASE("blocks below a lowered limit come from no page that is beyond it", "[reclaim][limit]") {
    for (const std::size_t bytes : {std::size_t{2'000}, std::size_t{100'000}, std::size_t{900'000}}) {
        {
            allot::chunk_arena<counted_runs> blocks{limit{32_MiB}};
            check_blocks(blocks, bytes, [&](std::size_t n) { blocks.set_limit(n); });
        }
        account root{name{"root"}, limit{32_MiB}};
        {
            allot::chunk_arena<in_tree> blocks{root};
            check_blocks(blocks, bytes, [&](std::size_t n) { root.set_limit(n); });
        }
        root.set_limit(SIZE_MAX);
        allot::chunk_arena<pooled> blocks{root, limit{32_MiB}};
        check_blocks(blocks, bytes, [&](std::size_t n) { blocks.set_limit(n); });
    }
}

TEST_CASE("blocks of a device below a lowered limit come from no piece that is beyond it", "[reclaim][limit][device]") {
    allocator_machine m;
    account root{name{"root"}, limit{32_MiB}};
    allot::device_allocator<device_in_tree> gpu{m.api, root};
    const std::size_t live = live_after(
        1_MiB, [&](std::size_t n) { return gpu.try_allocate(n, m.a); },
        [&](void* p) { gpu.deallocate(p, m.a), static_cast<void>(m.api.synchronize(m.a)); },
        [&](std::size_t n) { root.set_limit(n); });
    CHECK((live <= 8_MiB && gpu.used() <= 8_MiB));
}

TEST_CASE("what idle memory of another object exceeds leaves before a row comes from a free slot", "[reclaim][limit]") {
    account root{name{"root"}, limit{32_MiB}};
    allot::row_manager<in_tree> other{root, name{"other"}}, rows{root, name{"rows"}};
    std::vector<void*> all;
    for (int i = 0; i != 4; ++i) all.push_back(other.allocate(4_MiB));
    void* const first = rows.allocate(100);
    for (void* const row : all) other.release(row);
    root.set_limit(8_MiB);
    REQUIRE(root.used() > 16_MiB);
    rows.release(rows.allocate(100)); // perhaps from a cache
    for (int i = 0; i != 1'000; ++i) all[0] = rows.allocate(100), rows.release(all[0]);
    std::vector<void*> many;
    for (int i = 0; i != 1'000; ++i) many.push_back(rows.allocate(100));
    CHECK(root.used() <= 8_MiB);
    for (void* const row : many) rows.release(row);
    rows.release(first);
}

TEST_CASE("pages that an object never returns are not taken beyond a lowered limit", "[reclaim][limit]") {
    account root{name{"root"}, limit{32_MiB}};
    allot::row_manager<keeps> rows{root};
    void* const row = rows.allocate(24_MiB);
    rows.release(row);
    root.set_limit(8_MiB);
    CHECK(rows.try_allocate(1_MiB) == nullptr);
    root.set_limit(32_MiB);
    void* const again = rows.try_allocate(1_MiB);
    CHECK(again != nullptr);
    rows.release(again);
}
