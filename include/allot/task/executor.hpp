// The executor: starts tasks that fit beside what is used and promised, and begins those again that ran out of memory.
//
//     allot::oom::arbiter tasks;
//     allot::account engine{name{"engine"}, limit{8_GiB}, tasks};
//     allot::executor run{tasks, engine, {.threads = 8}};
//     allot::task_group query{run, name{"query 7"}};                          // task_group.hpp
//     query.add({.name = "sum", .output = 1_MiB}, std::move(batches), [](auto pins) { ... });
//     query.wait();
//
//   add      the task waits, in the order of its group's number, then of arrival (admission.hpp)
//   start    what it needs fits: its inputs, what it makes of them, its overhead; the inputs that are in memory are
//            pinned, the rest is reserved in the group's account
//   attempt  the other inputs are pinned, the kernel runs, in a retry scope of the group's task
//   memory   ran out, in either place: pins and promise end, and it goes to the back, until there is news of memory
//            since the refusal. Estimates of its group are doubled; the second time it runs alone. After `attempts` its
//            group ends with the error; where others hold memory, after `unknown_holders_wait`
//
// What the account uses, but stores can give up, does not count: it leaves when the promise is made.
// Invariant: beside the one that always runs, what is used and promised stays below the share of the limit when a task
// starts. Cost: a few microseconds a task; a lock at each step. Threads: any; it has its own, or uses those that wait.
// Source: BlazingSQL's document of its executor, 2021, whose code runs one task at a time and counts no promise.
#pragma once

#include <allot/account/account.hpp>
#include <allot/account/account_reservation.hpp>
#include <allot/account/memory_look.hpp>
#include <allot/account/since_refusal.hpp>
#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/core/min_max.hpp>
#include <allot/core/units.hpp>
#include <allot/oom/scoped_wait.hpp>
#include <allot/oom/task.hpp>
#include <allot/reclaim/wait_limit.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/clock.hpp>
#include <allot/sys/mutex.hpp>
#include <allot/sys/parking.hpp>
#include <allot/sys/thread_context.hpp>
#include <allot/task/admission.hpp>
#include <allot/task/executor_options.hpp>
#include <allot/task/group_of_tasks.hpp>
#include <allot/task/queued_task.hpp>
#include <allot/task/task_attempt.hpp>
#include <allot/task/task_room.hpp>
#include <allot/task/task_step.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace allot::inline ALLOT_ABI {
#if ALLOT_EXCEPTIONS

class executor final : detail::task_calls {
    using task = detail::queued_task;
    using group = detail::group_of_tasks;
    using guard = detail::lock_guard<detail::sys::mutex>;

  public:
    /// Tasks share the account's limit. Requires: `tasks` is the arbiter of its root, and both outlive it.
    /// Throws: std::bad_alloc, std::system_error where a thread cannot begin; std::invalid_argument for another arbiter.
    ALLOT_OUTLINE executor(oom::arbiter& tasks, account& memory, const executor_options& o = {})
        : tasks_(tasks), memory_(memory), most_attempts_(detail::max(o.attempts, 1U)), room_(memory, o),
          waits_for_holders_(o.unknown_holders_wait), ready_(o.threads != 0 ? o.threads : most_callers, o.bypasses) {
        if (!tasks.decides_for(memory))
            throw std::invalid_argument("allot: an executor's account is not below a root of its arbiter");
        try {
            for (unsigned i = 0; i != o.threads; ++i) threads_.emplace_back([this] { work(); });
        } catch (...) {
            stop();
            throw;
        }
    }
    executor(const executor&) = delete;
    executor& operator=(const executor&) = delete;
    /// Requires: its groups have ended.
    ALLOT_OUTLINE ~executor() {
        if (ALLOT_CHECKED != 0 && groups_.load(std::memory_order_relaxed) != 0)
            detail::report_misuse({.kind = misuse::living_group, .heap = memory_.name()});
        stop();
    }

    account& memory() const noexcept { return memory_; }
    oom::arbiter& tasks() const noexcept { return tasks_; }
    /// Runs one attempt of a task on this thread. Returns: false if none may start now. Requires: not inside a task.
    bool run_one() {
        expects_no_task();
        account_reservation sure;
        task* const t = start(sure);
        if (t != nullptr) run(*t, std::move(sure));
        return t != nullptr;
    }
    /// Waits until no task waits or runs; parked ones do not count. It runs tasks if the executor has no threads.
    void drain() {
        expects_no_task();
        wait_until([&] { return ready_.waiting() == 0 && ready_.running() == 0; });
    }
    executor_stats stats() const noexcept {
        const guard hold(lock_);
        executor_stats s = stats_;
        s.waiting = ready_.waiting(), s.running = ready_.running(), s.width = ready_.width();
        return s;
    }

  private:
    friend class task_group; // it calls what follows, up to wait()

    // ---- for groups -------------------------------------------------------------------------------------------------

    // Throws: std::bad_alloc.
    task_ref refer_to(task& t) {
        return task_ref{t.known = std::make_shared<detail::known_task>(static_cast<detail::task_calls&>(*this), t)};
    }
    ALLOT_OUTLINE void add(std::unique_ptr<task> made) {
        task& t = *made;
        group& of = t.of;
        t.number = of.number;
        t.mark_inputs();
        {
            const guard hold(lock_);
            if (of.is_cancelled) { // its inputs end behind the lock
                if (t.known != nullptr) t.known->of = nullptr;
                return;
            }
            ready_.reserve(unfinished_ + 1);
            t.needs = needs_of(t);
            ++unfinished_, ++of.count;
            of.unfinished.add(t);
            static_cast<void>(made.release());
            queue(t);
        }
    }
    // Tasks that wait end; those that run do when they next ask for memory in vain.
    ALLOT_OUTLINE void cancel(group& of) noexcept {
        task* ended = nullptr;
        {
            const guard hold(lock_);
            if (std::exchange(of.is_cancelled, true)) return;
            for (task* t = of.unfinished.first(); t != nullptr;) {
                task& now = *t;
                t = of.unfinished.after(now);
                if (const auto was = now.now; withdraws(now) && was != detail::task_state::starting)
                    now.next_ended = std::exchange(ended, &now);
            }
        }
        of.task.remove();
        of.watches.for_each([](detail::group_watch& w) { w.cancelled(); });
        end_all(of, ended);
    }
    // The same, with an error for wait(), if it has none.
    void fail(group& of, std::exception_ptr error) noexcept {
        {
            const guard hold(lock_);
            if (of.is_cancelled) return;
            of.error = std::move(error);
            ++stats_.failed;
        }
        cancel(of);
    }
    bool is_cancelled(const group& of) const noexcept {
        const guard hold(lock_);
        return of.is_cancelled;
    }
    // The error of a group that has ended, once.
    std::exception_ptr take_error(group& of) noexcept {
        const guard hold(lock_);
        return std::exchange(of.error, nullptr);
    }
    bool is_finished(const group& of) const noexcept {
        const guard hold(lock_);
        return of.count == 0;
    }
    bool has_threads() const noexcept { return !threads_.empty(); }
    // For a thread that waits for something else, and runs tasks meanwhile.
    std::uint64_t news_so_far() const noexcept {
        const guard hold(lock_);
        return news_;
    }
    void tell() noexcept {
        const guard hold(lock_);
        news();
    }
    // Until there are other news.
    ALLOT_OUTLINE void sleep(std::uint64_t seen) noexcept {
        sleeper me;
        std::optional<detail::memory_look> look; // of one sleeper, for all
        std::uint64_t until = detail::sys::parking::never, refused = 0;
        std::size_t looks_at = 0;
        {
            const guard hold(lock_);
            if (news_ != seen) return;
            if (room_.looks_at_system() && ready_.waiting() != 0) until = sys::fine_clock::now() + look_at_system_ns;
            until = detail::min(until, wakes_at_);
            sleepers_.add(me);
            if (looked_at_ == 0) looks_at = looked_at_ = looks_at_;
            refused = refused_;
        }
        do {
            if (looks_at != 0) look.emplace(memory_, looks_at, me.spot);
            if ((looks_at != 0 && has_missed_news()) || me.spot.wait_until(until) == 0) break;
            look.reset();
        } while (is_told_by_refused(me, refused));
        look.reset();
        const guard hold(lock_);
        if (me.is_listed) sleepers_.remove(me);
        if (looks_at != 0) looked_at_ = 0;
    }
    void count_group(int by) noexcept { groups_.fetch_add(by, std::memory_order_relaxed); }
    // Called where a thread may wait for tasks, or runs one.
    void expects_no_task(const char* waited_for = "") const noexcept {
        if (ALLOT_CHECKED != 0 && detail::of_this_thread.runs == this)
            detail::report_misuse({.kind = misuse::waits_for_itself, .heap = memory_.name(), .task = waited_for});
    }
    void wait(group& of) {
        expects_no_task(of.name);
        wait_until([&] { return of.count == 0; }, &of.task);
    }
    ALLOT_OUTLINE void wake(detail::known_task& of) noexcept override {
        const guard hold(lock_);
        if (of.of == nullptr) return;
        const bool was_parked = of.of->now == detail::task_state::parked;
        step(*of.of, detail::task_event::woke);
        if (was_parked) --stats_.parked, queue(*of.of);
    }

    ALLOT_OUTLINE bool set_number(detail::known_task& of, std::int64_t number) noexcept override {
        const guard hold(lock_);
        if (of.of == nullptr) return false;
        task& t = *of.of;
        t.number = number;
        if (t.now == detail::task_state::waiting) ready_.update(t, {number, t.place.at.order}), news();
        return true;
    }
    ALLOT_OUTLINE bool withdraw(detail::known_task& of) noexcept override {
        task* ended = nullptr;
        {
            const guard hold(lock_);
            ended = of.of;
            const bool starts = ended != nullptr && ended->now == detail::task_state::starting;
            if (ended == nullptr || !withdraws(*ended)) return false;
            if (starts) return true; // the thread that starts it ends it
        }
        end_all(ended->of, ended);
        return true;
    }

    // ---- of its own -------------------------------------------------------------------------------------------------

    using ending = detail::task_attempt::ending;
    struct sleeper {
        detail::sys::parking spot{};
        detail::list_hook<sleeper> place{};
        bool is_listed = true;
    };
    static constexpr unsigned most_callers = 1024;
    static constexpr std::size_t most_needed = SIZE_MAX >> 12; // so that sums do not overflow
    static constexpr std::uint64_t look_at_system_ns = 100'000'000;

    // ---- Requires the lock ------------------------------------------------------------------------------------------

    void news() noexcept {
        ++news_;
        for (sleeper* s = sleepers_.first(); s != nullptr; s = sleepers_.after(*s))
            s->is_listed = false, s->spot.signal(1); // once
        sleepers_.clear();
    }
    static void step(task& t, detail::task_event by) noexcept {
        ALLOT_ASSERT(detail::task_table.is_legal(t.now, by), "a task's state takes the event");
        t.now = detail::task_table.after(t.now, by);
    }
    void starts_now(task& t) noexcept {
        step(t, detail::task_event::started);
        if (looked_at_ == 0 && ready_.waiting() != 0 && !sleepers_.empty()) news(); // this thread looks no more
    }
    // False: it runs.
    bool withdraws(task& t) noexcept {
        if (!detail::task_table.is_legal(t.now, detail::task_event::withdrew)) return false;
        if (t.now == detail::task_state::waiting) ready_.withdraw(t);
        else if (t.now == detail::task_state::parked) --stats_.parked;
        step(t, detail::task_event::withdrew);
        return forget(t), true;
    }
    void forget(task& t) noexcept {
        t.of.unfinished.remove(t);
        if (t.known != nullptr) t.known->of = nullptr;
    }
    // At the back of those with its number. There is room in the queue for all unfinished tasks.
    void queue(task& t) noexcept {
        t.place.at = {t.number, ++order_};
        ready_.add(t);
        news();
    }

    // Estimates of the group were wrong, or are right again: of tasks that wait, too.
    void learn(group& of, bool ran_out) noexcept {
        const unsigned now = of.doubled.load(std::memory_order_relaxed);
        if (ran_out) of.ended_well = 0, of.doubled.store(detail::min(now + 1, group::most_doubled));
        else if (now != 0 && ++of.ended_well % group::forgets == 0) of.doubled.store(now - 1);
        else if (of.least == 0) return;
        if (!ran_out) of.note_ended_well();
        estimate(of);
    }
    // Its attempts, and those of its group, count from the start.
    void forget_attempts(task& t) noexcept {
        t.attempts = 0, t.least = 0, t.is_last = t.is_alone = false;
        t.of.note_ended_well();
        estimate(t.of);
    }
    void estimate(group& of) noexcept {
        for (task* t = of.unfinished.first(); t != nullptr; t = of.unfinished.after(*t))
            if (t->now == detail::task_state::waiting) t->needs = needs_of(*t);
    }
    // What becomes of a task that does not fit where nothing runs. `held`: bytes that may never come back.
    detail::admission::alone alone_in(std::size_t here, std::size_t held, task& t) noexcept {
        group& of = t.of;
        const std::size_t least = least_of(t);
        if (least == 0 || here >= least) return detail::admission::alone::starts;
        t.least = detail::min(t.least, here + 1); // what others take now is news once they refund it
        of.least = detail::min(of.least, here + 1);
        t.needs = needs_of(t);
        if (held == 0) return detail::admission::alone::after_others;
        if (of.waits_until == 0) of.waits_until = wait_limit{waits_for_holders_}.deadline();
        if (detail::sys::parking::is_past(of.waits_until))
            return t.is_last = true, detail::admission::alone::after_others;
        wakes_at_ = detail::min(wakes_at_, of.waits_until);
        return detail::admission::alone::waits;
    }

    // ---- Without it -------------------------------------------------------------------------------------------------

    // Tasks that were forgotten: their inputs are free before their group has ended.
    void end_all(group& of, task* first) noexcept {
        std::size_t n = 0;
        for (; first != nullptr; ++n) delete std::exchange(first, first->next_ended);
        const guard hold(lock_);
        of.count -= n, unfinished_ -= n;
        news();
    }
    void work() noexcept {
        for (;;) {
            std::uint64_t seen = 0;
            {
                const guard hold(lock_);
                if (stops_) return;
                seen = news_;
            }
            if (!run_one()) sleep(seen);
        }
    }
    // `marks`: the task whose end a thread waits for, for the arbiter.
    template <class Done> void wait_until(Done done, const oom::task* marks = nullptr) {
        for (;;) {
            std::uint64_t seen = 0;
            {
                const guard hold(lock_);
                if (done()) return;
                seen = news_;
            }
            if (threads_.empty() && run_one()) continue;
            std::optional<oom::scoped_wait> edge;
            if (marks != nullptr) edge.emplace(*marks);
            sleep(seen);
        }
    }
    void stop() noexcept {
        {
            const guard hold(lock_);
            stops_ = true;
            news();
        }
        for (std::thread& t : threads_) t.join();
    }

    static std::size_t beside_inputs(const task& t) noexcept {
        const unsigned doubled =
            detail::max(detail::min(t.attempts, group::most_doubled), t.of.doubled.load(std::memory_order_relaxed));
        return detail::min(t.beside_inputs(), most_needed) << doubled;
    }
    // What it, or as many of its group in a row as one may have attempts, needs more than was free.
    std::size_t least_of(const task& t) const noexcept {
        return t.of.in_vain >= most_attempts_ ? detail::max(t.least, t.of.least) : t.least;
    }
    std::size_t needs_of(const task& t) const noexcept {
        return detail::min(detail::max(detail::sum_or_max(t.input_bytes(), beside_inputs(t)), least_of(t)),
                           most_needed);
    }
    // Reserves what the task needs beside its pins. The task that runs alone starts without.
    bool promise(task& t, account_reservation& sure) noexcept {
        const std::size_t needs = detail::sum_or_max(t.away_bytes(), beside_inputs(t));
        if (needs == 0) return true;
        t.of.memory.reserve_for(needs, time_span{0}).swap(sure);
        if (sure) return true;
        {
            const guard hold(lock_);
            if (ready_.running() == 1) return true;
        }
        const bool by_own_limit = sure.status().at == &t.of.memory;
        look_at(by_own_limit ? detail::sum_or_max(memory_.headroom(), 1) : needs);
        return false;
    }
    // Threads that sleep are to wake when that many bytes of the account may be free.
    void look_at(std::size_t bytes) noexcept {
        const guard hold(lock_);
        looks_at_ = bytes;
        if (bytes != 0 && !sleepers_.empty() && (looked_at_ == 0 || bytes < looked_at_)) news();
    }
    // Whether the pins of a start that was refused have ended: that is no news.
    bool is_told_by_refused(const sleeper& me, std::uint64_t& before) const noexcept {
        const guard hold(lock_);
        return std::exchange(before, refused_) != refused_ && me.is_listed;
    }
    // Whether memory has become unused since it was read last.
    bool has_missed_news() noexcept {
        const guard hold(lock_);
        const bool any = since_ && since_->any();
        since_.reset();
        return any;
    }
    // One thread at a time: else two could see each other run, be refused, and both wait for news of the other.
    ALLOT_OUTLINE task* start(account_reservation& sure) noexcept {
        std::size_t promised = 0, missing = 0;
        std::uint64_t before = 0;
        bool asks_holders = false;
        {
            const guard hold(lock_);
            const task* const first = static_cast<const task*>(ready_.first());
            asks_holders = ready_.running() == 0 && first != nullptr && least_of(*first) != 0;
            promised = promised_, before = starts_;
            if (!is_starting_) since_.emplace(memory_.node().tree().frees);
        }
        const std::size_t here = room_.in_account(), free = detail::min(here, room_.in_system(promised));
        const std::size_t held = asks_holders ? held_by_none() : 0;
        task* t = nullptr;
        std::uint64_t seen = 0;
        bool is_stale = false;
        {
            const guard hold(lock_);
            if (is_starting_) return is_turned_away_ = true, nullptr;
            is_stale = before != starts_; // another one has started since that was free
            if (!is_stale) {
                wakes_at_ = detail::sys::parking::never;
                t = static_cast<task*>(ready_.start(
                    free, [&](detail::admitted_task& a) { return alone_in(here, held, static_cast<task&>(a)); }));
            }
            if (t == nullptr && !is_stale)
                if (const std::size_t least = ready_.least_room(); least != SIZE_MAX && least > here)
                    missing = least - here;
            if (t != nullptr) {
                looks_at_ = 0; // those that are turned away are woken behind this start
                step(*t, detail::task_event::chosen), ++stats_.started, promised_ += t->needs,
                    is_starting_ = t->needs != 0;
                if (t->needs == 0) starts_now(*t);
                else ++starts_;
            }
            seen = news_;
        }
        if (is_stale) return start(sure);
        if (missing != 0 && (room_.find_unused(), room_.in_account() > here)) return start(sure);
        if (t == nullptr) look_at(missing != 0 ? detail::sum_or_max(memory_.headroom(), missing) : 0);
        if (t == nullptr || t->needs == 0) return t;
        t->pin_present();
        const bool starts = promise(*t, sure);
        if (!starts) t->unpin();
        {
            const guard hold(lock_);
            is_starting_ = false;
            if (!starts) ++refused_, since_.emplace(memory_.node().tree().frees); // behind the end of its pins
            if (std::exchange(is_turned_away_, false) && (starts || news_ != seen)) news(); // which they have missed
            if (starts && t->now == detail::task_state::starting) return starts_now(*t), t;
            --stats_.started;
            promised_ -= t->needs;
            if (t->now == detail::task_state::starting) {
                step(*t, detail::task_event::put_back);
                t->place.at.number = t->number; // it may have got another one
                return ready_.put_back(*t), nullptr;
            }
            ready_.left(*t);
        }
        if (starts) t->unpin(), sure.release();
        return end_all(t->of, t), nullptr; // withdrawn meanwhile
    }
    // Bytes that a group may wait for.
    std::size_t held_by_none() const noexcept { return waits_for_holders_.ms != 0 ? tasks_.held_by_none(memory_) : 0; }
    // `here`: bytes that were free but for what it had. Returns: 0; where no attempt follows: their number.
    unsigned note_ran_out(task& t, std::size_t here) noexcept {
        const bool may_wait = held_by_none() != 0;
        const guard hold(lock_);
        group& of = t.of;
        t.least = here + 1, of.waits_until = 0;
        if (ready_.running() == 1) of.note_in_vain(here);
        t.is_alone = ++t.attempts > 1;
        const unsigned all = detail::max(t.attempts, of.attempts(may_wait));
        return t.is_last || all >= most_attempts_ ? all : 0;
    }
    // `has_run_out`: of memory, however it ended then.
    ending attempt(task& t, account_reservation sure, bool& has_run_out) noexcept {
        group& of = t.of;
        detail::task_attempt now{*this, t};
        const detail::since_refusal others{memory_.node(), of.memory.node()};
        const executor* const outer = std::exchange(detail::of_this_thread.runs, this);
        const bool is_last = t.is_last || t.attempts + 1 == most_attempts_ || of.is_last(most_attempts_);
        if (is_last) memory_.end_pauses(); // it fails for what fails now, not for what did
        ending how = now.run(std::move(sure), is_last && most_attempts_ > 1);
        has_run_out = how == ending::ran_out;
        if (has_run_out)
            if (const unsigned all = note_ran_out(t, others.then(room_.in_account())); all != 0)
                how = now.fails_for_good(memory_, tasks_, all);
        if (how == ending::failed && !is_cancelled(of)) how = now.recover();
        detail::of_this_thread.runs = outer;
        if (how == ending::failed) fail(of, now.error());
        if (how == ending::ran_out || how == ending::retried) t.mark_inputs();
        return how;
    }
    ALLOT_OUTLINE void run(task& t, account_reservation sure) {
        bool has_run_out = false;
        const ending how = attempt(t, std::move(sure), has_run_out);
        group& of = t.of;
        bool ends = how == ending::done || how == ending::failed;
        {
            const guard hold(lock_);
            promised_ -= t.needs;
            if (has_run_out && how != ending::failed) ready_.ran_out(t), ++stats_.ran_out;
            else ready_.ended(t);
            if (how == ending::done) ++stats_.done;
            if (how <= ending::ran_out) learn(of, how == ending::ran_out);
            if (how == ending::retried) forget_attempts(t);
            if (how == ending::ran_out || how == ending::retried) t.needs = needs_of(t);
            ends = ends || of.is_cancelled;
            step(t, ends                     ? detail::task_event::finished
                    : how == ending::ran_out ? detail::task_event::ran_out
                    : how == ending::retried ? detail::task_event::retried
                                             : detail::task_event::blocked);
            if (ends) forget(t);
            else if (t.now == detail::task_state::waiting) queue(t);
            else ++stats_.parked, news();
        }
        if (ends) end_all(of, &t);
    }

    oom::arbiter& tasks_;
    account& memory_;
    const unsigned most_attempts_;
    const detail::task_room room_;
    const time_span waits_for_holders_;
    mutable detail::sys::mutex lock_{detail::lock_rank::executor};
    std::optional<detail::free_news::pass> since_; // begun before the account was read
    detail::admission ready_;
    detail::intrusive_list<sleeper, &sleeper::place> sleepers_;
    executor_stats stats_;
    std::uint64_t order_ = 0, news_ = 0, starts_ = 0, refused_ = 0;
    std::uint64_t wakes_at_ = detail::sys::parking::never; // a group has waited for news long enough
    std::size_t unfinished_ = 0, promised_ = 0;            // tasks; bytes that running ones need
    std::size_t looks_at_ = 0, looked_at_ = 0; // bytes of the account that are waited for, and by a look; 0: none
    bool is_starting_ = false, is_turned_away_ = false, stops_ = false;
    std::atomic<int> groups_{0};
    std::vector<std::thread> threads_;
};

#else
/// Rejected at compile time: a kernel that runs out of memory ends by an exception.
class executor {
  public:
    template <class... Arguments> explicit executor(Arguments&&...) {
        static_assert(sizeof...(Arguments) == SIZE_MAX, "allot: an executor needs exceptions; without them use quotas "
                                                        "and retry scopes (docs/tasks.md, docs/oom.md)");
    }
};
#endif

} // namespace allot::inline ALLOT_ABI
