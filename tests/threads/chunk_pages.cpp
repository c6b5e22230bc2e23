// Chunk arenas whose pages are on their way between threads: nobody is refused for them, nobody waits for itself.
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

struct own : allot::policies<allot::fit::runs, allot::heap::per_thread, allot::oom::null> {};
struct in_tree : allot::policies<allot::ledger::tree, allot::oom::null> {};

// A ledger that can be stopped where pages are on their way: charged and not in use yet, or out of use and charged
// still.
struct stops : allot::detail::page_ledger {
    using allot::detail::page_ledger::page_ledger;
    bool try_charge(std::size_t bytes, allot::detail::memory_request& asked) noexcept {
        const bool good = allot::detail::page_ledger::try_charge(bytes, asked);
        if (good) {
            if (const auto act = std::exchange(charged, nullptr)) act();
        } else if (++refusals == 2) { // its last look
            if (const auto act = std::exchange(refused, nullptr)) act();
        }
        return good;
    }
    void confirm(std::size_t bytes) noexcept {
        allot::detail::page_ledger::confirm(bytes);
        if (const auto act = std::exchange(had, nullptr)) act();
    }
    void cancel(std::size_t bytes) noexcept {
        if (const auto act = std::exchange(not_had, nullptr)) act();
        allot::detail::page_ledger::cancel(bytes);
    }
    void refund(std::size_t bytes) noexcept {
        if (const auto act = std::exchange(given, nullptr)) act();
        allot::detail::page_ledger::refund(bytes);
    }
    std::function<void()> charged, refused, had, not_had, given; // once
    std::atomic<int> refusals{0};
};
struct stopped_policies : allot::detail::chunk_policies<own> {
    static constexpr bool whole_pages = false, joins_ranges = false; // whole chunks at once
    using ledger = stops;
};
constexpr std::size_t page = 64_KiB, chunk = 1_MiB;

// Chunks with room for one, in an arena with room for more.
struct stopped_chunks {
    using heap_type = allot::detail::chunk_heap<stopped_policies>;
    allot::arena<> pages{allot::limit{16_MiB}, allot::page_bytes{page}};
    stops ledger{chunk};
    allot::detail::charged_pages<stops> charged{pages, ledger};
    const allot::detail::books_of_object no_books{nullptr};
    heap_type heap{charged, no_books, chunk, [](void*) noexcept {}, nullptr};
    const bool opened = heap.open();

    static unsigned class_of(std::size_t bytes) { return stopped_policies::classes::class_of(bytes); }
    // What attempt(asked) takes; after a refusal as a chunk arena makes it again.
    template <class Attempt> std::byte* request(std::size_t bytes, Attempt attempt) {
        allot::detail::memory_request asked{bytes};
        const auto again = [&] { return attempt(asked); };
        if (std::byte* const p = again()) return p;
        allot::detail::page_steps own{pages, heap.in_transit(),
                                      [this](unsigned way) noexcept { return heap.return_idle(way); }};
        allot::detail::no_level none;
        return allot::detail::climb(asked, own, none, again);
    }
    std::byte* take(std::size_t bytes) {
        return request(bytes, [&](auto& asked) {
            std::byte* p = nullptr;
            return heap.take(class_of(bytes), 64, &p, 1, asked) == 1 ? p : nullptr;
        });
    }
    std::byte* take_pages(std::size_t n) {
        return request(n * page, [&](auto& asked) { return heap.take_pages(n, 1, asked); });
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
        std::thread gives{[&] { c.heap.reclaim(); }};
        on_the_way.wait();
        std::byte* const got = large ? c.take_pages(chunk / page) : c.take(64);
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
    std::thread gives{[&] { c.heap.reclaim(); }};
    on_the_way.wait();
    c.ledger.refused = [&] {
        go = true;
        gives.join();
    };
    CHECK(c.take_pages(chunk / page) != nullptr);
    REQUIRE(go);
}

TEST_CASE("nobody is refused for pages of which the holders that were asked knew nothing", "[chunks][threads]") {
    struct borrowing : allot::policies<allot::page::of<allot::arena<>>, allot::oom::null> {};
    allot::arena<> pages{allot::limit{1_MiB}, allot::page_bytes{page}};
    allot::chunk_arena<borrowing> blocks{pages, allot::chunk_bytes{256_KiB}};
    struct other final : allot::tenant {
        explicit other(allot::arena<>& a) : tenant("other"), pages(a), all(a.take(16)) {}
        allot::arena<>& pages;
        std::byte* all;
        std::size_t held() const noexcept override { return 0; }
        std::size_t return_idle(std::size_t, bool) noexcept override {
            if (std::byte* const p = std::exchange(all, nullptr))
                pages.give(p, 16); // another thread of its, at the same time
            return 0;
        }
    } holder{pages};
    pages.add(holder);
    const allot::block b = blocks.allocate(1_MiB);
    CHECK(b);
    blocks.deallocate(b.address);
    pages.remove(holder);
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
        std::byte* const got = large ? c.take_pages(chunk / page - 1) : c.take(64);
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
    std::thread takes{[&] { none = c.take_pages(chunk / page); }};
    on_the_way.wait();
    CHECK(c.take_pages(2) != nullptr);
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
    std::thread gives{[&] { c.heap.reclaim(); }};
    on_the_way.wait();
    c.heap.reclaim_for_arena();
    CHECK(c.ledger.used() == 0);
    gives.join();
}

TEST_CASE("a request inside of its own thread's move is refused, and does not wait for itself", "[chunks][threads]") {
    const support::rescue ends{"a request inside of a move of its own thread"};
    stopped_chunks c;
    bool refused = false;
    c.ledger.had = [&] { refused = c.take_pages(2 * chunk / page) == nullptr && c.heap.reclaim_for_arena() == 0; };
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
    std::thread gives{[&] { blocks.trim(); }};
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
        void refused(const allot::account&, const allot::charge_status&) noexcept override {
            if (!inside.exchange(true))
                while (!go) std::this_thread::yield();
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
