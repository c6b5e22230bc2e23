// What a row manager asks of a ledger's state. A new one joins by its name in `answers`.
#include <support/catch.hpp>

#include <allot/ledger/page_ledger.hpp>
#include <allot/ledger/pool.hpp>
#include <allot/ledger/tree.hpp>

#include <atomic>
#include <cstddef>
#include <random>
#include <thread>
#include <tuple>
#include <type_traits>
#include <vector>

namespace {

using answers = std::tuple<allot::ledger::counter, allot::ledger::none, allot::ledger::tree, allot::ledger::pool>;

struct charge {
    std::size_t bytes;
};
template <class Ledger> bool try_charge(Ledger& ledger, std::size_t bytes) {
    allot::detail::memory_request asked{bytes};
    return ledger.try_charge(bytes, asked);
}

} // namespace

TEMPLATE_LIST_TEST_CASE("ledger: charges, cancels and refunds against the model", "[ledger]", answers) {
    STATIC_REQUIRE(allot::category::ledger::takes<TestType>);
    using state = allot::detail::ledger_of<TestType>;
    STATIC_REQUIRE(std::is_empty_v<state> == !TestType::charges);
    for (unsigned seed = 1; seed <= 20; ++seed) {
        std::mt19937_64 random(seed);
        std::size_t limit = 100000;
        state ledger(limit);
        std::vector<charge> held;
        std::size_t used = 0, peak = 0;
        bool good = true;
        for (int step = 0; step < 3000 && good; ++step) {
            const auto choice = random() % 8;
            const std::size_t bytes = choice == 7 ? SIZE_MAX - random() % 1000 : 1 + random() % 30000;
            if (choice < 5 || choice == 7) {
                const bool fits = !TestType::charges || (used <= limit && bytes <= limit - used);
                const bool got = try_charge(ledger, bytes);
                good = got == fits;
                if (!got || !TestType::charges) continue;
                if (random() % 4 == 0) ledger.cancel(bytes);
                else {
                    ledger.confirm(bytes);
                    held.push_back({bytes});
                    used += bytes;
                    peak = used > peak ? used : peak;
                }
            } else if (choice == 5 && !held.empty()) {
                std::swap(held[random() % held.size()], held.back());
                ledger.refund(held.back().bytes);
                used -= held.back().bytes;
                held.pop_back();
            } else if constexpr (TestType::charges) {
                limit = random() % 200000;
                ledger.set_limit(limit);
            }
            if constexpr (TestType::charges)
                good = good && ledger.used() == used && ledger.peak() == peak && ledger.limit() == limit;
        }
        INFO("seed " << seed);
        CHECK(good);
    }
}

TEST_CASE("ledger: no interleaving exceeds the limit, and a refused charge shows nowhere", "[ledger][threads]") {
    constexpr std::size_t limit = 1000;
    allot::detail::page_ledger ledger(limit);
    std::atomic<bool> good{true};
    std::vector<std::thread> all;
    for (unsigned t = 0; t < 4; ++t)
        all.emplace_back([&, t] {
            std::mt19937 random(t + 1);
            for (int i = 0; i < 20000; ++i) {
                const std::size_t bytes = 100 + random() % 700;
                if (try_charge(ledger, bytes)) {
                    if (random() % 3 == 0) ledger.cancel(bytes);
                    else {
                        ledger.confirm(bytes);
                        ledger.refund(bytes);
                    }
                }
                if (ledger.used() > limit || ledger.peak() > limit) good = false;
            }
        });
    for (auto& t : all) t.join();
    CHECK(good);
    CHECK(ledger.used() == 0);
    CHECK(try_charge(ledger, limit));
}

TEST_CASE("ledger: what was charged but never had is no peak", "[ledger]") {
    allot::detail::page_ledger ledger(100);
    CHECK(try_charge(ledger, 90));
    ledger.cancel(90);
    CHECK_FALSE(try_charge(ledger, 101));
    CHECK(ledger.peak() == 0);
    CHECK(try_charge(ledger, 40));
    ledger.confirm(40);
    CHECK(ledger.peak() == 40);
    ledger.refund(40);
    CHECK(ledger.peak() == 40);
}
