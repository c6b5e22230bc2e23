// A slot cache by itself.
#include <support/catch.hpp>

#include <allot/heap/slot_cache.hpp>

#include <cstddef>

TEST_CASE("a cache is a stack of slots with a limit", "[heap]") {
    std::byte slots[4];
    allot::detail::slot_cache<4> cache;
    cache.limit = 3;
    std::byte* row = nullptr;
    CHECK_FALSE(cache.pop(row));
    for (int i = 0; i < 3; ++i) CHECK(cache.push(slots + i));
    CHECK_FALSE(cache.push(slots + 3));
    for (int i = 2; i >= 0; --i) CHECK((cache.pop(row) && row == slots + i));
    CHECK_FALSE(cache.pop(row));
    CHECK(cache.size() == 0);
}
