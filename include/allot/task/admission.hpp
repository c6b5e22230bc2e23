// Which task starts next: the rules of an executor, without its threads, its memory and a clock.
//
//   1  the first in order starts where what it needs fits, and always where nothing runs
//   2  else the first behind it that fits, if none that it passes was passed `bypasses` times already
//   3  no more run at once than `threads`; half as many after one was rolled back, and one more for each round of tasks
//      that end well since
//   4  one that ran out of memory alone with others is tried alone: others start neither beside it nor before it
//
// Invariant: a task is waiting, running or neither. Cost: 48 bytes a task; O(log n), and at most 32 tasks looked at.
// Threads: one at a time.
// Source: BlazingSQL's document of its executor, 2021; bounded bypass: "Fairness in parallel job scheduling", 1997.
#pragma once

#include <allot/config.hpp>
#include <allot/core/min_max.hpp>
#include <allot/request/priority.hpp>
#include <allot/task/ready_queue.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

/// What an executor knows of a task.
struct admitted_task {
    queue_place place;
    std::size_t needs = 0; // bytes
    std::uint32_t passed = 0;
    bool is_alone = false; // nothing runs beside it
};

class admission {
  public:
    static constexpr std::size_t most_looked_at = 32;

    explicit admission(unsigned threads, unsigned bypasses) noexcept
        : threads_(detail::max(threads, 1U)), bypasses_(bypasses), width_(threads_) {}

    /// Makes room for that many tasks, so that add() allocates nothing. Throws: std::bad_alloc.
    void reserve(std::size_t tasks) { waiting_.reserve(tasks); }
    /// Waits for its turn. Requires: it does not wait, nor run. Throws: std::bad_alloc.
    void add(admitted_task& t) { waiting_.push(t); }
    /// Another priority. Requires: it waits.
    void update(admitted_task& t, const oom::priority& at) noexcept { waiting_.update(t, at); }
    /// Waits no more. Requires: it waits.
    void withdraw(admitted_task& t) noexcept { waiting_.remove(t); }

    /// What becomes of one that does not fit where nothing runs.
    enum class alone : std::uint8_t {
        starts,
        after_others, // behind those that fit
        waits,
    };
    /// The task that starts now, which runs until ended(); null: none. `room`: free bytes; `how(task)`: alone.
    template <class How> admitted_task* start(std::size_t room, How how) noexcept {
        admitted_task *starts = nullptr, *then = nullptr, *passed[most_looked_at];
        std::size_t n = 0;
        visit_startable([&](admitted_task& t) {
            const alone what = t.needs <= room ? alone::starts : running_ == 0 ? how(t) : alone::waits;
            if (what == alone::starts) return starts = &t, false;
            if (what == alone::after_others && then == nullptr) then = &t;
            return passed[n++] = &t, true;
        });
        if (starts == nullptr) starts = then, n = 0;
        if (starts == nullptr) return nullptr;
        while (n != 0) ++passed[--n]->passed;
        return run(*starts);
    }
    admitted_task* start(std::size_t room) noexcept {
        return start(room, [](const admitted_task&) { return alone::starts; });
    }
    /// The least room in which one starts beside those that run; SIZE_MAX: only the end of one of these starts another.
    std::size_t least_room() const noexcept {
        std::size_t least = SIZE_MAX;
        visit_startable([&](const admitted_task& t) { return least = detail::min(least, t.needs), true; });
        return least;
    }
    /// It did not start after all: it waits again, where it was. Throws: std::bad_alloc.
    void put_back(admitted_task& t) {
        ends(t);
        waiting_.push(t);
    }
    /// It did not start, and waits no more.
    void left(const admitted_task& t) noexcept { ends(t); }
    void ended(admitted_task& t) noexcept {
        ends(t);
        if (width_ < threads_ && ++ended_well_ >= width_) ++width_, ended_well_ = 0;
    }
    /// It was rolled back, or ran out of memory: fewer run at once. It waits no more until it is added again.
    void ran_out(admitted_task& t) noexcept {
        const unsigned now = running_;
        ends(t);
        width_ = detail::max(detail::min(width_, now) / 2, 1U);
        ended_well_ = 0;
    }

    std::size_t waiting() const noexcept { return waiting_.size(); }
    unsigned running() const noexcept { return running_; }
    /// Tasks that may run at once now.
    unsigned width() const noexcept { return width_; }
    const admitted_task* first() const noexcept { return waiting_.first(); }
    template <class Visit> void visit_waiting(Visit visit) const { waiting_.visit_all(visit); }

  private:
    // Those of which the first that fits starts, in order.
    template <class Visit> void visit_startable(Visit visit) const {
        if (running_ >= width_ || is_alone_) return;
        waiting_.visit_first(most_looked_at, [&](admitted_task& t) {
            return (running_ == 0 || !t.is_alone) && visit(t) && (running_ == 0 || t.passed < bypasses_);
        });
    }
    admitted_task* run(admitted_task& t) noexcept {
        waiting_.remove(t);
        ++running_;
        is_alone_ = t.is_alone;
        return &t;
    }
    void ends(const admitted_task& t) noexcept {
        --running_;
        if (t.is_alone) is_alone_ = false;
    }

    ready_queue<admitted_task, &admitted_task::place> waiting_;
    const unsigned threads_, bypasses_;
    unsigned width_, running_ = 0, ended_well_ = 0;
    bool is_alone_ = false;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
