// The cache of blocks of whole pages.
#include <support/catch.hpp>

#include <allot/chunk/page_block_cache.hpp>

#include <cstddef>

using allot::detail::page_block_cache;

TEST_CASE("blocks of pages are kept up to a budget, and found by their number of pages", "[chunks]") {
    page_block_cache cache{10};
    std::size_t first = 99;
    CHECK_FALSE(cache.take(1, first));
    CHECK_FALSE(cache.take_any(first));
    CHECK(cache.keeps(10));
    CHECK_FALSE(cache.keeps(11));
    CHECK(cache.keep(0, 4)); // page 0 is as good as any
    CHECK(cache.keep(8, 6));
    CHECK(cache.pages() == 10);
    CHECK_FALSE(cache.keep(20, 1)); // beyond the budget
    CHECK(cache.pages() == 10);
    CHECK_FALSE(cache.take(5, first));
    CHECK(first == 99);
    CHECK(cache.take(6, first));
    CHECK(first == 8);
    CHECK_FALSE(cache.take(6, first));
    CHECK(cache.take(4, first));
    CHECK(first == 0);
    CHECK(cache.pages() == 0);
}

TEST_CASE("a full cache of blocks of pages gives up any, until it is empty", "[chunks]") {
    page_block_cache cache{1000};
    std::size_t n = 0, first = 0, sum = 0;
    while (cache.keep(n, 2)) sum += n++;
    CHECK(n == 8);
    while (cache.take_any(first)) sum -= first, --n;
    CHECK(n == 0);
    CHECK(sum == 0);
    CHECK(cache.pages() == 0);
}

TEST_CASE("no block of pages is kept without a budget", "[chunks]") {
    page_block_cache cache{0};
    CHECK_FALSE(cache.keeps(1));
}
