// A query closes while threads share its buffers: they keep what they have, get no more, and everything is refunded.
#include <support/catch.hpp>

#include <allot/buffers.hpp>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

using allot::account;
using allot::buffer;
using allot::name;

TEST_CASE("buffers: a query closes while its operators share blocks", "[buffer][threads]") {
    constexpr unsigned operators = 3;
    account root{name{"root"}}, beside{root, name{"beside"}};
    allot::heap_memory heap;
    const allot::buffer_memory memory{heap};
    std::atomic<bool> good{true};
    for (int round = 0; round != 40; ++round) {
        std::optional<account> query{std::in_place, root, name{"query"}};
        std::optional<account> at[operators];
        for (auto& a : at) a.emplace(*query, name{"operator"});
        std::mutex lock;
        std::vector<buffer> passed; // from one thread to another
        std::atomic<bool> closed{false}, ended{false};
        std::vector<std::thread> threads;
        for (unsigned t = 0; t != operators; ++t)
            threads.emplace_back([&, t] {
                std::mt19937 random(static_cast<unsigned>(round) * operators + t);
                std::vector<buffer> mine;
                for (unsigned after = 0; after != 30; after += closed ? 1 : 0) {
                    const bool before = !closed.load(std::memory_order_acquire);
                    buffer fresh = memory.try_allocate(*at[t], 100);
                    if (fresh && !before) good = false;
                    if (fresh) mine.push_back(std::move(fresh));
                    if (mine.empty()) continue;
                    buffer& one = mine[random() % mine.size()];
                    account& to = random() % 8 == 0 ? beside : *at[random() % operators];
                    buffer theirs = random() % 2 == 0 ? one.retain(to) : one.transfer(to).view;
                    if (theirs) {
                        const std::lock_guard hold(lock);
                        passed.push_back(std::move(theirs));
                        if (passed.size() > 20) passed.erase(passed.begin(), passed.begin() + 5);
                    }
                    if (mine.size() > 10) mine.erase(mine.begin(), mine.begin() + 3);
                }
            });
        std::this_thread::yield();
        const auto note = [](account&, void* flag) noexcept { static_cast<std::atomic<bool>*>(flag)->store(true); };
        if (query->close_when_drained(note, &ended)) ended = true;
        closed.store(true, std::memory_order_release);
        for (auto& thread : threads) thread.join();
        passed.clear();
        std::size_t used = 0;
        for (auto& a : at) used += a->used();
        if (used != 0 || !root.verify()) good = false;
        for (auto& a : at) a.reset();
        if (!ended || root.used() != 0) good = false;
    }
    CHECK(good);
    CHECK(beside.used() == 0);
    CHECK(root.verify());
}
