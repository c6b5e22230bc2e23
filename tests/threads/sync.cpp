// The lock, the stack and the called list under many threads.
#include <support/catch.hpp>

#include <allot/sync/called_list.hpp>
#include <allot/sync/mpsc_stack.hpp>
#include <allot/sync/spin_lock.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr int threads = 4;

struct node {
    int thread = 0;
    int number = 0;
    std::atomic<node*> link{nullptr};
};

} // namespace

TEST_CASE("a spin lock lets one thread in at a time", "[threads]") {
    allot::detail::spin_lock lock;
    const int rounds = ALLOT_TSAN ? 5000 : 50000;
    long counter = 0, tried = 0; // not atomic: the thread sanitizer watches
    std::atomic<long> got{0};
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
        all.emplace_back([&] {
            for (int i = 0; i < rounds; ++i) {
                {
                    const std::lock_guard hold(lock);
                    const long was = counter;
                    if (i % 16 == 0) std::this_thread::yield();
                    counter = was + 1;
                }
                if (!lock.try_lock()) continue;
                ++tried;
                lock.unlock();
                ++got;
            }
        });
    for (auto& t : all) t.join();
    CHECK(counter == long{threads} * rounds);
    CHECK(tried == got);
}

TEST_CASE("what is pushed is taken once, and each thread's in its order", "[threads]") {
    allot::detail::mpsc_stack<node, &node::link> stack;
    const int each = ALLOT_TSAN ? 3000 : 30000;
    std::vector<std::vector<node>> nodes;
    for (int t = 0; t < threads; ++t) nodes.emplace_back(static_cast<std::size_t>(each));
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
            for (int i = 0; i < each; ++i) {
                node& n = nodes[static_cast<std::size_t>(t)][static_cast<std::size_t>(i)];
                n.thread = t;
                n.number = i;
                stack.push(&n);
            }
        });
    std::vector<int> next(threads, 0);
    bool in_order = true;
    for (int taken = 0; taken < threads * each;) {
        std::vector<node*> batch;
        for (node* n = stack.take_all(); n != nullptr; n = n->link.load(std::memory_order_relaxed)) batch.push_back(n);
        if (batch.empty()) std::this_thread::yield();
        for (std::size_t i = batch.size(); i-- > 0;)
            in_order = batch[i]->number == next[static_cast<std::size_t>(batch[i]->thread)]++ && in_order;
        taken += static_cast<int>(batch.size());
    }
    for (auto& t : all) t.join();
    CHECK(in_order);
    CHECK(stack.empty());
}

TEST_CASE("objects leave a called list beside walks, and no call outlives them", "[threads]") {
    struct client {
        allot::detail::called_hook<client> place;
        int number = 0;
        int calls = 0; // not atomic: its lock, or its removal, orders it
        allot::detail::spin_lock lock;
        bool alive = true;
    };
    using list = allot::detail::called_list<client, &client::place>;
    constexpr auto by_number = [](const client& a, const client& b) { return a.number < b.number; };
    const int rounds = ALLOT_TSAN ? 500 : 5000;
    allot::detail::spin_lock lock;
    list all;
    std::atomic<int> late{0}, wrong{0}, leaving{threads};
    std::array<client, 2> staying;
    for (client& c : staying) all.add(lock, c);
    const auto call = [&](client& c) {
        const std::lock_guard hold(c.lock);
        late += !c.alive;
        ++c.calls;
    };
    std::vector<std::thread> running;
    for (int t = 0; t < threads; ++t)
        running.emplace_back([&, t] {
            for (int i = 0; i < rounds; ++i) {
                const std::unique_ptr<client> mine{new client};
                mine->number = t % 2;
                all.add(lock, *mine, by_number);
                if (i % 4 == 0) all.for_each(lock, call);
                if (i % 4 == 1) all.move_behind_equals(lock, *mine, by_number);
                if (i % 4 == 2) { // inside a call, of another one or of its own
                    list::walk<allot::detail::spin_lock> w(all, lock);
                    client* const c = w.next([](const client&) { return allot::detail::walk_step::call; });
                    std::this_thread::yield();
                    if (c != mine.get() && all.remove(lock, *mine)) mine->alive = false;
                }
                all.remove(lock, *mine) ? void(mine->alive = false) : void(++wrong);
                mine->calls = -1;
            }
            --leaving;
        });
    for (int t = 0; t < 2; ++t)
        running.emplace_back([&] {
            while (leaving != 0) {
                const client* before = nullptr;
                int stayed = 0;
                all.for_each(lock, [&](client& c) {
                    wrong += before == &c;
                    before = &c;
                    for (const client& s : staying) stayed += &s == &c;
                    call(c);
                });
                wrong += stayed != 2;
                const std::lock_guard hold(lock);
                wrong += !all.valid(by_number);
            }
        });
    for (auto& t : running) t.join();
    CHECK(late == 0);
    CHECK(wrong == 0);
    for (client& c : staying) CHECK(all.remove(lock, c));
    CHECK(all.empty());
}
