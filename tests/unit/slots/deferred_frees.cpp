// The table of slots that are given back and not counted: nothing is lost, nothing told twice, and the lag is bounded.
#include <support/catch.hpp>

#include <allot/slots/deferred_frees.hpp>

#include <cstdint>
#include <map>
#include <random>

namespace {

constexpr unsigned shift = 16;

std::byte* page(std::uintptr_t number) { return reinterpret_cast<std::byte*>((number + 4096) << shift); }

struct told_pages {
    std::map<std::byte*, std::uint32_t> slots;
    std::uint32_t times = 0;
    auto by() {
        return [this](std::byte* p, std::uint32_t n) {
            slots[p] += n;
            ++times;
        };
    }
};

} // namespace

TEST_CASE("a page is reported when it has enough", "[slots]") {
    allot::detail::deferred_frees deferred;
    told_pages reported;
    for (int i = 0; i < 63; ++i) deferred.add(page(3), 1, shift, 5000, reported.by());
    CHECK(reported.times == 0);
    CHECK(deferred.pending() == 63);
    CHECK(deferred.pending(page(3)) == 63);
    CHECK(deferred.pending(page(4)) == 0);
    deferred.add(page(3), 1, shift, 5000, reported.by());
    CHECK(reported.times == 1);
    CHECK(reported.slots[page(3)] == 64);
    CHECK(deferred.pending() == 0);
}

TEST_CASE("of a page with few slots each is reported at once", "[slots]") {
    allot::detail::deferred_frees deferred;
    told_pages reported;
    for (std::uint32_t capacity : {1u, 63u, 64u, 127u}) deferred.add(page(1), 1, shift, capacity, reported.by());
    CHECK(reported.times == 4);
    deferred.add(page(1), 1, shift, 128, reported.by());
    CHECK(reported.times == 4);
    CHECK(allot::detail::deferred_frees::flush_limit(1 << 20) == 64);
}

TEST_CASE("another page for the same place has the first one reported", "[slots]") {
    allot::detail::deferred_frees deferred;
    told_pages reported;
    deferred.add(page(3), 5, shift, 5000, reported.by());
    deferred.add(page(3 + 64), 2, shift, 5000, reported.by());
    CHECK(reported.slots[page(3)] == 5);
    CHECK(deferred.pending() == 2);
    deferred.add(page(4), 1, shift, 5000, reported.by());
    CHECK(reported.times == 1);
}

TEST_CASE("the sweep reports each page within 64 batches", "[slots]") {
    allot::detail::deferred_frees deferred;
    told_pages reported;
    for (std::uintptr_t i = 0; i < 64; ++i) deferred.add(page(i), 1, shift, 5000, reported.by());
    CHECK(reported.times == 0);
    for (int i = 0; i < 64; ++i) deferred.sweep(reported.by());
    CHECK(reported.times == 64);
    CHECK(deferred.pending() == 0);
}

TEST_CASE("deferred frees that are settled are all reported, forgotten ones are not", "[slots]") {
    allot::detail::deferred_frees deferred;
    told_pages reported;
    CHECK_FALSE(deferred.flush(reported.by()));
    deferred.add(page(1), 2, shift, 5000, reported.by());
    deferred.add(page(2), 3, shift, 5000, reported.by());
    CHECK(deferred.flush(reported.by()));
    CHECK(reported.slots[page(1)] == 2);
    CHECK(reported.slots[page(2)] == 3);
    CHECK_FALSE(deferred.flush(reported.by()));
    deferred.add(page(1), 2, shift, 5000, reported.by());
    deferred.clear();
    CHECK(deferred.pending() == 0);
    CHECK_FALSE(deferred.flush(reported.by()));
    CHECK(reported.times == 2);
}

TEST_CASE("what went into a tally comes out of it, whatever the pages", "[slots]") {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        std::mt19937 random(seed);
        allot::detail::deferred_frees deferred;
        told_pages reported;
        std::map<std::byte*, std::uint32_t> given;
        const std::uintptr_t pages = 1 + random() % 200;
        const std::uint32_t capacity = 1 + static_cast<std::uint32_t>(random() % 20000);
        bool good = true;
        for (int i = 0; i < 5000; ++i) {
            std::byte* const p = page(random() % pages);
            const std::uint32_t n = 1 + static_cast<std::uint32_t>(random() % 32);
            given[p] += n;
            deferred.add(p, n, shift, capacity, reported.by());
            if (i % 16 == 0) deferred.sweep(reported.by());
            good = good && deferred.pending() <= 64 * (allot::detail::deferred_frees::flush_limit(capacity) - 1);
            if (i % 16 < 2) { // a sweep, and an addition without one
                std::uint32_t sum = 0;
                for (auto& [which, count] : given) sum += count - reported.slots[which];
                good = good && sum == deferred.pending();
            }
            if (i % 1000 == 999) deferred.flush(reported.by());
        }
        CHECK(good);
        CHECK(reported.slots == given);
    }
}
