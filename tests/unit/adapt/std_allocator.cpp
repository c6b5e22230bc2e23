// std_allocator under the standard containers.
#include <support/catch.hpp>
#include <support/row_sets.hpp>

#include <allot/adapt/std_allocator.hpp>
#include <allot/chunk_arena.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

using namespace allot::literals;
using allot::adapt::std_allocator;

namespace {

using manager = allot::row_manager<sets::plain>;

template <class Source> void use(Source& source) {
    std::vector<int, std_allocator<int, Source>> numbers{std_allocator<int, Source>(source)};
    for (int i = 0; i < 20000; ++i) numbers.push_back(i);
    CHECK(numbers[12345] == 12345);
    auto copy = numbers;
    CHECK(copy == numbers);
    CHECK(copy.get_allocator() == numbers.get_allocator());
}
template <class Source> void use_nodes(Source& source) {
    using entry = std::pair<const int, double>;
    using allocator = std_allocator<entry, Source>;
    std::unordered_map<int, double, std::hash<int>, std::equal_to<int>, allocator> table{allocator(source)};
    for (int i = 0; i < 3000; ++i) table[i] = i * 0.5;
    CHECK(table.at(2999) == 2999 * 0.5);
    std::map<int, double, std::less<int>, allocator> tree{allocator(source)};
    for (int i = 0; i < 300; ++i) tree[i % 77] += 1;
    CHECK(tree.size() == 77);
    std::list<double, std_allocator<double, Source>> list{std_allocator<double, Source>(source)};
    list.assign(100, 1.5);
    list.clear();
    CHECK(list.empty());
}

} // namespace

TEMPLATE_TEST_CASE("containers live in a row manager", "[adapt]", sets::plain, sets::packed, sets::uncounted,
                   sets::per_thread, allot::use::containers) {
    allot::row_manager<TestType> rows{allot::limit{32_MiB}};
    use(rows);
    use_nodes(rows);
    CHECK(rows.live_rows() == 0);
    rows.trim();
    CHECK(rows.used() == 0);
}

TEST_CASE("containers live in a local handle", "[adapt]") {
    manager rows{allot::limit{32_MiB}};
    {
        auto local = rows.local();
        use(local);
        use_nodes(local);
    }
    CHECK(rows.live_rows() == 0);
}

TEST_CASE("containers live in whole pages of an arena", "[adapt]") {
    allot::arena<> arena{allot::limit{16_MiB}, allot::page_bytes{64_KiB}};
    use(arena);
    CHECK(arena.stats().taken == 0);
}

TEST_CASE("containers live in blocks of a chunk arena", "[adapt]") {
    struct set : allot::policies<allot::heap::per_thread> {};
    allot::chunk_arena<set> blocks{allot::limit{32_MiB}};
    use(blocks);
    use_nodes(blocks);
    CHECK(blocks.stats().live == 0);
    struct alignas(4096) page {
        char bytes[4096];
    };
    std::vector<page, std_allocator<page, decltype(blocks)>> pages{std_allocator<page, decltype(blocks)>(blocks)};
    for (std::size_t n = 0; n != 50; ++n) {
        pages.emplace_back();
        REQUIRE(reinterpret_cast<std::uintptr_t>(pages.data()) % 4096 == 0);
    }
}

TEST_CASE("containers live in rows whose set was forgotten", "[adapt]") {
    manager rows{allot::limit{32_MiB}};
    allot::any_rows any(rows);
    use(any);
    use_nodes(any);
    CHECK(rows.live_rows() == 0);
}

TEST_CASE("copies, moves and swaps take the source along", "[adapt]") {
    manager one{allot::limit{8_MiB}}, two{allot::limit{8_MiB}};
    using vector = std::vector<int, std_allocator<int, manager>>;
    vector a(1000, 1, std_allocator<int, manager>(one));
    vector b(2000, 2, std_allocator<int, manager>(two));
    CHECK(a.get_allocator() != b.get_allocator());
    swap(a, b);
    CHECK(&a.get_allocator().source() == &two);
    CHECK(a.size() == 2000);
    b = a;
    CHECK(&b.get_allocator().source() == &two);
    CHECK(one.live_rows() == 0);
    vector c(std_allocator<int, manager>{one});
    c = std::move(a);
    CHECK(&c.get_allocator().source() == &two);
    CHECK(c[1999] == 2);
    CHECK(two.live_rows() == 2);
}

namespace {

template <std::size_t Align> struct alignas(Align) line {
    unsigned char bytes[64];
};

} // namespace

TEMPLATE_TEST_CASE("over-aligned values are aligned in a container", "[adapt]", line<16>, line<64>, line<128>) {
    manager rows{allot::limit{8_MiB}};
    std::vector<TestType, std_allocator<TestType, manager>> lines{std_allocator<TestType, manager>(rows)};
    for (std::size_t n = 0; n < 300; ++n) {
        lines.emplace_back();
        REQUIRE(reinterpret_cast<std::uintptr_t>(lines.data()) % alignof(TestType) == 0);
    }
}

#if ALLOT_EXCEPTIONS
TEST_CASE("an allocator throws std::bad_alloc for what cannot be, and what there is not", "[adapt]") {
    manager rows{allot::limit{2_MiB}};
    std_allocator<std::uint64_t, manager> numbers(rows);
    CHECK_THROWS_AS(numbers.allocate(std::numeric_limits<std::size_t>::max() / 2), std::bad_alloc);
    CHECK_THROWS_AS(numbers.allocate(1_MiB), std::bad_alloc);
    std::uint64_t* const p = numbers.allocate(4);
    numbers.deallocate(p, 4);
    CHECK(rows.live_rows() == 0);
}
#endif

TEST_CASE("allocate_shared keeps its block in a row", "[adapt]") {
    manager rows{allot::limit{8_MiB}};
    {
        const auto text = std::allocate_shared<std::string>(std_allocator<std::string, manager>(rows), "shared");
        const auto copy = text;
        CHECK(*copy == "shared");
        CHECK(rows.live_rows() == 1);
    }
    CHECK(rows.live_rows() == 0);
}
