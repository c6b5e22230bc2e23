// Chunk arenas under many threads: blocks that wander, caches that others empty, threads that come and go.
#include <support/catch.hpp>
#include <support/chunk_sets.hpp>
#include <support/rescue.hpp>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

using namespace allot::literals;

namespace {

struct none_own : allot::policies<allot::fit::runs, allot::oom::null> {};
struct own : allot::policies<allot::fit::runs, allot::heap::per_thread, allot::oom::null> {};
struct own_buddies : allot::policies<allot::fit::buddy, allot::heap::per_thread, allot::oom::null> {};
struct in_tree : allot::policies<allot::ledger::tree, allot::oom::null> {};
struct own_best : allot::policies<allot::fit::best, allot::heap::per_thread, allot::oom::null> {};
using sets = std::tuple<none_own, own, own_buddies, own_best>;

constexpr int threads = 4, steps = ALLOT_TSAN ? 4000 : 20'000;

// What threads hand to each other.
class market {
  public:
    void* exchange(unsigned at, void* p) { return places_[at % 64].exchange(p, std::memory_order_acq_rel); }

  private:
    std::atomic<void*> places_[64]{};
};

unsigned char mark_of(const void* p) {
    return static_cast<unsigned char>(reinterpret_cast<std::uintptr_t>(p) >> 6 | 1);
}

template <class Arena> void check(const Arena& blocks, void* p, std::atomic<int>& broken) {
    const auto* const bytes = static_cast<unsigned char*>(p);
    const std::size_t n = blocks.capacity(p);
    if (n == 0 || bytes[0] != mark_of(p) || bytes[n - 1] != mark_of(p)) ++broken;
}

} // namespace

TEMPLATE_LIST_TEST_CASE("blocks go from thread to thread, while caches are emptied", "[chunks][threads]", sets) {
    allot::chunk_arena<TestType> blocks{allot::limit{128_MiB}, allot::page_bytes{256_KiB}};
    market goods;
    std::atomic<int> broken{0};
    std::atomic<bool> done{false};
    std::vector<std::thread> all;
    for (int t = 0; t != threads; ++t)
        all.emplace_back([&, t] {
            std::mt19937 random{static_cast<unsigned>(t)};
            for (int i = 0; i != steps; ++i) {
                const std::size_t n = i % 500 == 0 ? 3_MiB : 64 + random() % (std::size_t{64} << random() % 11);
                void* p = blocks.try_allocate(n).address;
                if (p == nullptr) {
                    ++broken;
                    continue;
                }
                const std::size_t bytes = blocks.capacity(p);
                static_cast<unsigned char*>(p)[0] = static_cast<unsigned char*>(p)[bytes - 1] = mark_of(p);
                p = goods.exchange(static_cast<unsigned>(random()), p);
                if (p == nullptr) continue;
                check(blocks, p, broken);
                blocks.deallocate(p);
            }
        });
    std::thread reports{[&] {
        while (!done) {
            static_cast<void>(blocks.figures());
            blocks.trim();
        }
    }};
    for (auto& t : all) t.join();
    done = true;
    reports.join();
    for (unsigned i = 0; i != 64; ++i)
        if (void* const p = goods.exchange(i, nullptr)) {
            check(blocks, p, broken);
            blocks.deallocate(p);
        }
    CHECK(broken == 0);
    CHECK(blocks.figures().live == 0);
    CHECK(blocks.valid());
    blocks.release_empty_pages();
    CHECK(blocks.figures().held == 0);
}

TEMPLATE_LIST_TEST_CASE("threads that come and go leave nothing, whoever ends first", "[chunks][threads]", sets) {
    for (int round = 0; round != 20; ++round) {
        auto blocks = std::make_unique<allot::chunk_arena<TestType>>(allot::limit{32_MiB}, allot::page_bytes{256_KiB});
        std::atomic<int> worked{0};
        std::atomic<bool> gone{false};
        std::vector<std::thread> all;
        for (int t = 0; t != threads; ++t)
            all.emplace_back([&, t] {
                std::vector<void*> mine;
                for (int i = 0; i != 100; ++i) mine.push_back(blocks->try_allocate(1000).address);
                for (void* const p : mine) blocks->deallocate(p);
                ++worked;
                if (t % 2 == 0) return; // before the arena
                while (!gone) std::this_thread::yield();
            });
        while (worked != threads) std::this_thread::yield();
        all[0].join();
        all[2].join();
        if (round % 2 == 0) blocks->trim();
        blocks.reset(); // would tell what is left
        gone = true;
        all[1].join();
        all[3].join();
    }
}

TEST_CASE("at the limit threads take turns, and never see more than it", "[chunks][threads]") {
    allot::chunk_arena<own> blocks{allot::limit{8_MiB}, allot::page_bytes{256_KiB}};
    std::atomic<std::uint64_t> met{0}, refused{0};
    std::atomic<int> broken{0};
    std::vector<std::thread> all;
    for (int t = 0; t != threads; ++t)
        all.emplace_back([&, t] {
            std::mt19937 random{static_cast<unsigned>(t)};
            std::vector<void*> mine;
            for (int i = 0; i != steps / 8; ++i) {
                if (void* const p = blocks.try_allocate(1000 + random() % 400'000).address) {
                    ++met;
                    mine.push_back(p);
                } else {
                    ++refused;
                }
                if (blocks.used() > 8_MiB || blocks.peak() > 8_MiB) ++broken;
                if (mine.size() > 60 || (random() % 4 == 0 && !mine.empty())) {
                    blocks.deallocate(mine.back());
                    mine.pop_back();
                }
            }
            for (void* const p : mine) blocks.deallocate(p);
        });
    for (auto& t : all) t.join();
    CHECK(met != 0);
    CHECK(refused != 0);
    CHECK(broken == 0);
    CHECK(blocks.figures().live == 0);
    const allot::block whole = blocks.try_allocate(8_MiB);
    CHECK(whole);
    blocks.deallocate(whole.address);
    CHECK(blocks.valid());
}

namespace {

// A ledger that can be stopped where pages are on their way: charged and not in use yet, or out of use and charged
// still.
struct stops : allot::page_ledger {
    using allot::page_ledger::page_ledger;
    bool try_charge(std::size_t bytes) noexcept {
        const bool good = allot::page_ledger::try_charge(bytes);
        if (good)
            if (const auto act = std::exchange(charged, nullptr)) act();
        return good;
    }
    bool fits(std::size_t bytes) noexcept {
        const bool good = allot::page_ledger::fits(bytes);
        if (const auto act = std::exchange(refused, nullptr)) act();
        return good;
    }
    void confirm(std::size_t bytes) noexcept {
        allot::page_ledger::confirm(bytes);
        if (const auto act = std::exchange(had, nullptr)) act();
    }
    void cancel(std::size_t bytes) noexcept {
        if (const auto act = std::exchange(not_had, nullptr)) act();
        allot::page_ledger::cancel(bytes);
    }
    void refund(std::size_t bytes) noexcept {
        if (const auto act = std::exchange(given, nullptr)) act();
        allot::page_ledger::refund(bytes);
    }
    std::function<void()> charged, refused, had, not_had, given; // once
};
struct stopped_policies : allot::detail::chunk_policies<own> {
    using ledger = stops;
};
constexpr std::size_t page = 64_KiB, chunk = 1_MiB;

// Chunks with room for one, in an arena with room for more.
struct stopped_chunks {
    using heap_type = allot::detail::chunk_heap<stopped_policies>;
    allot::arena<> pages{allot::limit{16_MiB}, allot::page_bytes{page}};
    stops ledger{chunk};
    allot::charged_pages<stops> charged{pages, ledger};
    heap_type heap{charged, chunk, [](void*) noexcept {}, nullptr};
    const bool opened = heap.open();

    static unsigned class_of(std::size_t bytes) { return stopped_policies::classes::class_of(bytes); }
    std::byte* take(std::size_t bytes) {
        std::byte* p = nullptr;
        return heap.take(class_of(bytes), 64, &p, 1) == 1 ? p : nullptr;
    }
    ~stopped_chunks() { heap.drop_pages(); }
};
// Another thread that stands at a place until it was left there for a while.
struct stop {
    std::atomic<bool> reached{false};
    void here() {
        reached = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    void wait() const {
        while (!reached) std::this_thread::yield();
    }
};

} // namespace

TEST_CASE("nobody is refused for pages that another thread is giving back", "[chunks][threads]") {
    for (const bool large : {false, true}) {
        stopped_chunks c;
        REQUIRE(c.opened);
        std::byte* const p = c.take(100'000);
        REQUIRE(p != nullptr);
        c.heap.give(&p, 1); // all of the chunk is free from now on
        stop on_the_way;
        c.ledger.given = [&] { on_the_way.here(); };
        std::thread gives{[&] { c.heap.reclaim(true); }};
        on_the_way.wait();
        std::byte* const got = large ? c.heap.take_pages(chunk / page) : c.take(64);
        CHECK(got != nullptr);
        gives.join();
        CHECK(c.ledger.used() <= chunk);
    }
}

TEST_CASE("nobody is refused for pages that came back behind its last look", "[chunks][threads]") {
    stopped_chunks c;
    std::byte* const p = c.take(100'000);
    c.heap.give(&p, 1);
    stop on_the_way;
    std::atomic<bool> go{false};
    c.ledger.given = [&] {
        on_the_way.reached = true;
        while (!go) std::this_thread::yield();
    };
    std::thread gives{[&] { c.heap.reclaim(true); }};
    on_the_way.wait();
    c.ledger.refused = [&] {
        go = true;
        gives.join();
    };
    CHECK(c.heap.take_pages(chunk / page) != nullptr);
    REQUIRE(go);
}

TEST_CASE("nobody is refused for pages of which the holders that were asked knew nothing", "[chunks][threads]") {
    struct borrowing : allot::policies<allot::page::of<allot::arena<>>, allot::oom::null> {};
    allot::arena<> pages{allot::limit{1_MiB}, allot::page_bytes{page}};
    allot::chunk_arena<borrowing> blocks{pages, allot::chunk_bytes{256_KiB}};
    struct other {
        allot::arena<>& pages;
        std::byte* all;
        static std::size_t held(const void*) { return 0; }
        static std::size_t give_back(const void* self) noexcept {
            auto& o = *static_cast<other*>(const_cast<void*>(self));
            if (std::byte* const p = std::exchange(o.all, nullptr))
                o.pages.give(p, 16); // another thread of its, at the same time
            return 0;
        }
    } o{pages, pages.take(16)};
    const allot::arena_holder holder{pages, "other", &other::held, &o, &other::give_back};
    const allot::block b = blocks.allocate(1_MiB);
    CHECK(b);
    blocks.deallocate(b.address);
}

TEST_CASE("nobody is refused for a chunk that another thread is taking", "[chunks][threads]") {
    for (const int way : {0, 1, 2, 3}) {
        const bool large = way % 2 != 0;
        stopped_chunks c;
        stop on_the_way;
        (way < 2 ? c.ledger.had : c.ledger.charged) = [&] { on_the_way.here(); };
        std::byte* first = nullptr;
        std::thread takes{[&] { first = c.take(64); }};
        on_the_way.wait();
        std::byte* const got = large ? c.heap.take_pages(chunk / page - 1) : c.take(64);
        CHECK(got != nullptr);
        takes.join();
        CHECK(first != nullptr);
        CHECK(c.heap.valid());
    }
}

TEST_CASE("nobody is refused for what was charged in vain", "[chunks][threads]") {
    stopped_chunks c;
    std::byte* const all = c.pages.take(16_MiB / page - 2); // the arena has two pages left
    stop on_the_way;
    c.ledger.not_had = [&] { on_the_way.here(); };
    std::byte* none = nullptr;
    std::thread takes{[&] { none = c.heap.take_pages(chunk / page); }};
    on_the_way.wait();
    CHECK(c.heap.take_pages(2) != nullptr);
    takes.join();
    CHECK(none == nullptr);
    c.pages.give(all, 16_MiB / page - 2);
}

TEST_CASE("who is asked for pages waits for those that its threads are giving back", "[chunks][threads]") {
    stopped_chunks c;
    std::byte* const p = c.take(100'000);
    c.heap.give(&p, 1);
    stop on_the_way;
    c.ledger.given = [&] { on_the_way.here(); };
    std::thread gives{[&] { c.heap.reclaim(true); }};
    on_the_way.wait();
    c.heap.reclaim_for_others();
    CHECK(c.ledger.used() == 0);
    gives.join();
}

TEST_CASE("a request inside of its own thread's move is refused, and does not wait for itself", "[chunks][threads]") {
    const support::rescue ends{"a request inside of a move of its own thread"};
    stopped_chunks c;
    bool refused = false;
    c.ledger.had = [&] {
        refused = c.heap.take_pages(2 * chunk / page) == nullptr && c.heap.reclaim_for_others() == 0;
    };
    CHECK(c.take(64) != nullptr);
    CHECK(refused);
}

TEST_CASE("a request does not wait for a listener's call about pages that went back", "[chunks][accounts][threads]") {
    const support::rescue ends{"a listener that waits for a request"};
    allot::chunk_arena<in_tree> blocks{allot::limit{1_MiB}, allot::page_bytes{page}, allot::chunk_bytes{256_KiB}};
    struct listener : allot::account_listener {
        std::atomic<bool> inside{false}, go{false};
        void released(const allot::account&, std::size_t) noexcept override {
            inside = true;
            while (!go) std::this_thread::yield();
        }
    } hears;
    blocks.deallocate(blocks.allocate(1000).address);
    blocks.account().add(hears);
    std::thread gives{[&] { blocks.release_empty_pages(); }};
    while (!hears.inside) std::this_thread::yield();
    CHECK_FALSE(blocks.allocate(2_MiB));             // more than there ever is
    const allot::block all = blocks.allocate(1_MiB); // what the call is about
    CHECK(all);
    hears.go = true;
    gives.join();
    CHECK(blocks.account().remove(hears));
    blocks.deallocate(all.address);
}

TEST_CASE("a request does not wait for a listener's call about a charge", "[chunks][accounts][threads]") {
    const support::rescue ends{"a listener that waits for a request"};
    allot::chunk_arena<in_tree> blocks{allot::limit{1_MiB}, allot::page_bytes{page}, allot::chunk_bytes{256_KiB}};
    struct listener : allot::account_listener {
        std::atomic<bool> inside{false}, go{false};
        unsigned failed(const allot::account&, const allot::charge_status&) noexcept override {
            if (!inside.exchange(true))
                while (!go) std::this_thread::yield();
            return 0;
        }
    } hears;
    blocks.account().add(hears);
    bool met = true;
    std::thread asks{[&] { met = static_cast<bool>(blocks.allocate(2_MiB)); }};
    while (!hears.inside) std::this_thread::yield();
    CHECK_FALSE(blocks.allocate(3_MiB));
    hears.go = true;
    asks.join();
    CHECK_FALSE(met);
    CHECK(blocks.account().remove(hears));
}

TEMPLATE_TEST_CASE("at the limit nobody is refused what others leave", "[chunks][threads]", own, own_best, none_own,
                   in_tree) {
    constexpr std::size_t bytes = 128_KiB, each = 4; // of a chunk's half: no cache keeps them
    allot::chunk_arena<TestType> blocks{allot::limit{threads * each * bytes}, allot::page_bytes{page},
                                        allot::chunk_bytes{256_KiB}};
    std::atomic<int> refused{0};
    std::vector<std::thread> all;
    for (int t = 0; t != threads; ++t)
        all.emplace_back([&, t] {
            std::mt19937 random{static_cast<unsigned>(t)};
            std::vector<void*> mine;
            for (int i = 0; i != steps; ++i) {
                if (mine.size() < each && random() % 2 != 0) {
                    if (void* const p = blocks.try_allocate(bytes).address) mine.push_back(p);
                    else ++refused;
                } else if (!mine.empty()) {
                    std::swap(mine[random() % mine.size()], mine.back());
                    blocks.deallocate(mine.back());
                    mine.pop_back();
                }
                if (i % 64 == 0) blocks.release_empty_pages();
            }
            for (void* const p : mine) blocks.deallocate(p);
        });
    for (auto& t : all) t.join();
    CHECK(refused == 0);
    CHECK(blocks.valid());
}
