// The lock and the stack under many threads.
#include <support/catch.hpp>

#include <allot/sync/mpsc_stack.hpp>
#include <allot/sync/spin_lock.hpp>

#include <atomic>
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
    allot::spin_lock lock;
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
    allot::mpsc_stack<node, &node::link> stack;
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
