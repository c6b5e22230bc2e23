// std::pmr over a row manager, a local handle and an arena.
#include <support/catch.hpp>
#include <support/row_sets.hpp>

#include <allot/adapt/pmr.hpp>

#include <cstdint>
#include <memory_resource>
#include <string>
#include <unordered_map>
#include <vector>

using namespace allot::literals;
using allot::adapt::memory_resource;

namespace {

// Containers that grow, share one resource, and end.
void use(std::pmr::memory_resource& resource) {
    std::pmr::vector<std::uint64_t> numbers(&resource);
    for (std::uint64_t i = 0; i < 10000; ++i) numbers.push_back(i * i);
    std::pmr::vector<std::uint64_t> moved(std::move(numbers), &resource);
    CHECK(moved.size() == 10000);
    CHECK(moved[9999] == 9999u * 9999u);
}
void use_many(std::pmr::memory_resource& resource) {
    std::pmr::unordered_map<int, std::pmr::string> names(&resource);
    for (int i = 0; i < 2000; ++i) names.emplace(i, std::string(static_cast<std::size_t>(i % 90), 'x'));
    for (int i = 0; i < 2000; i += 2) names.erase(i);
    CHECK(names.size() == 1000);
    CHECK(names.at(89).size() == 89);
    CHECK(names.at(89).get_allocator().resource() == &resource);
}

} // namespace

TEMPLATE_TEST_CASE("pmr containers live in a row manager", "[adapt]", sets::plain, sets::packed, sets::uncounted,
                   sets::per_thread, sets::quiet) {
    allot::row_manager<TestType> rows{allot::limit{32_MiB}};
    {
        memory_resource resource(rows);
        use(resource);
        use_many(resource);
        CHECK(&resource.source() == &rows);
        CHECK(resource == resource);
        std::pmr::string kept(1000, 'k', &resource);
        CHECK(rows.live_rows() == 1);
        CHECK(rows.used() > 0);
    }
    CHECK(rows.live_rows() == 0);
    rows.release_empty_pages();
    CHECK(rows.used() == 0);
}

TEST_CASE("pmr containers live in a local handle", "[adapt]") {
    allot::row_manager<sets::plain> rows{allot::limit{32_MiB}};
    {
        auto local = rows.local();
        memory_resource resource(local);
        use(resource);
        use_many(resource);
        std::pmr::string kept(100, 'k', &resource);
        CHECK(rows.live_rows() == 1);
    }
    CHECK(rows.live_rows() == 0);
}

TEST_CASE("pmr containers live in whole pages of an arena", "[adapt]") {
    allot::arena<> arena{allot::limit{16_MiB}, allot::page_bytes{64_KiB}};
    {
        memory_resource resource(arena);
        use(resource);
        std::pmr::vector<char> one(1, 'x', &resource);
        CHECK(arena.stats().taken == 64_KiB);
        one.resize(64_KiB + 1);
        CHECK(arena.stats().taken == 128_KiB);
    }
    CHECK(arena.stats().taken == 0);
}

TEST_CASE("a pmr resource gives every alignment up to 64, also of no bytes", "[adapt]") {
    allot::row_manager<sets::plain> rows{allot::limit{8_MiB}};
    memory_resource resource(rows);
    for (std::size_t align = 1; align <= 64; align *= 2)
        for (const std::size_t n : {0u, 1u, 63u, 1000u, 300000u}) {
            void* const p = resource.allocate(n, align);
            CHECK(p != nullptr);
            CHECK(reinterpret_cast<std::uintptr_t>(p) % align == 0);
            resource.deallocate(p, n, align);
        }
    CHECK(rows.live_rows() == 0);
}

#if ALLOT_EXCEPTIONS
TEST_CASE("pmr: what the source refuses is std::bad_alloc, whatever the set's oom policy", "[adapt]") {
    allot::row_manager<sets::plain> raises{allot::limit{2_MiB}};
    allot::row_manager<sets::quiet> null{allot::limit{2_MiB}};
    allot::arena<> arena{allot::limit{2_MiB}, allot::page_bytes{64_KiB}};
    memory_resource one(raises);
    memory_resource two(null);
    memory_resource three(arena);
    for (std::pmr::memory_resource* resource :
         {static_cast<std::pmr::memory_resource*>(&one), static_cast<std::pmr::memory_resource*>(&two),
          static_cast<std::pmr::memory_resource*>(&three)}) {
        CHECK_THROWS_AS(resource->allocate(8_MiB, 8), std::bad_alloc);
        CHECK_THROWS_AS(resource->allocate(std::size_t{1} << 60, 8), std::bad_alloc);
        CHECK_THROWS_AS(resource->allocate(100, std::size_t{1} << 30), std::bad_alloc);
        std::pmr::vector<int> numbers(resource);
        CHECK_THROWS_AS(
            [&] {
                for (;;) numbers.push_back(1);
            }(),
            std::bad_alloc);
        CHECK(numbers.size() > 10000);
    }
}
#endif

TEST_CASE("two pmr resources are equal when their source is the same", "[adapt]") {
    allot::row_manager<sets::plain> rows{allot::limit{8_MiB}};
    allot::row_manager<sets::plain> others{allot::limit{8_MiB}};
    memory_resource a(rows), b(rows), c(others);
    CHECK(a == a);
    CHECK(a != c);
#if ALLOT_RTTI
    CHECK(a == b);
    CHECK_FALSE(a == *std::pmr::new_delete_resource());
#endif
}
