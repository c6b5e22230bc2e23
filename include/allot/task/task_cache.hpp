// What tasks put and others take: handles, which may leave memory meanwhile, and sources that make one on demand.
//
//     allot::task_cache<batch> sorted{sorting};                      // `sorting`: the group whose tasks fill it
//     sorting.add({}, std::move(in), sort, sorted.sink());
//     sorting.wait(), sorted.finish();
//     while (std::optional<batch> b = sorted.pull()) ...             // waits, until it is finished and empty
//
// A task does not wait in its kernel: `if (sorted.awaits(step)) return task_outcome::would_block;`.
// Invariant: each item is taken once, in the order of put(), but for pull_any(). Cost: 200 bytes, and 64 per item.
// Threads: any. Source: BlazingSQL's CacheMachine, 2021, which drops an item for which no tier has room.
#pragma once

#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/core/min_max.hpp>
#include <allot/oom/scoped_wait.hpp>
#include <allot/spill/spillable.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/mutex.hpp>
#include <allot/sys/parking.hpp>
#include <allot/task/executor.hpp>
#include <allot/task/task_group.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace allot::inline ALLOT_ABI {
#if ALLOT_EXCEPTIONS

/// Requires: it outlives the tasks that use it.
template <spillable T> class task_cache {
    using guard = detail::lock_guard<detail::sys::mutex>;

  public:
    task_cache() noexcept = default;
    /// Filled by tasks of that group: it is finished when the group is cancelled or fails, and the arbiter knows what
    /// its readers wait for. Requires: the group outlives it.
    explicit task_cache(task_group& filled_by) noexcept : by_(&filled_by) { by_->add(cut_); }
    task_cache(const task_cache&) = delete;
    task_cache& operator=(const task_cache&) = delete;
    /// Cancels the tasks of its group that are left, and waits for those that run: they use it.
    ~task_cache() {
        if (by_ == nullptr) return;
        by_->end_if_unfinished();
        by_->remove(cut_);
    }

    /// After finish() the item ends at once. Throws: std::bad_alloc.
    void put(T handle) { put_item({std::optional<T>(std::move(handle)), nullptr}); }
    /// One that `make` makes when it is taken, on that thread, without a lock. What it throws passes to the one that
    /// takes it, and the source stays, as the first. Throws: std::bad_alloc.
    void put_source(std::function<T()> make) { put_item({std::nullopt, std::move(make)}); }
    /// For task_group::add(): puts what a kernel returns.
    auto sink() {
        return [this](T handle) { put(std::move(handle)); };
    }
    /// No more are put: readers that wait get what is there, then nothing. Idempotent.
    void finish() noexcept { close(false); }

    /// The first; waits for it, and runs tasks meanwhile if its group's executor has no threads. None: it is finished,
    /// and empty. Requires: not inside a task.
    std::optional<T> pull() {
        return wait([&] { return !items_.empty(); }) ? take(items_.begin()) : std::nullopt;
    }
    /// The first that is in memory; else the first. It waits as pull().
    std::optional<T> pull_any() {
        return wait([&] { return !items_.empty(); }) ? take(nearest()) : std::nullopt;
    }
    /// The first, if it is there.
    std::optional<T> try_pull() {
        lock_.lock();
        if (!items_.empty()) return take(items_.begin());
        lock_.unlock();
        return std::nullopt;
    }
    /// The first items that have `bytes` together, for one task; waits for them. Fewer bytes: it is finished.
    std::vector<T> pull_bytes(std::size_t bytes) {
        struct taken {
            explicit taken(task_cache& in) noexcept : of(in) {}
            taken(const taken&) = delete;
            taken& operator=(const taken&) = delete;
            ~taken() { // a source threw: all are there again
                const guard hold(of.lock_);
                for (; !all.empty(); all.pop_back()) of.items_.push_front({std::move(all.back()), nullptr});
                of.signal();
            }
            task_cache& of;
            std::vector<T> all;
        } mine{*this};
        for (std::size_t has = 0; has < bytes;) {
            std::optional<T> next = pull();
            if (!next) break;
            has = detail::sum_or_max(has, next->bytes());
            mine.all.push_back(*std::move(next));
        }
        return std::exchange(mine.all, {});
    }
    /// Waits until `count` items were put, taken or not. False: it is finished before. Requires: not inside a task.
    bool wait_for(std::size_t count) {
        const bool has = wait([&] { return put_ >= count; });
        if (has) lock_.unlock();
        return has;
    }
    /// For a task: true, where it would wait for an item; it is woken then, so let its kernel return would_block.
    /// Throws: std::bad_alloc.
    bool awaits(task_step& step) {
        const task_waker wakes = step.waker();
        const guard hold(lock_);
        if (!items_.empty() || is_finished_) return false;
        tasks_.push_back(wakes);
        return true;
    }

    std::size_t size() const noexcept {
        const guard hold(lock_);
        return items_.size();
    }
    bool is_finished() const noexcept {
        const guard hold(lock_);
        return is_finished_;
    }
    /// Whether its group was cancelled, or failed, before finish().
    bool is_cut() const noexcept {
        const guard hold(lock_);
        return is_cut_;
    }

  private:
    struct item {
        std::optional<T> made;
        std::function<T()> make;
    };
    struct reader {
        detail::sys::parking spot{};
        detail::list_hook<reader> place{};
    };
    struct cut final : detail::group_watch {
        explicit cut(task_cache& of) noexcept : all(of) {}
        void cancelled() noexcept override { all.close(true); }
        task_cache& all;
    };

    // Where a source throws, it is the first again.
    struct put_back {
        put_back(task_cache& in, item& source) noexcept : of(&in), taken(source) {}
        put_back(const put_back&) = delete;
        put_back& operator=(const put_back&) = delete;
        ~put_back() {
            if (of == nullptr) return;
            const guard hold(of->lock_);
            of->items_.push_front(std::move(taken));
            of->signal();
        }
        task_cache* of;
        item& taken;
    };

    void put_item(item i) {
        std::vector<task_waker> tasks;
        {
            const guard hold(lock_);
            if (is_finished_) return; // it ends behind the lock
            items_.push_back(std::move(i));
            ++put_;
            tasks.swap(tasks_);
            signal();
        }
        tell(tasks);
    }
    void close(bool is_cut) noexcept {
        std::vector<task_waker> tasks;
        {
            const guard hold(lock_);
            if (std::exchange(is_finished_, true)) return;
            is_cut_ = is_cut;
            tasks.swap(tasks_);
            signal();
        }
        tell(tasks);
    }
    // Without the lock: those that wait for the executor's news, too.
    void tell(const std::vector<task_waker>& tasks) noexcept {
        for (const task_waker& t : tasks) t();
        if (by_ != nullptr && by_->runs_tasks()) by_->tell();
    }
    void signal() noexcept {
        for (reader* r = readers_.first(); r != nullptr; r = readers_.after(*r)) r->spot.signal(1);
    }
    // True: with the lock.
    template <class Has> bool wait(Has has) {
        const bool runs = by_ != nullptr && by_->runs_tasks();
        for (;;) {
            const std::uint64_t seen = runs ? by_->news() : 0;
            reader me;
            lock_.lock();
            if (has()) return true;
            const bool is_over = is_finished_;
            if (!is_over) readers_.add(me);
            lock_.unlock();
            if (is_over) return false;
            if (by_ != nullptr) by_->expects_no_task();
            if (!runs || !by_->run_one()) {
                std::optional<oom::scoped_wait> edge;
                if (by_ != nullptr) edge.emplace(by_->task());
                if (runs) by_->sleep(seen);
                else static_cast<void>(me.spot.wait_until(detail::sys::parking::never));
            }
            const guard hold(lock_);
            readers_.remove(me);
        }
    }
    // With the lock, which it unlocks.
    std::optional<T> take(typename std::deque<item>::iterator at) {
        item taken = std::move(*at);
        items_.erase(at);
        lock_.unlock();
        if (taken.made) return std::move(taken.made);
        put_back source{*this, taken};
        std::optional<T> made{taken.make()};
        source.of = nullptr;
        return made;
    }
    auto nearest() noexcept {
        if constexpr (requires(const T& t) { t.is_away(); })
            for (auto i = items_.begin(); i != items_.end(); ++i)
                if (i->made && !i->made->is_away()) return i;
        return items_.begin();
    }

    mutable detail::sys::mutex lock_{detail::lock_rank::executor};
    std::deque<item> items_;
    detail::intrusive_list<reader, &reader::place> readers_;
    std::vector<task_waker> tasks_;
    std::size_t put_ = 0;
    bool is_finished_ = false, is_cut_ = false;
    task_group* const by_ = nullptr;
    cut cut_{*this};
};

#endif

} // namespace allot::inline ALLOT_ABI
