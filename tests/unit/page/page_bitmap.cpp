#include <support/catch.hpp>

#include <allot/page/page_bitmap.hpp>
#include <allot/sys/map.hpp>

#include <algorithm>
#include <random>
#include <sys/resource.h>
#include <vector>

namespace {

using allot::detail::page_bitmap;

// The same by brute force.
struct model {
    std::vector<bool> taken;

    std::size_t lowest() const {
        const auto at = std::find(taken.begin(), taken.end(), false);
        return at == taken.end() ? page_bitmap::none : static_cast<std::size_t>(at - taken.begin());
    }
    std::size_t highest_run(std::size_t n) const {
        std::size_t run = 0;
        for (std::size_t i = taken.size(); i-- > 0;) {
            run = taken[i] ? 0 : run + 1;
            if (run == n) return i;
        }
        return page_bitmap::none;
    }
    std::size_t free_before(std::size_t page, std::size_t most) const {
        std::size_t n = 0;
        while (n < most && n < page && !taken[page - n - 1]) ++n;
        return n;
    }
    std::size_t largest() const {
        std::size_t best = 0, run = 0;
        for (const bool t : taken) {
            run = t ? 0 : run + 1;
            best = std::max(best, run);
        }
        return best;
    }
    void set(std::size_t first, std::size_t n, bool to) {
        for (std::size_t i = 0; i < n; ++i) taken[first + i] = to;
    }
};

void play(std::size_t pages, unsigned seed, int steps) {
    INFO("pages " << pages << ", seed " << seed);
    std::vector<std::uint64_t> memory(page_bitmap::bytes_for(pages) / 8, 0);
    page_bitmap bitmap;
    bitmap.start(reinterpret_cast<std::byte*>(memory.data()), pages);
    model m{std::vector<bool>(pages, false)};
    std::mt19937 random(seed);
    std::vector<std::pair<std::size_t, std::size_t>> held;
    for (int step = 0; step < steps; ++step) {
        const unsigned what = random() % 8;
        if (what < 3) {
            const std::size_t want = m.lowest(), got = bitmap.find_one();
            REQUIRE(got == want);
            if (got != page_bitmap::none) {
                bitmap.take(got, 1);
                m.set(got, 1, true);
                held.emplace_back(got, 1);
            }
        } else if (what < 5) {
            const std::size_t n = 1 + random() % (random() % 4 == 0 ? 200 : 9);
            const std::size_t want = m.highest_run(n);
            const std::size_t got = bitmap.find_run(n);
            REQUIRE(got == want);
            if (got != page_bitmap::none) {
                bitmap.take(got, n);
                m.set(got, n, true);
                held.emplace_back(got, n);
            }
        } else if (what == 5) {
            const std::size_t first = random() % pages, n = 1 + random() % 70;
            const bool free =
                first + n <= pages &&
                std::none_of(m.taken.begin() + static_cast<std::ptrdiff_t>(first),
                             m.taken.begin() + static_cast<std::ptrdiff_t>(first + n), [](bool t) { return t; });
            REQUIRE(bitmap.are_free(first, n) == free);
            if (free) {
                bitmap.take(first, n);
                m.set(first, n, true);
                held.emplace_back(first, n);
            }
        } else if (!held.empty()) {
            std::swap(held[random() % held.size()], held.back());
            const auto [first, n] = held.back();
            held.pop_back();
            REQUIRE(bitmap.give(first, n));
            m.set(first, n, false);
        }
        if (step % 16 == 0) {
            const page_bitmap::free_run largest = bitmap.largest_free_run();
            REQUIRE(largest.pages == m.largest());
            REQUIRE((largest.pages == 0 || m.free_before(largest.first + largest.pages, pages) == largest.pages));
            REQUIRE(bitmap.valid());
            const std::size_t at = random() % pages;
            REQUIRE(bitmap.is_taken(at) == m.taken[at]);
            const std::size_t most = random() % (pages + 2);
            REQUIRE(bitmap.free_before(at, most) == m.free_before(at, most));
        }
    }
}

} // namespace

TEST_CASE("the page bitmap finds what a search of every page finds", "[page]") {
    unsigned seed = 1;
    for (const std::size_t pages : {1u, 2u, 63u, 64u, 65u, 127u, 128u, 300u, 4096u, 5000u})
        for (int i = 0; i < 4; ++i) play(pages, seed++, 3000);
    play(150'001, seed, 60); // parts of three words
}

TEST_CASE("giving back a page that is free is seen", "[page]") {
    std::vector<std::uint64_t> memory(page_bitmap::bytes_for(100) / 8, 0);
    page_bitmap bitmap;
    bitmap.start(reinterpret_cast<std::byte*>(memory.data()), 100);
    const std::size_t page = bitmap.find_one();
    bitmap.take(page, 1);
    CHECK(bitmap.give(page, 1));
    CHECK_FALSE(bitmap.give(page, 1));
}

TEST_CASE("a walk over a bitmap costs by what was used", "[page]") {
    constexpr std::size_t pages = std::size_t{1} << 31, bytes = page_bitmap::bytes_for(pages); // 256 MiB
    const std::size_t os_page = allot::detail::sys::os_page_bytes();
    std::byte* const memory = allot::detail::sys::reserve(bytes, os_page);
    REQUIRE(memory != nullptr);
    REQUIRE(allot::detail::sys::commit(memory, bytes));
    const auto faults = [] {
        rusage now{};
        getrusage(RUSAGE_SELF, &now);
        return now.ru_minflt;
    };
    page_bitmap bitmap;
    bitmap.start(memory, pages);
    bitmap.take(100, 3);
    bitmap.take(pages / 2, 70);
    bitmap.take(pages - 5, 5);
    const auto before = faults();
    const page_bitmap::free_run largest = bitmap.largest_free_run();
    CHECK(largest.first == pages / 2 + 70);
    CHECK(largest.pages == pages / 2 - 75);
    CHECK(faults() - before < 2000); // 65,536 for all of it
    std::size_t seen = 0, others = 0;
    bitmap.visit_used(2, [&](std::size_t w) {
        const bool has_one = w == pages / 128 || w == pages / 128 + 1 || w == pages / 64 - 1;
        ++(has_one ? seen : others);
        return true;
    });
    CHECK(seen == 3);
    CHECK(others < pages / 64 / 32);
    allot::detail::sys::unmap(memory, bytes);
}
