// A heap's own caches are borrowed by one at a time, and nobody waits for one.
#include <support/catch.hpp>

#include <allot/heap/shared_caches.hpp>

#include <cstddef>

TEST_CASE("a place that is borrowed is not lent again until it is given back", "[heap]") {
    allot::shared_caches<> caches;
    auto first = caches.borrow();
    REQUIRE(static_cast<bool>(first));
    {
        auto second = caches.borrow(); // the neighbour
        REQUIRE(static_cast<bool>(second));
        CHECK(&*second != &*first);
        CHECK_FALSE(static_cast<bool>(caches.borrow()));
    }
    CHECK(static_cast<bool>(caches.borrow()));
    std::size_t free = 0;
    for (auto& place : caches.all()) free += static_cast<bool>(caches.borrow(place));
    CHECK(free == allot::shared_caches<>::count - 1);
}

TEST_CASE("a cache is a stack of slots with a limit", "[heap]") {
    std::byte slots[4];
    allot::slot_cache<4> cache;
    cache.limit = 3;
    std::byte* row = nullptr;
    CHECK_FALSE(cache.pop(row));
    for (int i = 0; i < 3; ++i) CHECK(cache.push(slots + i));
    CHECK_FALSE(cache.push(slots + 3));
    for (int i = 2; i >= 0; --i) CHECK((cache.pop(row) && row == slots + i));
    CHECK_FALSE(cache.pop(row));
    CHECK(cache.size() == 0);
}
