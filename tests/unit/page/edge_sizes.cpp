// Every entry point of arenas that takes bytes or a count of pages, at the edges of std::size_t.
#include <support/catch.hpp>
#include <support/edge_sizes.hpp>
#include <support/from_environment.hpp>

#include <allot/page/arena.hpp>

TEST_CASE("arenas: sizes and counts at the edges of size_t are served or refused", "[arena]") {
    const std::size_t stride = ALLOT_ASAN && support::in_short_run() ? 23 : 8; // a prime: all kinds of sizes in turn
    for (std::size_t i = 0; i < support::edge_sizes().size(); i += stride) {
        const std::size_t bytes = support::edge_sizes()[i];
        allot::arena<> pages{allot::page_bytes{bytes}, allot::reserve_bytes{bytes}, allot::limit{bytes}};
        for (const std::size_t n : support::edge_sizes()) {
            if (n == 0) continue;
            INFO(n << " pages, " << bytes);
            if (std::byte* const p = pages.take(n)) {
                CHECK(n <= pages.stats().reserved / pages.page_bytes());
                pages.give(p, n);
            }
            if (std::byte* const p = pages.take(1)) pages.give(p, pages.grow_up(p, 1, n) ? n : 1);
            REQUIRE(pages.stats().taken == 0);
        }
        CHECK(pages.valid());
    }
}
