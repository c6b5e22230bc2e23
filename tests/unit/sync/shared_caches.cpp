// Shared caches are borrowed by one at a time, and only who empties them waits for one.
#include <support/catch.hpp>

#include <allot/sync/shared_caches.hpp>

#include <cstddef>
#include <thread>

namespace {

struct slots {
    int n = 0;
};
using caches_type = allot::detail::shared_caches<slots>;

} // namespace

TEST_CASE("a place that is borrowed is not lent again until it is given back", "[sync]") {
    caches_type caches;
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
    CHECK(free == caches_type::count - 1);
}

TEST_CASE("a cache is waited for, unless its user fills it", "[sync]") {
    caches_type caches;
    auto& place = caches.all()[0];
    caches.keep(place).n = 0;
    place.begin_fill();
    CHECK_FALSE(static_cast<bool>(caches.wait_for(place)));
    place.end_fill();
    CHECK_FALSE(static_cast<bool>(caches.borrow(place))); // it stays in use
    std::thread user([&] {
        place.cache.n = 1;
        caches.give(place);
    });
    CHECK(caches.keep(place).n == 1); // waits for it
    user.join();
}
