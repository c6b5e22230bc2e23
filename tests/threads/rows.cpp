// Rows under many threads: limits that hold, counts that come out even, rows that are nobody else's.
#include <support/catch.hpp>
#include <support/in_use.hpp>
#include <support/row_sets.hpp>

#include <atomic>
#include <barrier>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

using namespace allot::literals;

namespace {

constexpr int threads = 4;

template <class Body> void on_threads(Body body) {
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) all.emplace_back([&, t] { body(t); });
    for (auto& t : all) t.join();
}

// Each row carries its owner's mark at both ends; a row that two threads hold shows.
struct marked {
    std::uint64_t mark;
    std::uint32_t bytes;
};
marked* mark(void* p, std::size_t bytes, std::uint64_t value) {
    auto* const m = new (p) marked{value, static_cast<std::uint32_t>(bytes)};
    std::memcpy(static_cast<char*>(p) + bytes - 8, &value, 8);
    return m;
}
bool intact(const marked* m) {
    std::uint64_t end;
    std::memcpy(&end, reinterpret_cast<const char*>(m) + m->bytes - 8, 8);
    return end == m->mark;
}

// Rows of `least` bytes or more, below `end`.
template <class Set> void churn(std::size_t limit, int rounds, std::size_t least = 24, std::size_t end = 424) {
    allot::row_manager<Set> rows{allot::limit{limit}};
    std::mutex guard;
    std::vector<marked*> pool; // rows wander between threads
    std::atomic<bool> good{true};
    std::atomic<std::size_t> refused{0};
    on_threads([&](int t) {
        std::mt19937_64 random(static_cast<unsigned>(t) + 1);
        std::vector<marked*> mine;
        auto local = rows.local();
        for (int i = 0; i < rounds; ++i) {
            const std::size_t n = least + random() % (end - least);
            void* const p = i % 3 == 0 ? rows.try_allocate(n) : local.try_allocate(n);
            if (p != nullptr) mine.push_back(mark(p, n, random()));
            else ++refused;
            if (rows.used() > limit) good = false;
            if (mine.size() > 300 || p == nullptr) {
                std::vector<marked*> out;
                {
                    const std::lock_guard hold(guard);
                    for (int k = 0; k < 100 && !mine.empty(); ++k) {
                        std::swap(mine[random() % mine.size()], mine.back());
                        pool.push_back(mine.back());
                        mine.pop_back();
                    }
                    for (int k = 0; k < 100 && !pool.empty(); ++k) {
                        std::swap(pool[random() % pool.size()], pool.back());
                        out.push_back(pool.back());
                        pool.pop_back();
                    }
                }
                for (marked* m : out) {
                    if (!intact(m)) good = false;
                    rows.link(m);
                    rows.release(m);
                    if (random() % 2 != 0) local.release(m);
                    else allot::release(m);
                }
            }
        }
        for (marked* m : mine) {
            if (!intact(m)) good = false;
            rows.release(m);
        }
    });
    for (marked* m : pool) rows.release(m);
    CHECK(good);
    CHECK(rows.live_rows() == 0);
    CHECK(rows.peak() <= limit);
    CHECK(rows.valid());
    rows.trim();
    CHECK(rows.used() == 0);
}

struct null_linked : allot::policies<allot::slots::linked, allot::oom::null> {};
struct null_bitmap : allot::policies<allot::slots::bitmap, allot::oom::null> {};
struct null_threads : allot::policies<allot::heap::per_thread, allot::slots::bitmap, allot::oom::null> {};
struct null_scanning : allot::policies<allot::slots::scanning, allot::oom::null> {};
struct null_delayed : allot::policies<allot::slots::delay_release, allot::oom::null> {};
struct delayed_threads : allot::policies<allot::heap::per_thread, allot::slots::delay_release, allot::oom::null> {};
struct delayed_aside : allot::policies<allot::count::links_out_of_band, allot::slots::delay_release, allot::oom::null> {
};
struct null_spans : allot::policies<allot::size::in_spans, allot::oom::null> {};
struct null_shared_spans : allot::policies<allot::size::in_spans, allot::heap::shared, allot::oom::null> {};

} // namespace

TEMPLATE_TEST_CASE("rows in spans wander between threads", "[threads]", null_spans, null_shared_spans) {
    churn<TestType>(128_MiB, ALLOT_TSAN ? 2000 : 10000, 2000, 65000);
    churn<TestType>(32_MiB, ALLOT_TSAN ? 2000 : 10000, 2000, 65000); // at the limit
}

TEMPLATE_TEST_CASE("rows wander between threads", "[threads]", null_linked, null_bitmap, null_threads, null_scanning,
                   null_delayed, delayed_threads, delayed_aside) {
    churn<TestType>(64_MiB, ALLOT_TSAN ? 4000 : 30000);
}

TEMPLATE_TEST_CASE("rows wander between threads at the limit", "[threads]", null_linked, null_bitmap, null_threads,
                   null_scanning, null_delayed, delayed_threads, delayed_aside) {
    churn<TestType>(2_MiB, ALLOT_TSAN ? 4000 : 30000);
}

TEST_CASE("one row, linked and released by all", "[threads]") {
    allot::row_manager<sets::plain> rows{allot::limit{8_MiB}};
    counted_row::alive = 0;
    for (int round = 0; round < 50; ++round) {
        auto row = rows.make<counted_row>(42u);
        std::barrier start(threads);
        std::vector<std::thread> all;
        for (int t = 0; t < threads; ++t)
            all.emplace_back([&, mine = row]() mutable {
                start.arrive_and_wait();
                for (int i = 0; i < 200; ++i) {
                    auto copy = mine;
                    if (copy->value != 42) std::abort();
                }
                mine.reset();
            });
        row.reset();
        for (auto& t : all) t.join();
        CHECK(counted_row::alive == 0);
    }
    CHECK(rows.live_rows() == 0);
}

TEST_CASE("rows without a destructor, each linked by all, are gone with the last link", "[threads]") {
    allot::row_manager<sets::plain> rows{allot::limit{8_MiB}};
    for (int round = 0; round < 20; ++round) {
        std::vector<void*> all(200);
        for (void*& p : all) {
            p = rows.allocate(40);
            for (int t = 1; t < threads; ++t) rows.link(p);
        }
        std::barrier start(threads);
        on_threads([&](int) {
            start.arrive_and_wait();
            for (void* p : all) rows.release(p);
        });
        REQUIRE(rows.live_rows() == 0);
    }
    CHECK(rows.valid());
}

TEST_CASE("links that all threads add to the same rows are all counted", "[threads]") {
    allot::row_manager<sets::plain> rows{allot::limit{8_MiB}};
    for (int round = 0; round < 20; ++round) {
        std::vector<void*> all(200);
        for (void*& p : all) p = rows.allocate(40);
        std::barrier step(threads);
        on_threads([&](int t) {
            step.arrive_and_wait();
            for (void* p : all) t % 2 == 0 ? rows.link(p) : allot::link(p);
            step.arrive_and_wait();
            for (void* p : all) rows.release(p);
        });
        REQUIRE(rows.live_rows() == all.size());
        for (void* p : all) rows.release(p);
        REQUIRE(rows.live_rows() == 0);
    }
    CHECK(rows.valid());
}

TEST_CASE("a unique heap shared by threads through local handles", "[threads]") {
    allot::row_manager<null_bitmap> rows{allot::limit{16_MiB}};
    auto heap = rows.heap(allot::as<allot::heap::unique, allot::size::packed>, 60);
    on_threads([&](int) {
        auto local = heap.local();
        std::vector<void*> mine;
        for (int i = 0; i < 20000; ++i) {
            if (void* const p = local.try_allocate()) mine.push_back(p);
            if (mine.size() > 1000)
                for (int k = 0; k < 900; ++k) {
                    local.release(mine.back());
                    mine.pop_back();
                }
        }
        for (void* p : mine) allot::release(p);
    });
    CHECK(heap.live_rows() == 0);
    CHECK(heap.release_all() > 0);
    CHECK(support::in_use(rows) == 0);
}

TEST_CASE("threads under per_thread may end before or after their manager", "[threads]") {
    std::vector<void*> left;
    for (int round = 0; round < 20; ++round) {
        auto rows = std::make_unique<allot::row_manager<sets::per_thread>>(allot::limit{8_MiB});
        std::barrier used(2), gone(2);
        void* from_thread = nullptr;
        std::thread outlives([&] {
            void* const p = rows->allocate(100);
            from_thread = rows->allocate(100);
            rows->release(p);
            used.arrive_and_wait();
            gone.arrive_and_wait(); // the manager has ended; then this thread does
            allot::row_manager<sets::per_thread> another{allot::limit{8_MiB}};
            another.release(another.allocate(8));
        });
        std::thread ends_first([&] { rows->release(rows->allocate(64)); });
        ends_first.join();
        used.arrive_and_wait();
        rows->release(from_thread);
        CHECK(rows->live_rows() == 0);
        rows.reset();
        gone.arrive_and_wait();
        outlives.join();
    }
}

TEST_CASE("threads that need a page at the same time leave none behind", "[threads]") {
    for (int round = 0; round < 100; ++round) {
        allot::row_manager<null_bitmap> rows{allot::limit{64_MiB}};
        std::vector<std::vector<void*>> held(threads);
        on_threads([&](int t) {
            auto local = rows.local();
            std::mt19937 random(static_cast<unsigned>(t));
            for (int i = 0; i < 1000; ++i) held[static_cast<std::size_t>(t)].push_back(local.allocate(random() % 200));
        });
        on_threads([&](int t) {
            for (void* p : held[static_cast<std::size_t>(t)]) rows.release(p);
        });
        rows.trim();
        REQUIRE(rows.used() == 0);
    }
}

TEST_CASE("managers of threads that share a short arena live on each other's empty pages", "[threads]") {
    struct tenant : allot::policies<allot::page::of<allot::arena<>>, allot::oom::null> {};
    allot::arena<> pages{allot::limit{4_MiB}, allot::page_bytes{64_KiB}};
    std::atomic<std::size_t> served{0};
    on_threads([&](int t) {
        std::mt19937 random(static_cast<unsigned>(t));
        for (int round = 0; round < 30; ++round) {
            allot::row_manager<tenant> rows{pages};
            std::vector<void*> mine;
            for (int i = 0; i < 800; ++i) {
                if (void* const p = rows.try_allocate(100 + random() % 1000)) mine.push_back(p);
                else {
                    for (void* p2 : mine) rows.release(p2);
                    mine.clear();
                }
            }
            served += mine.size();
            for (void* p : mine) rows.release(p);
        }
    });
    CHECK(served > 0);
    CHECK(pages.stats().taken == 0);
    CHECK(pages.valid());
}

TEST_CASE("threads that meet new row types at the same time agree on their numbers", "[threads]") {
    static constexpr std::size_t kinds = 400;
    static const std::vector<allot::row_type> types(kinds, allot::row_type{"kind"});
    allot::detail::type_table table;
    std::barrier start(threads);
    std::vector<std::vector<std::uint32_t>> numbers(threads, std::vector<std::uint32_t>(kinds));
    on_threads([&](int t) {
        start.arrive_and_wait();
        for (std::size_t i = 0; i < kinds * 4; ++i) {
            const std::size_t kind = i * 7 % kinds;
            numbers[static_cast<std::size_t>(t)][kind] = table.number(types[kind]);
        }
    });
    for (std::size_t i = 0; i < kinds; ++i) {
        CHECK(table[numbers[0][i]] == &types[i]);
        for (const auto& of_thread : numbers) CHECK(of_thread[i] == numbers[0][i]);
    }
}
