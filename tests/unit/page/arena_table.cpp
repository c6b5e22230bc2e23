#include <support/catch.hpp>

#include <allot/page/arena.hpp>

#include <memory>
#include <random>
#include <vector>

using namespace allot::literals;

TEST_CASE("no address outside every arena is taken for one inside", "[arena_table]") {
    allot::arena<> pages{allot::limit{1_MiB}};
    static int constant = 0;
    int local = 0;
    for (const std::uintptr_t at :
         {std::uintptr_t{0}, std::uintptr_t{1}, ~std::uintptr_t{0}, std::uintptr_t{1} << 47, std::uintptr_t{1} << 48,
          std::uintptr_t{0xffff800000000000}, std::uintptr_t{0x0000700000000000},
          reinterpret_cast<std::uintptr_t>(&constant), reinterpret_cast<std::uintptr_t>(&local),
          reinterpret_cast<std::uintptr_t>(pages.begin()) - 1, reinterpret_cast<std::uintptr_t>(pages.end())})
        CHECK(allot::detail::arena_at(reinterpret_cast<const void*>(at)) == nullptr);
    CHECK(allot::detail::arena_at(pages.begin()) == &pages);
    CHECK(allot::detail::arena_at(pages.end() - 1) == &pages);
}

TEST_CASE("arenas that come and go are found while they are there", "[arena_table]") {
    struct lent : allot::policies<allot::page::borrowed> {};
    std::mt19937 random(7);
    std::vector<std::unique_ptr<allot::arena<>>> own;
    std::vector<std::unique_ptr<allot::arena<lent>>> borrowed; // many in one granule of the table
    std::vector<std::byte> bytes(64_MiB);
    std::vector<bool> used(32, false);
    std::vector<std::size_t> part;
    for (int step = 0; step < 2000; ++step) {
        const unsigned what = random() % 4;
        if (what == 0 && own.size() < 50) {
            own.push_back(std::make_unique<allot::arena<>>(allot::reserve_bytes{(1 + random() % 300) << 20}));
        } else if (what == 1) {
            const std::size_t at = random() % used.size();
            if (used[at]) continue;
            used[at] = true;
            part.push_back(at);
            borrowed.push_back(
                std::make_unique<allot::arena<lent>>(std::span<std::byte>(bytes.data() + at * 2_MiB, 2_MiB)));
        } else if (what == 2 && !own.empty()) {
            std::swap(own[random() % own.size()], own.back());
            const void* const gone = own.back()->begin();
            own.pop_back();
            REQUIRE(allot::detail::arena_at(gone) == nullptr);
        } else if (what == 3 && !borrowed.empty()) {
            const void* const gone = borrowed.back()->begin();
            used[part.back()] = false;
            part.pop_back();
            borrowed.pop_back();
            REQUIRE(allot::detail::arena_at(gone) == nullptr);
        }
        for (const auto& a : own) {
            REQUIRE(allot::detail::arena_at(a->begin()) == a.get());
            REQUIRE(allot::detail::arena_at(a->end() - 1) == a.get());
        }
        for (const auto& a : borrowed) REQUIRE(allot::detail::arena_at(a->begin() + random() % 100000) == a.get());
    }
}
