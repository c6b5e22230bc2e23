// Addresses are looked up while arenas come and go.
#include <support/catch.hpp>

#include <allot/page/arena.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <vector>

using namespace allot::literals;

namespace {

struct lent : allot::policies<allot::page::borrowed> {};

} // namespace

TEST_CASE("addresses find their arena, and constants none, while other arenas come and go", "[threads]") {
    std::vector<std::byte> bytes(8_MiB); // all in one or two granules of the table
    const auto part = [&](std::size_t i) { return std::span<std::byte>(bytes.data() + i * 1_MiB, 1_MiB); };
    allot::arena<> mine{allot::reserve_bytes{64_MiB}};
    std::optional<allot::arena<lent>> first(part(0)); // that there is one already decides nothing
    allot::arena<lent> borrowed{part(1)};
    first.reset();
    const std::byte* const constant = &bytes[7_MiB + 5];

    std::atomic<bool> good{true}, done{false};
    std::vector<std::thread> lookers;
    for (int t = 0; t < 2; ++t)
        lookers.emplace_back([&] {
            while (!done) {
                if (allot::detail::arena_at(mine.begin() + 70000) != &mine) good = false;
                if (allot::detail::arena_at(borrowed.begin() + 70000) != &borrowed) good = false;
                if (allot::detail::arena_at(constant) != nullptr) good = false;
                if (allot::detail::arena_at(&good) != nullptr) good = false;
            }
        });
    std::vector<std::thread> comers;
    for (std::size_t t = 0; t < 2; ++t)
        comers.emplace_back([&, t] {
            std::mt19937 random(static_cast<unsigned>(t));
            for (int i = 0; i < (ALLOT_TSAN ? 300 : 3000); ++i) {
                if (random() % 2 != 0) {
                    const auto own = std::make_unique<allot::arena<>>(allot::reserve_bytes{64_MiB});
                    if (allot::detail::arena_at(own->begin()) != own.get()) good = false;
                } else {
                    const auto own = std::make_unique<allot::arena<lent>>(part(2 + 2 * t + random() % 2));
                    if (allot::detail::arena_at(own->begin()) != own.get()) good = false;
                    if (allot::detail::arena_at(own->end() - 1) != own.get()) good = false;
                }
            }
        });
    for (auto& t : comers) t.join();
    done = true;
    for (auto& t : lookers) t.join();
    CHECK(good);
}

TEST_CASE("an arena alone in its granule goes while a constant beside it is looked up", "[threads]") {
    std::vector<std::byte> bytes(3_MiB);
    const std::byte* const constant = &bytes.back();
    std::atomic<bool> good{true}, done{false};
    std::thread looker([&] {
        while (!done)
            if (allot::detail::arena_at(constant) != nullptr) good = false;
    });
    for (int i = 0; i < (ALLOT_TSAN ? 500 : 5000); ++i) {
        const auto own = std::make_unique<allot::arena<lent>>(std::span<std::byte>(bytes.data(), 1_MiB));
        if (allot::detail::arena_at(own->begin()) != own.get()) good = false;
    }
    done = true;
    looker.join();
    CHECK(good);
}
