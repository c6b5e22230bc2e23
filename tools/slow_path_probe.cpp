// The program that tools/slow_path.py runs: argv[1] names a scenario, whose last turn is made inside probe_step(),
// where callgrind collects. Only the public interface is used, so it builds with other trees of headers, too.
#include <allot/oom/retry.hpp>
#include <allot/row_manager.hpp>
#include <allot/use/spark.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

extern "C" [[gnu::noinline]] void probe_step(void (*step)(void*), void* of) { step(of); }

namespace {

using namespace allot::literals;
using allot::account, allot::oom::arbiter, allot::oom::task, allot::oom::task_thread;

constexpr std::size_t page = 64_KiB, row_bytes = 1000;
struct plain : allot::policies<> {};
struct quiet : allot::policies<allot::ledger::tree, allot::spill::chain, allot::oom::null> {};
using rows_of_tasks = allot::row_manager<allot::use::spark>;

template <class Step> void collect(Step step) {
    probe_step([](void* s) { (*static_cast<Step*>(s))(); }, &step);
}
// Unmeasured turns come first: what is made once is made then.
template <class Prepare, class Step> void scenario(Prepare prepare, Step step, int turns = 3) {
    for (int turn = 0; turn != turns; ++turn) prepare(), step();
    prepare();
    collect(step);
}

struct cache final : allot::reclaimer {
    explicit cache(account& a) : reclaimer("cache"), of(a) { of.add(*this); }
    ~cache() { static_cast<void>(of.remove(*this)); }
    bool reclaim(const allot::shortage&) noexcept override {
        return frees && (of.refund(std::exchange(frees, 0)), true);
    }
    account& of;
    std::size_t frees = 0;
};

// An account at its limit, with a page that `holder` can give.
struct at_limit {
    arbiter tasks;
    account root{allot::name{"root"}, allot::limit{8 * page}, tasks}, query{root, allot::name{"query"}},
        holder{root, allot::name{"holder"}};
    std::vector<void*> all;

    // The rows and the holder have all bytes, the rows as many as fit.
    template <class Rows> void fill(Rows& rows) {
        for (void* const row : std::exchange(all, {})) rows.release(row);
        if (holder.used() == 0) {
            while (!holder.try_charge(page)) {
            }
        }
        while (void* const row = rows.try_allocate(row_bytes)) all.push_back(row);
    }
    template <class Rows> void end(Rows& rows) {
        for (void* const row : std::exchange(all, {})) rows.release(row);
        holder.refund(holder.used());
    }
};

void allocate_or_release(bool allocates) {
    allot::row_manager<plain> rows;
    void* row = nullptr;
    if (allocates) scenario([&] { rows.release(std::exchange(row, nullptr)); }, [&] { row = rows.allocate(64); }, 500);
    else scenario([&] { row = rows.allocate(64); }, [&] { rows.release(std::exchange(row, nullptr)); }, 500);
    rows.release(row);
}
void charge() {
    account root{allot::name{"root"}}, leaf{root, allot::name{"leaf"}, allot::credit_step{}};
    scenario([&] { leaf.refund(leaf.used()); }, [&] { static_cast<void>(leaf.try_charge(64)); });
    leaf.refund(64);
}
void refused_charge() {
    account root{allot::name{"root"}, allot::limit{100}}, query{root, allot::name{"query"}};
    cache pages{query};
    scenario(
        [&] {
            query.refund(query.used());
            query.charge(pages.frees = 100);
        },
        [&] { static_cast<void>(query.try_charge(60)); });
    query.refund(query.used());
}
void row_refused() {
    at_limit a;
    allot::row_manager<quiet> rows{a.query, allot::page_bytes{page}};
    scenario([&] { a.fill(rows); }, [&] { static_cast<void>(rows.allocate(row_bytes)); });
    a.end(rows);
}
void row_reclaimed() {
    at_limit a;
    allot::row_manager<allot::use::spark> rows{a.query, allot::page_bytes{page}},
        beside{a.query, allot::page_bytes{page}}; // has nothing that could be taken
    cache pages{a.holder};
    scenario([&] { a.fill(rows), pages.frees = a.holder.used(); }, [&] { a.all.push_back(rows.allocate(row_bytes)); });
    pages.frees = 0;
    a.end(rows);
}
// A page of rows that another manager has released and kept.
void row_from_idle() {
    at_limit a;
    rows_of_tasks rows{a.query, allot::page_bytes{page}}, beside{a.query, allot::page_bytes{page}};
    scenario(
        [&] {
            a.fill(rows);
            a.holder.refund(page);
            std::vector<void*> some;
            while (void* const row = beside.try_allocate(row_bytes)) some.push_back(row);
            for (void* const row : some) beside.release(row);
        },
        [&] { a.all.push_back(rows.try_allocate(row_bytes)); });
    a.end(rows);
}
// A request of a task waits until another thread refunds a page.
void row_waits() {
    at_limit a;
    rows_of_tasks rows{a.query, allot::page_bytes{page}};
    std::atomic<int> state{0};
    std::thread other([&] {
        task its{a.tasks};
        const task_thread here{its};
        for (state = 1; state != 2; std::this_thread::sleep_for(std::chrono::milliseconds{1}))
            if (a.query.stats().waiting != 0) a.holder.refund(page);
    });
    {
        task mine{a.tasks};
        const task_thread here{mine};
        while (state == 0) std::this_thread::yield();
        scenario([&] { a.fill(rows); }, [&] { a.all.push_back(rows.allocate(row_bytes)); });
    }
    state = 2;
    other.join();
    a.end(rows);
}
// Work is rolled back so that an older request is served, and begun again. The first attempt makes `request`.
template <class Request> void roll_back(at_limit& a, Request request) {
    std::atomic<int> turn{0};
    std::atomic<bool> ends{false};
    std::thread other([&] {
        for (int seen = 0;; ++seen) {
            turn.wait(seen);
            if (ends) return;
            task its{a.tasks};
            const task_thread here{its};
            a.query.charge(page);
            a.query.refund(page);
        }
    });
    {
        task mine{a.tasks};
        const task_thread here{mine};
        scenario(
            [&] {
                if (a.holder.used() == 0) a.holder.charge(page);
                ++turn, turn.notify_one();
                while (a.query.stats().waiting == 0) std::this_thread::sleep_for(std::chrono::milliseconds{1});
            },
            [&] {
                int attempts = 0;
                allot::oom::with_retry_no_split([&] {
                    if (++attempts != 1) return;
                    struct held_page {
                        account& of;
                        ~held_page() { of.refund(page); }
                    } const held{a.holder};
                    request();
                });
            });
    }
    ends = true, ++turn, turn.notify_one();
    other.join();
}
void rollback() {
    at_limit a;
    a.query.charge(7 * page);
    roll_back(a, [&] { a.query.charge(page); });
    a.query.refund(7 * page);
    a.holder.refund(a.holder.used());
}
void row_rolled_back() {
    at_limit a;
    rows_of_tasks rows{a.query, allot::page_bytes{page}};
    a.fill(rows);
    roll_back(a, [&] { a.all.push_back(rows.allocate(row_bytes)); });
    a.end(rows);
}
void compaction() {
    allot::row_manager<plain> rows{allot::page_bytes{page}};
    std::vector<void*> all;
    scenario(
        [&] {
            for (void* const row : all) rows.release(row);
            all.clear();
            for (int n = 0; n != 640; ++n) all.push_back(rows.allocate(row_bytes));
            std::vector<void*> kept;
            for (std::size_t n = 0; n != all.size(); ++n)
                if (n % 10 == 0) kept.push_back(all[n]);
                else rows.release(all[n]);
            all = kept;
        },
        [&] { static_cast<void>(rows.compact(all)); });
    for (void* const row : all) rows.release(row);
}

} // namespace

int main(int n, char** named) {
    const std::string_view name = n == 2 ? named[1] : "";
    if (name == "warm_allocate") allocate_or_release(true);
    else if (name == "warm_release") allocate_or_release(false);
    else if (name == "charge") charge();
    else if (name == "refused_charge") refused_charge();
    else if (name == "rollback") rollback();
    else if (name == "compaction") compaction();
    else if (name == "row_refused") row_refused();
    else if (name == "row_reclaimed") row_reclaimed();
    else if (name == "row_from_idle") row_from_idle();
    else if (name == "row_waits") row_waits();
    else if (name == "row_rolled_back") row_rolled_back();
    else return std::fputs("slow_path_probe: no such scenario\n", stderr), 2;
}
