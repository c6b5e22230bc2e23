#include <support/catch.hpp>
#include <support/this_system.hpp>

#include <allot/ledger/tree.hpp>
#include <allot/page/arena.hpp>
#include <allot/page/huge_pages.hpp>
#include <allot/row_manager.hpp>

#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

using namespace allot::literals;

TEST_CASE("single pages come from the low end, runs from the high end", "[arena]") {
    allot::arena<> pages{allot::limit{64_MiB}, allot::page_bytes{1_MiB}, allot::reserve_bytes{64_MiB}};
    std::byte* const a = pages.take();
    std::byte* const b = pages.take();
    std::byte* const run = pages.take(5);
    CHECK(a == pages.begin());
    CHECK(b == a + 1_MiB);
    CHECK(run == pages.end() - 5_MiB);
    for (std::byte* p : {a, b, run}) {
        CHECK(reinterpret_cast<std::uintptr_t>(p) % 1_MiB == 0);
        CHECK(pages.is_taken(p));
    }
    std::memset(run, 1, 5_MiB);
    std::memset(a, 1, 1_MiB);
    CHECK(pages.stats().taken == 7_MiB);
    pages.give(a, 1);
    CHECK(pages.take() == a);
    CHECK(pages.valid());
    pages.give(a, 1);
    pages.give(b, 1);
    pages.give(run, 5);
    CHECK(pages.stats().taken == 0);
    CHECK(pages.stats().peak_taken == 7_MiB);
}

TEST_CASE("a run grows and shrinks in place, and not over its neighbours", "[arena]") {
    allot::arena<> pages{allot::page_bytes{64_KiB}, allot::reserve_bytes{4_MiB}};
    std::byte* const run = pages.take(4); // at the very end
    CHECK_FALSE(pages.grow_up(run, 4, 5));
    std::memset(run, 1, 256_KiB);
    pages.give(run + 128_KiB, 2);
    CHECK(pages.stats().taken == 128_KiB);
    CHECK(pages.grow_up(run, 2, 4));
    CHECK_FALSE(pages.grow_up(run, 4, 5));
    std::byte* const neighbour = pages.take(1);
    CHECK(neighbour == pages.begin());
    allot::detail::memory_request asked{0};
    allot::detail::page_budget all;
    CHECK(pages.slide_down(run, 4, 64, all, asked) == nullptr);
    CHECK(pages.valid());
    pages.give(run, 4);
    pages.give(neighbour, 1);
    CHECK(pages.stats().taken == 0);
}

TEST_CASE("an arena's limit is hard, and a refused take changes nothing", "[arena]") {
    allot::arena<> pages{allot::limit{1_MiB}, allot::page_bytes{64_KiB}};
    std::vector<std::byte*> all;
    while (std::byte* const p = pages.take()) all.push_back(p);
    CHECK(all.size() == 16);
    CHECK(pages.take(1000000) == nullptr);
    CHECK(pages.take(0) == nullptr);
    CHECK(pages.stats().taken == 1_MiB);
    CHECK(pages.stats().peak_taken == 1_MiB);
    pages.give(all.back(), 1);
    CHECK(pages.take(2) == nullptr);
    CHECK(pages.take() != nullptr);
    for (std::byte* p : all) pages.give(p, 1);
    CHECK(pages.valid());
}

TEST_CASE("pages are committed on demand and go back to the system on call", "[arena]") {
    allot::arena<> pages{allot::page_bytes{1_MiB}, allot::reserve_bytes{1_GiB}};
    CHECK(pages.resident() == 0);
    std::vector<std::byte*> all;
    for (int i = 0; i < 20; ++i) {
        all.push_back(pages.take());
        std::memset(all.back(), 1, 1_MiB);
    }
    CHECK(pages.resident() >= 20_MiB);
    CHECK(pages.trim() == 0);
    for (int i = 0; i < 10; ++i) pages.give(all[static_cast<std::size_t>(2 * i)], 1);
    CHECK(pages.stats().committed == 20_MiB);
    CHECK(pages.trim() == 10_MiB);
    CHECK(pages.stats().committed == 10_MiB);
    CHECK(pages.resident() < 13_MiB);
    CHECK(pages.stats().taken == 10_MiB);
    for (int i = 0; i < 10; ++i) pages.give(all[static_cast<std::size_t>(2 * i + 1)], 1);
    CHECK(pages.trim() == 10_MiB);
    CHECK(pages.valid());
    std::byte* const again = pages.take();
    CHECK(again[5] == std::byte{0});
    pages.give(again, 1);
}

TEST_CASE("retain::never keeps free pages", "[arena]") {
    struct keeping : allot::policies<allot::retain::never> {};
    allot::arena<keeping> pages{allot::page_bytes{64_KiB}};
    pages.give(pages.take(), 1);
    CHECK(pages.trim() == 0);
}

TEST_CASE("huge OS pages begin beyond the first 16 MiB", "[arena]") {
    if (!support::advice_has_effect()) SKIP("this system takes no advice about memory");
    allot::arena<> pages{allot::page_bytes{1_MiB}, allot::reserve_bytes{256_MiB}};
    std::vector<std::byte*> all;
    for (int i = 0; i < 64; ++i) all.push_back(pages.take());
    const std::string low = support::flags_of_mapping(pages.begin()); // the tables are in front of it
    const std::string high = support::flags_of_mapping(pages.begin() + 16_MiB);
    INFO(low << '\n' << high);
    CHECK_FALSE(low.empty());
    CHECK(low.find(" hg") == std::string::npos);
    CHECK(high.find(" hg") != std::string::npos);
    for (std::byte* p : all) pages.give(p, 1);
}

TEST_CASE("huge_pages says what it got", "[arena]") {
    struct huge : allot::policies<allot::page::huge_pages<>> {};
    allot::arena<huge> pages{allot::limit{32_MiB}};
    const std::string got = pages.page_kind();
    CHECK((got == "hugetlb" || got == "transparent" || got == "plain"));
    std::byte* const p = pages.take();
    REQUIRE(p != nullptr);
    std::memset(p, 1, pages.page_bytes());
    pages.give(p, 1);
}

TEST_CASE("preallocated OS pages are used when there are enough of them, and charged whole", "[arena]") {
    const char* const file = "/proc/sys/vm/nr_hugepages";
    std::string was;
    std::ifstream(file) >> was;
    std::ofstream(file) << "32" << std::endl;
    std::string now;
    std::ifstream(file) >> now;
    if (now != "32") {
        std::ofstream(file) << was << std::endl;
        SKIP("the system gives no preallocated pages to this user");
    }
    if (support::reserved_space{2_MiB, MAP_HUGETLB}.get() == nullptr) {
        std::ofstream(file) << was << std::endl;
        SKIP("this program can map no preallocated pages");
    }
    struct huge : allot::policies<allot::page::huge_pages<>> {};
    {
        allot::arena<huge> pages{allot::reserve_bytes{32_MiB}};
        CHECK(std::string(pages.page_kind()) == "hugetlb");
        std::byte* const p = pages.take();
        std::memset(p, 1, pages.page_bytes());
        pages.give(p, 1);
        CHECK(pages.trim() == 0);
        allot::arena<huge> more{allot::reserve_bytes{64_MiB}}; // not enough left
        CHECK(std::string(more.page_kind()) != "hugetlb");
        more.give(more.take(), 1);
        allot::arena<huge> small{allot::limit{1_MiB}}; // less than one of them
        CHECK(std::string(small.page_kind()) != "hugetlb");
    }
    struct charged : allot::with<huge, allot::ledger::tree, allot::oom::null> {};
    for (const std::size_t page : {64_KiB, 2_MiB})
        for (const std::size_t limit : {7_MiB, SIZE_MAX}) {
            allot::account query{allot::name{"query"}, allot::limit{limit}};
            allot::row_manager<charged> rows{query, allot::page_bytes{page}, allot::reserve_bytes{32_MiB}};
            REQUIRE(std::string(rows.arena().page_kind()) == "hugetlb");
            void* const first = rows.allocate(100);
            std::memset(first, 1, 100);
            CHECK(query.used() == 2_MiB);
            CHECK(rows.arena().resident() == 2_MiB);
            void* const wide = rows.allocate(3_MiB); // and a header: 49 pages of 64 KiB, at the other end
            std::memset(wide, 1, 3_MiB);
            CHECK(query.used() == 6_MiB);
            CHECK(rows.arena().resident() == 6_MiB);
            CHECK(rows.stats().idle == (page == 64_KiB ? 31 + 15 : 0) * 64_KiB);
            std::vector<void*> others;
            if (page == 64_KiB) // in the same ones; where a limit refuses more, in those of the other end, too
                for (int i = 0; i < (limit == SIZE_MAX ? 31 : 31 + 15); ++i) others.push_back(rows.allocate(60'000));
            CHECK(query.used() == 6_MiB);
            void* const more = rows.try_allocate(2_MiB);
            CHECK((more == nullptr) == (limit != SIZE_MAX));
            if (more != nullptr) std::memset(more, 1, 2_MiB);
            rows.release(more);
            for (void* const row : others) rows.release(row);
            rows.release(wide);
            rows.release(first);
            rows.release_empty_pages();
            CHECK(rows.trim() == 0);
            CHECK(query.used() == rows.arena().resident());
            CHECK(rows.arena().valid());
        }
    std::ofstream(file) << was << std::endl;
}

TEST_CASE("a borrowed arena works within the caller's bytes", "[arena]") {
    struct lent : allot::policies<allot::page::borrowed> {};
    std::vector<std::byte> bytes(2_MiB + 12345);
    const auto at = reinterpret_cast<std::uintptr_t>(bytes.data());
    const std::size_t to_page = allot::detail::align_up(at, 64_KiB) - at;
    for (const std::size_t shift : {std::size_t{0}, std::size_t{1}, std::size_t{4097}, to_page}) {
        const std::span<std::byte> part(bytes.data() + shift, bytes.size() - shift);
        allot::arena<lent> pages{part};
        CHECK(std::string(pages.page_kind()) == "borrowed");
        CHECK(pages.begin() >= part.data() + sizeof(std::uint64_t)); // what could be a count there can be read
        CHECK(pages.end() <= part.data() + part.size());
        CHECK(pages.page_count() >= 20);
        std::vector<std::byte*> all;
        while (std::byte* const p = pages.take()) {
            std::memset(p, 1, pages.page_bytes());
            all.push_back(p);
        }
        CHECK(all.size() == pages.page_count());
        CHECK(allot::detail::arena_at(all[0]) == &pages);
        CHECK(pages.trim() == 0);
        for (std::byte* p : all) pages.give(p, 1);
        CHECK(pages.valid());
    }
#if ALLOT_EXCEPTIONS
    try {
        allot::arena<lent> pages{std::span<std::byte>(bytes.data(), 1000)};
        FAIL("1000 bytes are no arena");
    } catch (const allot::out_of_memory& error) {
        CHECK_THAT(std::string(error.report()), ContainsSubstring("too few bytes were lent"));
    }
#endif
}

TEST_CASE("an arena reports whether it is fragmented or exhausted, and who holds it", "[arena]") {
    allot::arena<> pages{allot::page_bytes{64_KiB}, allot::reserve_bytes{1_MiB}, allot::name{"shared"}};
    struct holder final : allot::tenant {
        holder() : tenant("orders") {}
        std::size_t held() const noexcept override { return 512_KiB; }
        std::size_t return_idle(std::size_t, bool) noexcept override { return 0; }
    } orders;
    pages.add(orders);
    std::vector<std::byte*> all;
    while (std::byte* const p = pages.take()) all.push_back(p);
    const auto report = [&] {
        char page[2048];
        allot::text_writer out{page};
        pages.report(out);
        return std::string(page);
    };
    CHECK_THAT(report(), ContainsSubstring("exhausted"));
    CHECK_THAT(report(), ContainsSubstring("held by orders: 512 KiB"));
    CHECK_THAT(report(), ContainsSubstring("arena shared"));
    for (std::size_t i = 0; i < all.size(); i += 2) pages.give(all[i], 1);
    CHECK(pages.take(2) == nullptr);
    CHECK_THAT(report(), ContainsSubstring("fragmented"));
    for (std::size_t i = 1; i < all.size(); i += 2) pages.give(all[i], 1);
    pages.remove(orders);
}

TEST_CASE("arenas of every page size, and of ones that cannot be", "[arena]") {
    for (std::size_t page = 64_KiB; page <= 16_MiB; page *= 2) {
        allot::arena<> pages{allot::page_bytes{page}, allot::reserve_bytes{64_MiB}};
        CHECK(pages.page_bytes() == page);
        std::byte* const p = pages.take(2);
        p[2 * page - 1] = std::byte{1};
        pages.give(p, 2);
    }
    allot::arena<> odd{allot::page_bytes{100000}, allot::reserve_bytes{1_MiB}};
    CHECK(odd.page_bytes() == 64_KiB);
    allot::arena<> large{allot::page_bytes{1_GiB}, allot::reserve_bytes{64_MiB}};
    CHECK(large.page_bytes() == 16_MiB);
}

TEST_CASE("memory can be kept out of core dumps and from being swapped", "[arena]") {
    if (!support::advice_has_effect()) SKIP("this system takes no advice about memory");
    struct kept : allot::policies<allot::page::mapped<allot::page::mapped_options{.dont_dump = true, .lock = true}>> {};
    allot::arena<kept> pages{allot::page_bytes{64_KiB}, allot::reserve_bytes{1_MiB}};
    std::byte* const p = pages.take();
    p[0] = std::byte{1};
    const std::string flags = support::flags_of_mapping(p);
    INFO(flags);
    CHECK(flags.find(" dd") != std::string::npos);
    CHECK(pages.locked() == (flags.find(" lo") != std::string::npos)); // honest, whether it was allowed or not
    pages.give(p, 1);
    allot::arena<> plain{allot::reserve_bytes{1_MiB}};
    CHECK_FALSE(plain.locked());
}

TEST_CASE("an arena needs no set: a range is enough", "[arena]") {
    allot::arena_range range = allot::detail::reserve_range(64_KiB, 64_MiB);
    REQUIRE(range.begin != nullptr);
    range.returns_pages = true;
    {
        allot::page_arena pages{range, 1_MiB, "plain"};
        CHECK(pages.limit() == 1_MiB);
        std::byte* const run = pages.take(16);
        REQUIRE(run != nullptr);
        std::memset(run, 1, 1_MiB);
        CHECK(pages.take() == nullptr);
        CHECK(allot::detail::arena_at(run) == nullptr); // no set has entered it in the table
        pages.give(run, 16);
        CHECK(pages.trim() == 1_MiB);
        CHECK(pages.valid());
    }
    const allot::page_arena none{allot::arena_range{}, 1_MiB, "none"};
    CHECK(none.begin() == nullptr);
    CHECK(none.page_count() == 0);
    CHECK(none.resident() == 0);
}
