// Free slots in the caches of threads and handles do not keep memory from whoever is short of it.
#include <support/catch.hpp>
#include <support/rescue.hpp>
#include <support/row_sets.hpp>

#include <allot/account/account.hpp>
#include <allot/ledger/tree.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <tuple>
#include <vector>

using namespace allot::literals;

namespace {

struct quiet : allot::policies<allot::heap::per_thread, allot::oom::null> {};
struct marked : allot::policies<allot::heap::per_thread, allot::oom::null, allot::slots::scanning> {};
struct delayed : allot::policies<allot::heap::per_thread, allot::oom::null, allot::slots::delay_release> {};
struct uncounted : allot::policies<allot::heap::per_thread, allot::oom::null, allot::count::none> {};
using threaded = std::tuple<quiet, marked, delayed, uncounted>;

constexpr allot::page_bytes small{64_KiB};

template <class Rows> std::vector<void*> fill(Rows& rows, std::size_t bytes) {
    std::vector<void*> all;
    while (void* const row = rows.try_allocate(bytes)) all.push_back(row);
    return all;
}
// In random order: one page after the other becomes empty but for a few slots in a cache.
template <class Rows> void release_shuffled(Rows& rows, std::vector<void*>& all, std::size_t from = 0) {
    std::shuffle(all.begin() + static_cast<std::ptrdiff_t>(from), all.end(), std::mt19937(7));
    for (std::size_t i = from; i != all.size(); ++i) rows.release(all[i]);
    all.resize(from);
}

// A thread that does `work`, and then stays, idle, until this object ends.
class idle_thread {
  public:
    template <class Work>
    explicit idle_thread(Work work)
        : thread_([this, work] {
              work();
              idle_ = true;
              while (!over_) std::this_thread::yield();
          }) {
        while (!idle_) std::this_thread::yield();
    }
    ~idle_thread() {
        over_ = true;
        thread_.join();
    }

  private:
    std::atomic<bool> idle_{false}, over_{false};
    std::thread thread_;
};

} // namespace

TEMPLATE_LIST_TEST_CASE("no page is kept by a cache of the thread that asks, or of an idle one", "[rows]", threaded) {
    allot::row_manager<TestType> rows{allot::limit{4_MiB}, small};
    const auto work = [&] {
        std::vector<void*> all = fill(rows, 64);
        release_shuffled(rows, all);
    };
    work();
    const idle_thread other{work};
    const std::size_t limit = rows.limit();
    void* const row = rows.try_allocate(limit * 9 / 10);
    CHECK(row != nullptr);
    rows.release(row);
    CHECK(rows.live_rows() == 0);
    rows.trim();
    CHECK(rows.used() == 0);
    CHECK(rows.valid());
}

TEMPLATE_LIST_TEST_CASE("a slot in the cache of an idle thread serves the last request", "[rows]", threaded) {
    allot::row_manager<TestType> rows{allot::limit{256_KiB}, small};
    std::vector<void*> all = fill(rows, 200);
    {
        const idle_thread other{[&] {
            std::vector<void*> some;
            for (int i = 0; i != 40; ++i) rows.release(all.back()), all.pop_back(); // it is due a cache
            for (int i = 0; i != 40; ++i) some.push_back(rows.try_allocate(200));
            for (void* const row : some) rows.release(row);
        }};
        for (int i = 0; i != 40; ++i) {
            all.push_back(rows.try_allocate(200));
            CHECK(all.back() != nullptr);
        }
        CHECK(rows.try_allocate(200) == nullptr);
    }
    for (void* const row : all) rows.release(row);
    CHECK(rows.live_rows() == 0);
}

TEMPLATE_LIST_TEST_CASE("threads work on while their caches are emptied", "[rows]", threaded) {
    allot::row_manager<TestType> rows{allot::limit{32_MiB}, small};
    std::atomic<bool> over{false};
    std::atomic<std::size_t> wrong{0};
    const auto work = [&](unsigned seed) {
        std::mt19937 random(seed);
        struct held {
            void* row;
            std::size_t bytes;
            unsigned char mark;
        };
        std::vector<held> mine;
        for (int i = 0; i != 15'000; ++i) {
            if (mine.size() < 400 && random() % 2 == 0) {
                held h{nullptr, 16 + random() % 600, static_cast<unsigned char>(random())};
                h.row = rows.try_allocate(h.bytes);
                if (h.row == nullptr) continue;
                std::memset(h.row, h.mark, h.bytes);
                mine.push_back(h);
            } else if (!mine.empty()) {
                std::swap(mine[random() % mine.size()], mine.back());
                const held h = mine.back();
                mine.pop_back();
                for (std::size_t at = 0; at != h.bytes; ++at)
                    wrong += static_cast<unsigned char*>(h.row)[at] != h.mark; // another row had its slot, too
                rows.release(h.row);
            }
        }
        for (const held& h : mine) rows.release(h.row);
    };
    std::thread emptier{[&] {
        do rows.trim();
        while (!over);
    }};
    std::vector<std::thread> all;
    for (unsigned t = 0; t != 3; ++t) all.emplace_back(work, t);
    for (auto& t : all) t.join();
    over = true;
    emptier.join();
    CHECK(wrong == 0);
    CHECK(rows.live_rows() == 0);
    rows.trim();
    CHECK(rows.used() == 0);
    CHECK(rows.valid());
}

TEST_CASE("threads come, go and are emptied, and so do managers", "[rows]") {
    for (int round = 0; round != 20; ++round) {
        allot::row_manager<quiet> rows{allot::limit{2_MiB}, small};
        std::vector<std::thread> all;
        for (int t = 0; t != 4; ++t)
            all.emplace_back([&, t] {
                for (int i = 0; i != 20; ++i) {
                    std::vector<void*> mine;
                    for (int n = 0; n != 100; ++n)
                        if (void* const row = rows.try_allocate(100)) mine.push_back(row);
                    for (void* const row : mine) rows.release(row);
                    if (t == 0) rows.trim();
                    if (t == 1) rows.release(rows.try_allocate(1_MiB));
                }
            });
        for (auto& t : all) t.join();
        CHECK(rows.live_rows() == 0);
    }
}

TEST_CASE("a handle empties its caches at its next refill after a shortage", "[rows]") {
    allot::row_manager<quiet> rows{allot::limit{4_MiB}, small};
    auto handle = rows.local();
    std::vector<void*> all = fill(handle, 64);
    release_shuffled(handle, all);
    std::size_t cached = 0;
    rows.usage([&](const allot::heap_usage& u) { cached += u.cached_rows; });
    CHECK(cached != 0);
    CHECK(cached <= 128);                                    // a stack and a group
    CHECK(rows.try_allocate(4_MiB - 8 * 64_KiB) == nullptr); // the handle is idle: documented
    handle.release(handle.try_allocate(500));                // another class
    void* const row = rows.try_allocate(4_MiB - 8 * 64_KiB);
    CHECK(row != nullptr);
    rows.release(row);
}

TEST_CASE("a heap's handle empties its cache at its next spill after a shortage", "[rows]") {
    allot::row_manager<quiet> rows{allot::limit{4_MiB}, small};
    auto heap = rows.heap(64);
    auto handle = heap.local();
    std::vector<void*> all;
    while (void* const row = handle.try_allocate()) all.push_back(row);
    std::vector<void*> few(all.end() - 200, all.end());
    all.resize(all.size() - 200);
    release_shuffled(handle, all);
    CHECK(heap.usage().cached_rows > 16);
    CHECK(rows.try_allocate(4_MiB - 8 * 64_KiB) == nullptr);
    while (heap.usage().cached_rows > 1 && !few.empty()) {
        handle.release(few.back());
        few.pop_back();
    }
    CHECK(heap.usage().cached_rows == 1);
    for (void* const row : few) handle.release(row);
    CHECK(rows.live_rows() == 0);
}

namespace {

struct charged : allot::policies<allot::heap::per_thread, allot::oom::null, allot::ledger::tree> {};

} // namespace

TEST_CASE("a listener that releases rows while a cache is filled loses no slot", "[rows]") {
    // Releases rows through the cache that the refused request was to fill.
    struct releaser final : allot::account_listener {
        allot::row_manager<charged>* rows = nullptr;
        std::vector<void*> spare;
        void refused(const allot::account&, const allot::charge_status&) noexcept override {
            for (int i = 0; i != 50 && !spare.empty(); ++i) {
                rows->release(spare.back());
                spare.pop_back();
            }
        }
    } releases;
    allot::account query{allot::name{"query"}, allot::limit{1_MiB}};
    query.add(releases);
    {
        allot::row_manager<charged> rows{query, small};
        releases.rows = &rows;
        std::vector<void*> all;
        for (std::size_t n = 0; void* const row = rows.try_allocate(64); ++n)
            (n % 3 == 0 ? releases.spare : all).push_back(row);
        CHECK(releases.spare.empty());
        for (void* const row : all) rows.release(row);
        CHECK(rows.live_rows() == 0);
        rows.trim();
        CHECK(rows.used() == 0);
    }
    query.remove(releases);
}
