// A tree of accounts under many threads: limits hold at every look, nobody fails for another's sake, sums are right at
// the end.
#include <support/add_then_check.hpp>
#include <support/catch.hpp>
#include <support/rescue.hpp>

#include <allot/account/account.hpp>
#include <allot/report/accounts.hpp>
#include <allot/sync/pause.hpp>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace {

using allot::account;
using allot::limit;
using allot::name;

struct crew {
    std::vector<std::thread> all;
    ~crew() { join(); }
    void join() {
        for (auto& t : all)
            if (t.joinable()) t.join();
    }
};

} // namespace

TEST_CASE("accounts: 32 threads on one tree", "[accounts][threads]") {
    constexpr std::size_t most = 200'000;
    account root{name{"root"}, limit{most}};
    std::vector<std::unique_ptr<account>> inner, leaves;
    std::vector<allot::account_reservation> floors;
    for (int i = 0; i != 4; ++i) {
        inner.push_back(std::make_unique<account>(root, name{"query"}, limit{most / 3}));
        floors.push_back(inner.back()->reserve_floor_for(1000, allot::time_span{0}));
    }
    for (int i = 0; i != 16; ++i) {
        account& above = *inner[static_cast<std::size_t>(i) % 4];
        if (i < 8) leaves.push_back(std::make_unique<account>(above, name{"stepping"}, allot::credit_step{512}));
        else leaves.push_back(std::make_unique<account>(above, name{"exact"}, limit{most / 5}));
    }
    std::atomic<bool> good{true}, done{false};
    std::thread watcher{[&] {
        std::vector<char> page(16 * 1024);
        while (!done) {
            if (root.used() > most || root.peak() > most || !root.verify()) good = false;
            for (auto& q : inner)
                if (q->used() > most / 3) good = false;
            allot::text_writer out{page.data(), page.size()};
            allot::write_accounts(out, root);
            std::this_thread::yield();
        }
    }};
    {
        crew threads;
        for (unsigned t = 0; t != 32; ++t)
            threads.all.emplace_back([&, t] {
                std::mt19937 random(t + 1);
                struct held {
                    account* by;
                    std::size_t bytes;
                };
                std::vector<held> mine;
                for (int i = 0; i != 4000; ++i) {
                    account& a = *leaves[random() % leaves.size()];
                    const std::size_t bytes = random() % 8 == 0 ? random() % 60'000 : random() % 400;
                    switch (random() % 8) {
                    case 0:
                        if (!mine.empty()) {
                            held& h = mine[random() % mine.size()];
                            if (account::try_transfer(*h.by, a, h.bytes)) h.by = &a;
                        }
                        break;
                    case 1:
                        if (a.try_hold(bytes)) {
                            if (random() % 2 == 0) a.cancel(bytes);
                            else a.confirm(bytes), mine.push_back({&a, bytes});
                        }
                        break;
                    case 2:
                    case 3:
                    case 4:
                        if (a.try_charge(bytes)) mine.push_back({&a, bytes});
                        break;
                    default:
                        if (!mine.empty()) {
                            mine.back().by->refund(mine.back().bytes);
                            mine.pop_back();
                        }
                    }
                    if (a.used() > most) good = false;
                }
                for (const held& h : mine) h.by->refund(h.bytes);
            });
    }
    done = true;
    watcher.join();
    CHECK(good);
    CHECK(root.verify());
    for (auto& l : leaves) CHECK(l->used() == 0);
    leaves.clear();
    CHECK(root.used() == 4000); // the floors
    floors.clear();
    inner.clear();
    CHECK(root.used() == 0);
    CHECK(root.peak() <= most);
}

TEST_CASE("accounts: nobody fails because of another who fails", "[accounts][threads]") {
    account root{name{"root"}, limit{1000}};
    account query{root, name{"query"}};
    account greedy{query, name{"greedy"}}, modest{query, name{"modest"}},
        stepping{query, name{"stepping"}, allot::credit_step{64}};
    account holding{query, name{"holding"}};
    std::atomic<bool> good{true}, done{false};
    REQUIRE(query.try_charge(400));
    crew threads;
    threads.all.emplace_back([&] {
        while (!done)
            if (greedy.try_charge(900)) good = false; // 400 are always charged
    });
    threads.all.emplace_back([&] { // charged, but never had
        while (!done)
            if (holding.try_hold(350)) {
                std::this_thread::yield(); // the arena is asked
                holding.cancel(350);
            }
    });
    for (account* a : {&modest, &stepping})
        threads.all.emplace_back([&, a] {
            for (int i = 0; i != 10'000; ++i) {
                if (!a->try_charge(300)) good = false;
                a->refund(300);
            }
            if (a == &modest) done = true;
        });
    threads.join();
    CHECK(good);
    CHECK(greedy.peak() == 0);
    CHECK(holding.peak() == 0);
    CHECK(root.peak() <= 1000);
    query.refund(400);
}

TEST_CASE("accounts: a leaf's room is neither lost nor found twice", "[accounts][threads]") {
    account root{name{"root"}, limit{3000}};
    account leaf{root, name{"leaf"}, allot::credit_step{100}}, other{root, name{"other"}, allot::credit_step{100}};
    std::atomic<std::size_t> charged{0};
    std::atomic<bool> good{true};
    crew threads;
    for (unsigned t = 0; t != 4; ++t)
        threads.all.emplace_back([&, t] {
            std::mt19937 random(t + 7);
            account& mine = t == 3 ? other : leaf;
            std::size_t held = 0;
            for (int i = 0; i != 30'000; ++i) {
                const std::size_t bytes = 1 + random() % (t == 3 ? 2500 : 60);
                if (held == 0 || random() % 2 == 0) {
                    if (!mine.try_charge(bytes)) continue;
                    held += bytes;
                    if (charged.fetch_add(bytes) + bytes > 3000) good = false;
                } else {
                    const std::size_t back = random() % 2 == 0 ? held : 1 + random() % held;
                    charged -= back;
                    held -= back;
                    mine.refund(back);
                }
            }
            charged -= held;
            mine.refund(held);
        });
    threads.join();
    CHECK(good);
    CHECK(charged == 0);
    CHECK(leaf.used() == 0);
    CHECK(leaf.peak() <= 3000);
    CHECK(root.verify());
    leaf.close(), other.close();
    CHECK(root.used() == 0);
}

TEST_CASE("accounts: open and close while others charge and look", "[accounts][threads]") {
    struct silent : allot::account_listener {
        std::atomic<long> heard{0};
        void after(const account&, std::size_t, const allot::charge_status&) noexcept override { ++heard; }
    } ears;
    account root{name{"root"}, limit{100'000}};
    crew threads;
    std::atomic<bool> good{true};
    for (unsigned t = 0; t != 6; ++t)
        threads.all.emplace_back([&, t] {
            std::mt19937 random(t);
            for (int i = 0; i != 400; ++i) {
                account query{root, name{"query"}};
                const auto floor = query.reserve_floor_for(10, allot::time_span{0});
                account leaf{query, name{"leaf"}, allot::credit_step{64}};
                for (int n = 0; n != 20; ++n)
                    if (!leaf.try_charge(random() % 200)) good = false;
                if (t == 0 && i % 20 == 0) root.add(ears);
                if (t == 0 && i % 20 == 10) root.remove(ears);
                leaf.refund(leaf.used());
            }
            if (t == 0) root.remove(ears);
        });
    threads.join();
    CHECK(good);
    CHECK(root.used() == 0);
    CHECK(root.verify());
}

TEST_CASE("accounts: a transfer that fits but for what is held waits for what becomes of it", "[accounts][threads]") {
    account root{name{"root"}, limit{100}};
    account sure{root, name{"sure"}}, other{root, name{"other"}}, holding{root, name{"holding"}};
    const auto floor = sure.reserve_floor_for(30, allot::time_span{0});
    REQUIRE(sure.try_charge(30));
    std::atomic<int> held{0};
    std::atomic<bool> done{false};
    std::thread holder{[&] {
        while (!done)
            if (holding.try_hold(60)) {
                ++held;
                std::this_thread::yield();
                holding.cancel(60);
            }
    }};
    bool good = true;
    do { // the reservation stays, so 20 more are charged to the root
        good = account::try_transfer(sure, other, 20).fitted() && good;
        good = account::transfer(other, sure, 20).fitted() && good;
    } while (held < 300);
    done = true;
    holder.join();
    CHECK(good);
    CHECK(root.peak() == 50);
    sure.refund(30);
    CHECK(root.verify());
}

// A refund that finds the tree's lock taken leaves a note; who closes meanwhile lets it come through, and then the
// memory is another's.
TEST_CASE("accounts: a refund is through with an account before it ends", "[accounts][threads]") {
    constexpr int rounds = ALLOT_TSAN ? 150 : 1000;
    account root{name{"root"}};
    std::vector<std::unique_ptr<account>> others; // so that the lock is taken, and for long
    for (int i = 0; i != 16; ++i) others.push_back(std::make_unique<account>(root, name{"other"}));
    alignas(account) static unsigned char place[sizeof(account)];
    account* leaf = nullptr;
    std::barrier turn{2};
    std::atomic<bool> done{false};
    crew threads;
    threads.all.emplace_back([&] {
        while (!done) static_cast<void>(root.verify());
    });
    std::atomic<int> refunding{-1};
    threads.all.emplace_back([&] {
        for (int round = 0; round != rounds; ++round) {
            turn.arrive_and_wait();
            refunding = round;
            leaf->refund(10);
            turn.arrive_and_wait();
        }
    });
    bool good = true;
    for (int round = 0; round != rounds; ++round) {
        leaf = new (place) account(root, name{"leaf"});
        good = leaf->try_charge(10).charged() && good;
        turn.arrive_and_wait();
        while (refunding != round) std::this_thread::yield();
        for (int spin = round % 64; spin != 0; --spin) allot::detail::pause();
        good = leaf->close(allot::time_span{10'000}) && good;
        leaf->~account();
        std::memset(place, 0xEE, sizeof place);
        turn.arrive_and_wait();
        for (const unsigned char c : place) good = good && c == 0xEE;
    }
    done = true;
    threads.join();
    CHECK(good);
    CHECK(root.used() == 0);
    CHECK(root.verify());
}

TEST_CASE("accounts: who adds first and checks then fails others", "[accounts][threads]") {
    add_then_check_account root{1000}, greedy{SIZE_MAX, &root}, modest{SIZE_MAX, &root};
    REQUIRE(root.try_charge(400));
    CHECK_FALSE(greedy.try_charge(900));
    CHECK(greedy.peak() == 900);           // of nobody
    CHECK_FALSE(greedy.force_charge(900)); // what is there between its two steps
    CHECK_FALSE(modest.try_charge(300));
    greedy.refund(900);
    CHECK(modest.try_charge(300));
}

// Refunds that find the lock taken go into the room; the peak before them is known all the same.
TEST_CASE("accounts: a peak is kept though its refund found the lock taken", "[accounts][threads]") {
    account root{name{"root"}}, middle{root, name{"middle"}}, beside{root, name{"beside"}};
    std::atomic<bool> done{false};
    std::thread holds_the_lock{[&] {
        while (!done) static_cast<void>(beside.try_charge(1)), beside.refund(1);
    }};
    bool good = true;
    for (int round = 0; round != (ALLOT_TSAN ? 6'000 : 20'000); ++round) {
        account leaf{middle, name{"leaf"}};
        good = leaf.try_charge(100) && good;
        leaf.refund(100);
        good = leaf.peak() == 100 && good;
        good = leaf.try_hold(70) && good; // another 70 that count once they are had
        leaf.confirm(70);
        leaf.refund(70);
        good = leaf.peak() == 100 && good;
    }
    done = true;
    holds_the_lock.join();
    CHECK(good);
    CHECK(middle.peak() == 100);
    CHECK(root.verify());
}

TEST_CASE("accounts: more is refunded than was charged while the lock is taken", "[accounts][threads]") {
    if (ALLOT_CHECKED != 0) return; // told there, by abort
    account root{name{"root"}, limit{1 << 20}}, beside{root, name{"beside"}};
    std::atomic<bool> done{false};
    std::thread holds_the_lock{[&] {
        while (!done) static_cast<void>(beside.try_charge(1)), beside.refund(1);
    }};
    bool good = true;
    for (int round = 0; round != (ALLOT_TSAN ? 6'000 : 20'000); ++round) {
        account leaf{root, name{"leaf"}, allot::credit_step{4096}}, exact{root, name{"exact"}};
        good = leaf.try_charge(100) && exact.try_charge(100) && good;
        leaf.refund(1 << 16), exact.refund(1 << 16);
        good = leaf.used() == 0 && exact.used() == 0 && leaf.try_charge(10) && exact.try_charge(10) &&
               leaf.used() == 10 && exact.used() == 10 && good;
        leaf.refund(10), exact.refund(10);
    }
    done = true;
    holds_the_lock.join();
    CHECK(good);
    CHECK(root.used() == 0);
    CHECK(root.verify());
}

TEST_CASE("accounts: a call that holds memory does not wait for a request that waits for it", "[accounts][threads]") {
    if (ALLOT_CHECKED != 0) return; // reported there, by abort
    struct holder : allot::account_listener {
        account* more = nullptr;
        std::atomic<bool> called{false};
        void after(const account&, std::size_t, const allot::charge_status&) noexcept override {
            if (more == nullptr) return;
            called = true;
            account& a = *std::exchange(more, nullptr);
            std::this_thread::sleep_for(std::chrono::milliseconds(50)); // until the other waits
            if (a.try_hold(10)) a.cancel(10);
        }
    };
    account root{name{"root"}, limit{100}}, first{root, name{"first"}}, second{root, name{"second"}},
        third{root, name{"third"}};
    holder ears;
    ears.more = &second;
    first.add(ears);
    std::thread other;
    std::atomic<bool> met{false};
    REQUIRE(third.try_charge(1));
    other = std::thread{[&] {
        while (!ears.called) std::this_thread::yield();
        met = third.try_charge(50).charged(); // fits when what is held was cancelled
    }};
    support::rescue both{[&] { root.set_limit(1000); }}; // if they wait for each other
    CHECK(first.try_hold(60));
    first.cancel(60);
    other.join();
    CHECK(met);
    CHECK_FALSE(both.came());
    third.refund(51);
    CHECK(first.remove(ears));
    CHECK(root.verify());
}
