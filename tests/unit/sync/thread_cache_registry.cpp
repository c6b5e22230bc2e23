// The caches that threads have of an owner: made, emptied by others, and shut. A cache is a number.
#include <support/catch.hpp>

#include <allot/sync/thread_cache_registry.hpp>

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace {

struct owner {};
struct cache : allot::detail::thread_cache_base {
    explicit cache(owner&) noexcept { set_up(); }
    void empty() noexcept { slots = 0; }
    void close() noexcept {}
    int slots = 0;
};
using registry = allot::detail::thread_cache_registry<owner, cache>;

struct caches {
    owner of;
    registry* const all = new registry{of};

    ~caches() { registry::close(all); }
    // This thread's, with a slot where the thread may put one.
    cache& used() {
        cache* mine = nullptr;
        for (int i = 0; i != 32; ++i) mine = all->here();
        CHECK_ON_THREAD(mine != nullptr);
        if (mine->enter()) {
            ++mine->slots;
            mine->leave();
        }
        return *mine;
    }
};

} // namespace

TEST_CASE("emptied caches are used again", "[heap][thread_caches]") {
    caches c;
    CHECK(c.used().slots == 1);
    c.all->empty_all();
    CHECK(c.all->known()->slots == 0);
    CHECK(c.used().slots == 1);
}

TEST_CASE("while they are shut, all caches are empty, new ones too, and no thread enters its own",
          "[heap][thread_caches]") {
    caches c;
    CHECK(c.used().slots == 1);
    std::atomic<int> step{0};
    std::thread other{[&] {
        cache& mine = c.used();
        step = 1;
        while (step != 2) std::this_thread::yield();
        CHECK_ON_THREAD(mine.slots == 0);
        CHECK_ON_THREAD(c.used().slots == 0);
        step = 3;
        while (step != 4) std::this_thread::yield();
        CHECK_ON_THREAD(c.used().slots == 1);
    }};
    while (step != 1) std::this_thread::yield();
    c.all->set_shut(true);
    c.all->empty_all();
    CHECK(c.used().slots == 0);
    std::thread{[&] { CHECK_ON_THREAD(c.used().slots == 0); }}.join();
    step = 2;
    while (step != 3) std::this_thread::yield();
    c.all->set_shut(false);
    step = 4;
    other.join();
    CHECK(c.used().slots == 1);
}

TEST_CASE("a number of threads have caches at once; another has one once a thread has ended", "[heap][thread_caches]") {
    caches c;
    std::atomic<std::size_t> with{0}, without{0}, more{0};
    std::atomic<int> step{0};
    const auto use = [&](std::atomic<std::size_t>& none) {
        bool any = false;
        for (int i = 0; i != 64; ++i) any = c.all->here() != nullptr;
        ++(any ? with : none);
    };
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i != registry::most_caches(); ++i) threads.emplace_back([&] { use(more), step.wait(0); });
    while (with != registry::most_caches()) std::this_thread::yield();
    std::thread{[&] { use(without); }}.join();
    CHECK(without == 1);
    step = 1;
    step.notify_all();
    for (std::thread& each : threads) each.join();
    CHECK(more == 0);
    std::thread{[&] { use(without); }}.join();
    CHECK(without == 1);
}
