// The slow paths: a request that takes a page, is refused, waits, or is rolled back, and an arena that begins and ends.
// Each call of measured::cold is one such request. What leads to it happens before, uncounted; that it was one is
// checked behind it.
#include <counted/count.hpp>

#include <allot/chunk_arena.hpp>
#include <allot/oom/retry.hpp>
#include <allot/row_manager.hpp>
#include <allot/use/spark.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <optional>
#include <semaphore>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

namespace measured {

using namespace allot::literals;
using allot::account;

inline constexpr std::size_t page = 64_KiB, row_bytes = 1000;

struct charged : allot::policies<allot::ledger::tree, allot::oom::null> {};
struct reclaiming : allot::policies<allot::ledger::tree, allot::spill::chain, allot::oom::null> {};
using allot::use::spark;

// A heap without free slots takes a page of its arena, which its account is charged for.
struct page_taken {
    account root{allot::name{"root"}}, query{root, allot::name{"query"}};
    allot::row_manager<charged> rows{query, allot::limit{60_MiB}, allot::page_bytes{page}}; // no huge OS pages
    std::vector<void*> all;
    std::size_t slots_of_page = 0, used = 0;

    page_taken() {
        for (int pages = 0; pages != 4; ++pages) slots_of_page = fill_page();
    }
    ~page_taken() {
        for (void* const row : all) rows.release(row);
    }
    void prepare() {
        for (std::size_t n = 1; n != slots_of_page; ++n) call();
        used = query.used();
    }
    void call() { all.push_back(rows.allocate(row_bytes)); }
    bool has_happened() const { return query.used() == used + page; }

  private:
    // Allocates rows until one is in a new page. Returns: how many.
    std::size_t fill_page() {
        const std::size_t before = all.size();
        used = query.used();
        while (!has_happened()) call();
        return all.size() - before;
    }
};

// Rows that have all that their limit allows, but for a page that another account holds.
template <class Set, class Judge = allot::judged_by> struct rows_at_limit {
    Judge tasks;
    account root{allot::name{"root"}, allot::limit{0}, static_cast<allot::judged_by&>(tasks)},
        query{root, allot::name{"query"}}, holder{root, allot::name{"holder"}};
    allot::row_manager<Set> rows{query, allot::page_bytes{page},
                                 allot::leak_sink{[](void*, std::string_view) noexcept {}}};
    void* row = nullptr;

    rows_at_limit() { hold_page(); }
    ~rows_at_limit() { holder.refund(holder.used()); }
    // Rows use up the page that the holder has refunded, and it gets another one.
    void hold_page() {
        while (rows.try_allocate(row_bytes) != nullptr) {
        }
        root.set_limit(root.limit() + page);
        holder.charge(page);
    }
};

// Nothing can be freed.
struct refused : rows_at_limit<charged> {
    void prepare() {}
    void call() { row = rows.allocate(row_bytes); }
    bool has_happened() const { return row == nullptr; }
};

// A reclaimer frees the page that is missing.
struct reclaimed : rows_at_limit<reclaiming> {
    struct cache final : allot::reclaimer {
        explicit cache(account& a) : reclaimer("cache"), of(a) { of.add(*this); }
        ~cache() { static_cast<void>(of.remove(*this)); }
        bool reclaim(const allot::shortage&) noexcept override { return frees && (of.refund(page), true); }
        account& of;
        bool frees = false;
    } pages{holder};

    void prepare() {
        pages.frees = false;
        if (holder.used() == 0) hold_page();
        pages.frees = true;
    }
    void call() { row = rows.allocate(row_bytes); }
    bool has_happened() const { return row != nullptr && holder.used() == 0; }
};

// The request sleeps until another thread refunds the page; with an arbiter, both work for tasks.
template <class Set, class Judge = allot::judged_by> struct waiting : rows_at_limit<Set, Judge> {
    static constexpr bool has_tasks = !std::is_same_v<Judge, allot::judged_by>;
    struct token {
        explicit token(allot::judged_by&) {}
        explicit token(allot::oom::arbiter& tasks) { works.emplace(task.emplace(tasks)); }
        std::optional<allot::oom::task> task;
        std::optional<allot::oom::task_thread> works;
    };
    token here{this->tasks};
    std::latch begun{1};
    std::atomic<bool> ends{false};
    std::thread other{[this] {
        const token there{this->tasks};
        begun.count_down();
        for (; !ends; std::this_thread::sleep_for(std::chrono::milliseconds{1}))
            if (this->query.stats().waiting != 0) this->holder.refund(page);
    }};

    waiting() { begun.wait(); }
    ~waiting() {
        ends = true;
        other.join();
    }
    void prepare() {
        if (this->holder.used() == 0) this->hold_page();
    }
    void call() {
        if constexpr (has_tasks) this->row = this->rows.allocate(row_bytes);
        else this->row = this->rows.allocate_for(row_bytes, allot::forever);
    }
    bool has_happened() const { return this->row != nullptr && this->holder.used() == 0; }
};

// A task holds the page that a request of another one waits for, and needs one more: its work is rolled back, which
// serves the other. That one ends, so the work is begun again; it then needs nothing.
struct rolled_back : rows_at_limit<spark, allot::oom::arbiter> {
    struct held_page {
        account& of;
        ~held_page() { of.refund(page); }
    };
    std::binary_semaphore next{0};
    std::atomic<bool> ends{false};
    std::thread other{[this] {
        for (; next.acquire(), !ends;) {
            allot::oom::task task{tasks};
            const allot::oom::task_thread works{task};
            query.charge(page);
            query.refund(page);
        }
    }};
    allot::oom::task task{tasks};
    allot::oom::task_thread works{task};
    std::uint64_t attempts = 0, rollbacks = 0;

    ~rolled_back() {
        ends = true;
        next.release();
        other.join();
    }
    void prepare() {
        attempts = 0, rollbacks = tasks.stats().rollbacks;
        if (holder.used() == 0) holder.charge(page);
        next.release();
        while (query.stats().waiting == 0) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    void call() {
        allot::oom::with_retry_no_split([this] {
            if (++attempts != 1) return;
            const held_page mine{holder};
            row = rows.allocate(row_bytes);
        });
    }
    bool has_happened() const { return attempts == 2 && row == nullptr && tasks.stats().rollbacks == rollbacks + 1; }
};

// An arena begins, allocates a block and ends: what it costs does not grow with the address space that it reserves.
struct arena_used_once {
    void* block = nullptr;

    void prepare() { block = nullptr; }
    void call() {
        allot::chunk_arena<allot::policies<allot::oom::null>> blocks;
        block = blocks.try_allocate(row_bytes).address;
        blocks.deallocate(block);
    }
    bool has_happened() const { return block != nullptr; }
};

} // namespace measured

void counted::cold() {
    using namespace measured;
    count_cold<60, page_taken>("page_taken");
    count_cold<61, refused>("row_refused");
    count_cold<62, reclaimed>("row_reclaimed");
    count_cold<63, waiting<reclaiming>>("row_waited_for");
    count_cold<64, waiting<spark, allot::oom::arbiter>>("row_waited_for_by_task");
    count_cold<65, rolled_back>("rollback");
    count_cold<66, arena_used_once>("chunk_arena_used_once");
}
