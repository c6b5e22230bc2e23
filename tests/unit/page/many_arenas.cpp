// Very small arenas, very many of them, and very large ones.
#include <support/catch.hpp>
#include <support/this_system.hpp>

#include <allot/page/arena.hpp>
#include <allot/page/huge_pages.hpp>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace allot::literals;

namespace {

// Bytes of transparent huge pages within a range.
std::size_t huge_bytes(const allot::page_arena& pages) {
    std::ifstream maps("/proc/self/smaps");
    std::size_t sum = 0;
    bool inside = false;
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t from = 0, to = 0;
        if (std::sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2)
            inside = pages.contains(reinterpret_cast<void*>(from));
        else if (inside && line.rfind("AnonHugePages:", 0) == 0) sum += std::stoul(line.substr(14)) * 1024;
    }
    return sum;
}

} // namespace

TEST_CASE("two thousand arenas live at once, each found and each small", "[arena]") {
    const bool counted = support::reserved_space_is_free();
    const std::size_t before = support::resident_now();
    std::vector<std::unique_ptr<allot::arena<>>> all;
    for (int i = 0; i < 2000; ++i) {
        all.push_back(std::make_unique<allot::arena<>>(allot::limit{1_MiB}, allot::page_bytes{64_KiB}));
        *all.back()->take() = std::byte{1};
    }
    const std::size_t each = (support::resident_now() - before) / all.size();
    INFO("bytes each " << each);
    if (!ALLOT_ASAN && !ALLOT_TSAN && counted)
        CHECK(each < 24_KiB); // a touched OS page, one for the bitmaps, tables of the system
    std::set<const std::byte*> begins;
    bool good = true;
    for (const auto& a : all) {
        good = good && allot::detail::arena_at(a->begin() + 5) == a.get() && a->valid() &&
               begins.insert(a->begin()).second;
        a->give(a->begin(), 1);
    }
    CHECK(good);
    if (!counted) SKIP("the memory of each was not counted: the system's tables are in it");
}

TEST_CASE("ten thousand arenas come and go and leave nothing behind", "[arena]") {
    const auto mappings = [] {
        std::ifstream maps("/proc/self/maps");
        std::size_t n = 0;
        for (std::string line; std::getline(maps, line);) ++n;
        return n;
    };
    {
        allot::arena<> first{allot::limit{1_MiB}};
    }
    const std::size_t before = mappings();
    bool good = true;
    for (int i = 0; i < 10000; ++i) {
        allot::arena<> pages{allot::limit{1_MiB}};
        std::byte* const p = pages.take();
        good = good && p != nullptr && allot::detail::arena_at(p) == &pages;
        pages.give(p, 1);
    }
    CHECK(good);
    CHECK(mappings() <= before + (ALLOT_ASAN || ALLOT_TSAN ? 20 : 2));
}

TEST_CASE("ten thousand pages are all different, and come back", "[arena]") {
    allot::arena<> pages{allot::page_bytes{64_KiB}, allot::reserve_bytes{1_GiB}};
    std::vector<std::byte*> all;
    for (std::uint32_t i = 0; i < 10000; ++i) {
        std::byte* const p = i % 10 == 0 ? pages.take(3) : pages.take();
        REQUIRE(p != nullptr);
        std::memcpy(p, &i, sizeof i);
        all.push_back(p);
    }
    bool good = true;
    for (std::uint32_t i = 0; i < 10000; ++i) good = good && std::memcmp(all[i], &i, sizeof i) == 0;
    CHECK(good);
    CHECK(pages.stats().taken == 12000 * 64_KiB);
    CHECK(pages.stats().largest_free_run == (16384 - 12000) * 64_KiB);
    for (std::size_t i = 0; i < all.size(); ++i) pages.give(all[i], i % 10 == 0 ? 3 : 1);
    CHECK(pages.trim() == 12000 * 64_KiB);
    CHECK(pages.resident() == 0);
    CHECK(pages.valid());
}

TEST_CASE("what is resident is reported when all of an arena is committed", "[arena]") {
    allot::arena<> pages{allot::page_bytes{64_KiB}, allot::reserve_bytes{1_MiB}};
    std::byte* const run = pages.take(8);
    std::vector<std::byte*> all;
    while (std::byte* const p = pages.take()) all.push_back(p);
    std::memset(run, 1, 512_KiB);
    for (std::byte* p : all) std::memset(p, 1, 64_KiB);
    CHECK(pages.resident() == 1_MiB);
    for (std::byte* p : all) pages.give(p, 1);
    pages.give(run, 8);
}

TEST_CASE("no huge OS page inflates an arena of less than 16 MiB", "[arena]") {
    allot::arena<> pages{allot::limit{12_MiB}, allot::page_bytes{64_KiB}};
    std::vector<std::pair<std::byte*, std::size_t>> all;
    for (std::size_t i = 0; i < 40; ++i) {
        const std::size_t n = i % 4 == 0 ? 2 : 1; // at both ends
        all.emplace_back(pages.take(n), n);
        REQUIRE(all.back().first != nullptr);
        *all.back().first = std::byte{1};
    }
    CHECK(huge_bytes(pages) == 0);
    CHECK(pages.resident() <= 40 * allot::detail::sys::os_page_bytes());
    for (auto [p, n] : all) pages.give(p, n);
}

TEST_CASE("absurd sizes make the arena that is possible", "[arena]") {
    for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX / 2, std::size_t{1} << 48, std::size_t{1}}) {
        allot::arena<> pages{allot::reserve_bytes{bytes}};
        CHECK(pages.page_count() > 0);
        std::byte* const p = pages.take();
        REQUIRE(p != nullptr);
        *p = std::byte{1};
        pages.give(p, 1);
    }
    struct huge : allot::policies<allot::page::huge_pages<>> {};
    allot::arena<huge> pages{allot::reserve_bytes{SIZE_MAX}};
    CHECK(pages.page_count() > 0);
    pages.give(pages.take(), 1);
    allot::arena<> unlimited{allot::limit{SIZE_MAX}};
    CHECK(unlimited.limit() == unlimited.page_count() * unlimited.page_bytes());
}

TEST_CASE("an arena that may not lock its memory says so and works", "[arena]") {
    struct kept : allot::policies<allot::page::mapped<allot::page::mapped_options{.lock = true}>> {};
    const pid_t child = ::fork();
    if (child == 0) {
        const rlimit none{0, 0};
        ::setrlimit(RLIMIT_MEMLOCK, &none);
        if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(77); // to the superuser the limit does not apply
        allot::arena<kept> pages{allot::reserve_bytes{16_MiB}};
        std::byte* const p = pages.take();
        if (p == nullptr) ::_exit(1);
        std::memset(p, 1, 64_KiB);
        pages.give(p, 1);
        if (pages.locked()) ::_exit(2);
        ::_exit(pages.valid() ? 0 : 3);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    REQUIRE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) SKIP("this superuser may not become another user");
    CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a locked arena gives memory back as another does", "[arena]") {
    struct kept : allot::policies<allot::page::mapped<allot::page::mapped_options{.lock = true}>> {};
    allot::arena<kept> pages{allot::page_bytes{64_KiB}, allot::reserve_bytes{1_MiB}};
    std::byte* const p = pages.take();
    if (!pages.locked()) {
        pages.give(p, 1);
        SKIP("this user may not lock memory");
    }
    std::memset(p, 1, 64_KiB);
    pages.give(p, 1);
    const std::size_t back = pages.trim(); // 0 before Linux 5.18
    CHECK(pages.stats().committed == 64_KiB - back);
    CHECK(pages.valid());
}
