// An account closes while others charge below it: no charge there succeeds once the close has returned, and nothing is
// lost.
#include <support/catch.hpp>

#include <allot/account/account.hpp>
#include <allot/core/units.hpp>
#include <allot/sync/pause.hpp>

#include <atomic>
#include <barrier>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::name;

namespace {

constexpr allot::leak_sink no_report{[](void*, std::string_view) noexcept {}, nullptr};

void close(account& query, unsigned how) {
    if (how == 0) static_cast<void>(query.close());
    else if (how == 1) static_cast<void>(query.close(allot::time_span{0}));
    else static_cast<void>(query.close_when_drained([](account&, void*) noexcept {}));
}

// What the threads share in one round.
struct round_of_closing {
    account& root;
    std::optional<account> query{std::in_place, root, name{"query"}, no_report};
    account inner{*query, name{"inner"}, no_report};
    account plain{inner, name{"plain"}, no_report},
        stepping{inner, name{"stepping"}, allot::credit_step{1000}, no_report},
        own{inner, name{"own"}, allot::credit_step{1000}, no_report};
    std::atomic<bool> closed{false};

    explicit round_of_closing(account& of) : root(of) {}

    // Charges until the account refuses, then some times more. Returns the bytes that stay charged; SIZE_MAX if a
    // charge succeeded after the close.
    std::size_t charge(account& a, std::size_t bytes) const {
        std::size_t mine = 0;
        for (unsigned after = 0; after != 20;) {
            const bool before = !closed.load(std::memory_order_acquire);
            const allot::charge_status s = a.try_charge(bytes);
            if (s && !before) return SIZE_MAX;
            if (s) mine += bytes;
            else if (s.outcome != allot::charge_outcome::closed || s.at == nullptr) return SIZE_MAX;
            else ++after;
            if (mine > 5000) a.refund(bytes), mine -= bytes;
        }
        return mine;
    }
};

} // namespace

TEST_CASE("accounts: no charge below a closed account, by any thread", "[accounts][threads]") {
    constexpr int rounds = ALLOT_TSAN ? 60 : 300;
    account root{name{"root"}};
    bool good = true;
    std::optional<round_of_closing> all;
    std::atomic<bool> kept{true};
    std::barrier turn{6};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t != 5; ++t)
        threads.emplace_back([&, t] {
            for (int round = 0; round != rounds; ++round) {
                turn.arrive_and_wait();
                round_of_closing& now = *all;
                account& a = t < 2 ? now.stepping : t == 2 ? now.own : t == 3 ? now.plain : now.inner;
                const std::size_t mine = now.charge(a, t == 1 ? 700 : 7);
                if (mine == SIZE_MAX) kept = false;
                turn.arrive_and_wait(); // all have charged; the query may be gone
                if (mine != SIZE_MAX) a.refund(mine);
                turn.arrive_and_wait();
            }
        });
    for (int round = 0; round != rounds; ++round) {
        all.emplace(root);
        turn.arrive_and_wait();
        for (int spin = round % 64 * 16; spin != 0; --spin) allot::detail::pause();
        close(*all->query, static_cast<unsigned>(round) % 3);
        all->closed.store(true, std::memory_order_release);
        if (round % 2 == 0) all->query.reset(); // while they still charge
        turn.arrive_and_wait();
        turn.arrive_and_wait();
        good = root.verify() && all->inner.stats().own == 0 && all->stepping.used() == 0 && good;
        all.reset();
        good = root.used() == 0 && good;
    }
    for (auto& t : threads) t.join();
    CHECK(good);
    CHECK(kept);
    CHECK(root.verify());
}

TEST_CASE("accounts: what opens below while an account closes is closed, too", "[accounts][threads]") {
    account root{name{"root"}};
    bool good = true;
    for (int round = 0; round != 300; ++round) {
        std::optional<account> query{std::in_place, root, name{"query"}, no_report};
        std::vector<std::unique_ptr<account>> opened;
        std::atomic<bool> closed{false};
        std::thread opens{[&] {
            account* above = &*query;
            while (!closed.load(std::memory_order_acquire)) {
                opened.push_back(
                    std::make_unique<account>(*above, name{"below"}, allot::credit_step{64}, no_report, std::nothrow));
                if (!opened.back()->refusal()) break;
                if (opened.size() % 8 == 0) above = opened.back().get();
                static_cast<void>(opened.back()->try_charge(10));
            }
        }};
        for (int spin = round * 4; spin != 0; --spin) allot::detail::pause();
        close(*query, static_cast<unsigned>(round) % 3);
        closed.store(true, std::memory_order_release);
        opens.join();
        for (const auto& a : opened) good = !a->is_open() && !a->try_charge(1) && good;
        good = root.verify() && good;
        while (!opened.empty()) opened.pop_back();
        query.reset();
        good = root.used() == 0 && good;
    }
    CHECK(good);
}

TEST_CASE("accounts: parent() while the parent closes", "[accounts][threads]") {
    account root{name{"root"}};
    for (int round = 0; round != 100; ++round) {
        account query{root, name{"query"}, no_report}, leaf{query, name{"leaf"}};
        std::atomic<bool> started{false};
        bool good = true;
        std::thread looks{[&] {
            started = true;
            const account* above = leaf.parent();
            for (; above != &root; above = leaf.parent()) good = good && above == &query;
        }};
        while (!started) std::this_thread::yield();
        query.close();
        looks.join();
        REQUIRE(good);
    }
}
