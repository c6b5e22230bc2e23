// Requests that wait for memory, and the threads that wake them.
//
// While a request waits that is not patient, no leaf at or below its level has credit: each refund takes the lock, and
// the thread that releases it wakes the waiters that fit (request/wait_queue.hpp). A refund that is deferred looks for
// waiters. Patient ones look again by themselves, since a refund into credit wakes nobody.
// wait_order.hpp has the order in which they go.
#pragma once

#include <allot/config.hpp>
#include <allot/core/min_max.hpp>
#include <allot/reclaim/user_call.hpp>
#include <allot/reclaim/wait_limit.hpp>
#include <allot/request/command.hpp>
#include <allot/request/judge.hpp>
#include <allot/request/ladder.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/request/shared_level.hpp>
#include <allot/request/wait_queue.hpp>
#include <allot/sync/full_fence.hpp>
#include <allot/sys/clock.hpp>
#include <allot/sys/thread_context.hpp>
#include <allot/tree/account_node.hpp>
#include <allot/tree/account_numbers.hpp>
#include <allot/tree/tree_change.hpp>
#include <allot/tree/wait_order.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

// The account that refused; null: another level did.
inline const account_node* refuser_in(const charge_status& why) noexcept {
    return why.at != nullptr ? &node_of(*why.at) : nullptr;
}
// Whether a reclaimer of `home` is asked at this level: `home` is there or below, or the reclaimer serves what is below
// it, and has not ended. Requires the mutex.
inline bool is_asked_at(const account_node& at, const reclaimer& r, const account& home) noexcept {
    if (node_of(home).life.is_closed()) return false;
    return node_of(home).is_below(at) || (r.asked() == reclaimer::reach::below_too && at.is_below(node_of(home)));
}
// For objects at and below: requests wait for their unused memory, or no longer do.
inline void settle_waits(const account_node& a) noexcept {
    a.tree().reclaimers.settle_waits(a.shape(),
                                     [&](const reclaimer& r, const account& home) { return is_asked_at(a, r, home); });
}
inline cancellation* cancelled_by(const wait_limit* wait) noexcept { return wait != nullptr ? wait->end : nullptr; }

// A request that waits in a tree, from construction to destruction.
class waiting_request {
  public:
    // Only a level that others may come below is waited for; not by a thread that others may wait for.
    static bool is_possible(const account_node& by, const memory_request& asked) noexcept {
        if (!is_at_limit(by, asked.why)) return false;
        const locked_tree scope(waits_at(by, asked.why));
        return can_fit(limited(by, asked), asked.why, asked.why.requested);
    }
    static bool is_at_limit(const account_node& by, const charge_status& why) noexcept {
        return may_be_granted_later(why) && !user_call::is_inside_any() && by.is_open();
    }
    // Whether what refused may have memory again: an account, an arena, the limit of a pool, a device.
    static bool may_be_granted_later(const charge_status& why) noexcept {
        return why.by != refuser::none &&
               (why.outcome == charge_outcome::over_limit || why.outcome == charge_outcome::no_address_space ||
                why.outcome == charge_outcome::no_memory || why.outcome == charge_outcome::held_back);
    }
    // The account in whose queue it waits: for a shared level at the root, and what gives it memory signals shared_.
    static const account_node& waits_at(const account_node& by, const charge_status& why) noexcept {
        return is_account(why) ? *refuser_in(why) : by.root();
    }

    // `end`: of the wait, on fine_clock. Requires: the thread holds no lock.
    ALLOT_OUTLINE_WARM waiting_request(const account_node& by, const memory_request& asked, std::uint64_t end) noexcept
        : by_(by), in_(waits_at(by, asked.why).root()), judged_(judged_thread_of(in_)),
          task_(memory_of_task(judged_, in_)), shared_(spot(), !is_patient(asked)),
          cancelled_{cancelled_by(asked.wait), spot()}, end_(end) {
        const charge_status& why = asked.why;
        w_.by = &limited(by, asked);
        w_.judged = judged_;
        w_.holds = task_;
        w_.spot = &spot();
        w_.charges_others = asked.charges_others;
        w_.reserves = asked.reserves;
        w_.patient = is_patient(asked);
        w_.shared = &shared_;
        tries_ = why.outcome != charge_outcome::held_back; // that would be held back again: it sleeps first
        change_tree(in_, [&](tree_change& now) {
            now.tree.add(w_);
            enter(now.tree, waits_at(by, why));
            if (!is_account(why)) shared_.add(level_of(asked), &in_.tree());
        });
        watch_own_account(true);
        full_fence(); // a refund that is deferred meanwhile sees the waiter, or the request sees the refund
        if (!w_.patient) settle_waits(account_node::of(*w_.in)); // caches below are emptied, and stay so
        shared_.settle();
    }
    waiting_request(const waiting_request&) = delete;
    waiting_request& operator=(const waiting_request&) = delete;
    ALLOT_OUTLINE_WARM ~waiting_request() {
        bool opens = false;
        change_tree(in_, [&](tree_change& now) {
            queue().remove(w_);
            opens = !w_.patient && !queue().shuts(); // it was the last one that shuts caches
            now.tree.remove(w_);
            now.look_from(*w_.by);
            shared_.remove(announces{now.tree, w_});
            // A thread that is rolled back sleeps until others have freed memory: the judge hears of that.
            if (verdict_ == verdict::roll_back && now.tree.judged.by->sees_refunds) {
                now.tree.act_at_unlock();
                now.tree.frees.add_judge();
            }
        });
        watch_own_account(false);
        if (opens) settle_waits(account_node::of(*w_.in));
        shared_.settle();
        // A request that was granted has posted that by end_try(). Given up: it ends, or goes on in another tree.
        if (judged_ != nullptr && !granted_)
            judged_->post({.what = is_ended() ? oom::event::thrown : oom::event::given_up});
    }

    // An event of a thread's request for what `why` says, in the tree of this account.
    static oom::command request(oom::event what, const account_node& in, const charge_status& why) noexcept {
        return {.what = what, .detail = static_cast<std::uint8_t>(in.tree().judged.kind), .bytes = why.requested};
    }
    // Whether the request is to be made now. False: another is first.
    bool tries() const noexcept { return tries_; }
    bool is_in_tree_of(const charge_status& why) const noexcept { return &waits_at(by_, why).root() == &in_; }
    // Whether it could be granted, beside what its last try took and returned. False: the arbiter knows it then, and
    // last_verdict() is its verdict.
    bool can_fit_or_tell(const charge_status& why) noexcept {
        {
            const locked_tree scope(in_);
            if (can_fit(waits_at(by_, why), why, sum_or_max(why.requested, w_.undone_at(refuser_in(why))))) return true;
        }
        if (judged_ != nullptr && !is_ended()) verdict_ = judged_->post(request(oom::event::never_fits, in_, why));
        return false;
    }
    // The request is made now, until end_try(). False: the arbiter ends it.
    bool begin_try(const charge_status& why) noexcept {
        if (judged_ != nullptr && is_ended_by(judged_->post(request(oom::event::announced, in_, why)))) return false;
        w_.undone = {};
        of_this_thread.trying = &w_;
        return true;
    }
    void end_try(bool granted) noexcept {
        of_this_thread.trying = nullptr;
        granted_ = granted;
        if (granted_ && judged_ != nullptr) judged_->post({.what = oom::event::granted});
    }
    // How the arbiter ended the request; try_again: it did not.
    verdict last_verdict() const noexcept { return verdict_; }
    bool is_cancelled() const noexcept { return cancelled_.is_cancelled(); }
    // Sleeps, unless it did not wait yet where it is refused now. True: the request is to be made again. False: the
    // wait is over, by a verdict, a cancellation or its end. One that is woken as its time ends is made once more; the
    // next call returns false.
    ALLOT_OUTLINE_WARM bool sleep(const memory_request& asked) noexcept {
        const charge_status& why = asked.why;
        if (is_ended()) return false;
        if (tries_ && (waits_for_another(asked) || widen(waits_at(by_, why)))) return true;
        if (is_over_ || is_cancelled()) return false;
        change_tree(in_, [&](tree_change& now) {
            note_refusal(now.tree, asked);
            queue().sleep(w_, now.tree.waits);
            now.sleeps(w_);
        }); // may wake it
        look_at_ = next_look(asked);
        std::uint32_t signals = 0;
        do signals = sleep_once();
        while (sleeps_on(signals));
        {
            const locked_tree scope(in_);
            tries_ = w_.trying;
            if (!tries_) queue().begin_try(w_, scope.tree.waits); // nobody has: it counts as one that is awake
        }
        if (tries_) take_signal(signals); // of the thread that chose it
        const bool looks = signals == looks_again;
        if (judged_ != nullptr) {
            verdict now = judged_->look();
            if (looks && now == verdict::sleep) now = judged_->post({.what = oom::event::may_fit});
            if (is_ended_by(now)) return false;
            w_.passes = now == verdict::passes || (looks && w_.held_back);
            tries_ = tries_ || now != verdict::sleep;
        } else if (looks) {
            tries_ = true;
            w_.passes = w_.held_back;
        }
        is_over_ = sys::parking::is_past(end_);
        return tries_ && !is_cancelled();
    }

  private:
    static constexpr std::uint64_t ms = 1'000'000;   // nanoseconds
    static constexpr std::uint32_t looks_again = 16; // no signal: its own time for another look has come

    // What one refused is charged to another account than `by`: a buffer's memory, also where a level above both
    // refuses it.
    static bool is_charged_elsewhere(const account_node& by, const memory_request& asked) noexcept {
        return (asked.charges_others && !asked.of_charge) || !by.is_below(waits_at(by, asked.why));
    }
    // The lowest account that is known, whose limits the request must fit.
    static const account_node& limited(const account_node& by, const memory_request& asked) noexcept {
        return is_account(asked.why) && is_charged_elsewhere(by, asked) ? *refuser_in(asked.why) : by;
    }
    static bool is_account(const charge_status& why) noexcept { return why.by == refuser::account; }
    // Requires that no account refuses.
    static shared_level& level_of(const memory_request& asked) noexcept {
        return asked.refused_at != nullptr ? *asked.refused_at : the_system();
    }
    static bool can_fit(const account_node& by, const charge_status& why, std::size_t bytes) noexcept {
        return is_account(why) ? by.can_ever_fit(bytes) : bytes <= why.limit;
    }
    wait_queue& queue() const noexcept { return const_cast<tree_node*>(w_.in)->waits(); }

    // Requires the lock, as the next one.
    void enter(account_tree& tree, const account_node& level) noexcept {
        w_.in = &level;
        queue().add(w_);
        if (!w_.patient) tree.recall_credit(const_cast<account_node&>(level)); // a refund into credit would wake nobody
    }
    void note_refusal(account_tree& tree, const memory_request& asked) noexcept {
        const charge_status& why = asked.why;
        w_.by = &limited(by_, asked);
        w_.at = &waits_at(by_, why);
        tree.waits_for_unseen -= is_freed_unseen(w_.short_of);
        w_.short_of = is_account(why) ? nullptr : &level_of(asked);
        tree.waits_for_unseen += is_freed_unseen(w_.short_of);
        w_.used = why.used;
        w_.held_back = why.outcome == charge_outcome::held_back;
        w_.passes = false;
        w_.bytes = why.requested;
        w_.least = w_.reserves == nullptr ? w_.bytes : 0;
        w_.also = {refuser_in(why), w_.undone_at(refuser_in(why))};
        w_.own = task_ != nullptr && w_.at->is_below(*task_);
        for (const tree_node* n = w_.by; n != w_.in && n != nullptr; n = n->parent())
            w_.least = passed_on(*n, w_.least);
    }
    // Waits for a shared level. True: it did not before, so it may have had memory meanwhile.
    bool waits_for_another(const memory_request& asked) noexcept {
        if (is_account(asked.why) || shared_.has(level_of(asked))) return false;
        bool is_new = false;
        {
            const locked_tree scope(in_);
            is_new = shared_.add(level_of(asked), &in_.tree());
        }
        full_fence();
        shared_.settle();
        return is_new;
    }
    // News of a shared level is for all of the tree; what the thread of `to` has given is none for it. Requires the
    // lock.
    struct announces {
        account_tree& tree;
        const waiter& to;
        void operator()(const shared_level& at, shared_level::news got) const noexcept {
            tree.note_missed_at(at, got == shared_level::news::own ? &to : nullptr);
        }
    };
    // Where its account is in another tree than what refuses: it ends where that account is closed.
    void watch_own_account(bool begins) noexcept {
        if (&by_.root() == &in_) return;
        const locked_tree scope(by_.root());
        begins ? scope.tree.watches.add(closed_) : scope.tree.watches.remove(closed_);
    }
    // Has caches emptied, and kept empty, of all objects below an account that refuses. True: so memory may be free
    // now. False: done before. Where accounts beside each other refuse in turn, the one above both is its place: each
    // widening leads up.
    bool widen(const account_node& at) noexcept {
        const account_node* level = &at;
        const bool widens = change_tree(in_, [&](tree_change& now) {
            if (at.is_below(*w_.in)) return false;
            while (!w_.in->is_below(*level)) level = level->above();
            queue().remove(w_);
            enter(now.tree, *level);
            return true;
        });
        if (widens && !w_.patient) settle_waits(*level);
        return widens;
    }
    // When it tries though nobody wakes it: one that waits for the system or a device, where others free memory that do
    // not know it; a patient one, since what is in credit and caches wakes nobody; and one that goes behind a due one,
    // if what its task holds is not known. And where a reclaimer tries again.
    std::uint64_t next_look(const memory_request& asked) noexcept {
        const account_node& at = waits_at(by_, asked.why);
        const std::uint64_t own = own_look(), others = at.tree().reclaimers.try_again_at(
                                                  at.shape(), [&](const reclaimer& r, const account& home) {
                                                      return is_asked_at(at, r, home);
                                                  });
        return others == UINT64_MAX ? own : min(own, max(others, sys::fine_clock::now() + 10 * ms));
    }
    ALLOT_OUTLINE_WARM std::uint64_t own_look() noexcept {
        const bool unseen = w_.short_of != nullptr && (w_.short_of->is_freed_unseen() || !shared_.has(*w_.short_of));
        if (w_.held_back && task_ == nullptr) pause_ = 50 * ms;
        else if (unseen) pause_ = pause_ == 0 ? ms : min(2 * pause_, 100 * ms);
        else if (w_.patient) pause_ = pause_ == 0 ? 10 * ms : min(2 * pause_, 100 * ms);
        else return sys::parking::never;
        return sys::fine_clock::now() + pause_;
    }

    // Takes the signal of the waker, which may be on its way: it must not come to a later waiter at this spot.
    void take_signal(std::uint32_t signals) noexcept {
        while ((signals & waiter::try_again) == 0) signals |= spot().wait_until(sys::parking::never);
    }
    sys::parking& spot() noexcept { return judged_ != nullptr ? judged_->spot : w_.own_spot; }
    // Whether the arbiter ends the request, by its last verdict; by this one, which is noted.
    bool is_ended() const noexcept { return verdict_ > verdict::try_again; }
    bool is_ended_by(verdict v) noexcept { return verdict_ = v, is_ended(); }
    // Returns: the signals that ended one sleep; 0: its time is over; `decided`: the arbiter has a verdict. One that looks
    // by itself looks at the end of its time, too, but for one that is held back.
    std::uint32_t sleep_once() noexcept {
        if (judged_ != nullptr && judged_->look() != verdict::sleep) return judged_thread::decided;
        const judged_thread::alarm next =
            judged_ != nullptr ? judged_->next_alarm(judged_->overdue_at()) : judged_thread::alarm{};
        const std::uint64_t until = min(min(next.at, look_at_), end_);
        const std::uint32_t signals = spot().wait_until(until);
        if (signals != 0) return signals;
        if (until == look_at_ || (until == end_ && look_at_ != sys::parking::never && !w_.held_back))
            return looks_again;
        if (until == end_) return 0;
        judged_->post({.what = next.what});
        return judged_thread::decided;
    }
    // Whether these signals end no wait: another account was closed, or an arbiter's came late.
    bool sleeps_on(std::uint32_t signals) noexcept {
        if ((signals & shared_level::given) != 0)
            change_tree(in_, [&](tree_change& now) {
                shared_.take_news(announces{now.tree, w_});
                now.look_from(in_);
            });
        if ((signals & (waiter::try_again | looks_again)) != 0 || is_cancelled()) return false;
        if ((signals & judged_thread::decided) != 0 && judged_->look() != verdict::sleep) return false;
        return signals != 0 && ((signals & closing_watch::closed) == 0 || by_.is_open());
    }

    const account_node& by_;
    account_node& in_; // the root of the tree that refuses; by_ may be in another one
    judged_thread* const judged_;
    const account_node* const task_; // what the thread's task holds is charged there; null: not known
    waiter w_;
    closing_watch closed_{spot()}; // of by_, if that is in another tree
    shared_waits shared_;
    const cancellation::sleeper cancelled_;
    const std::uint64_t end_;
    std::uint64_t look_at_ = sys::parking::never, pause_ = 0; // its next look, and the time before it
    bool tries_ = false, is_over_ = false, granted_ = false;
    verdict verdict_ = verdict::try_again;
};

// Whether a request waits that unused memory of the account may serve at once.
inline bool is_waited_for(const account_node& a) noexcept {
    if (!a.tree().has_waiters()) return false;
    const locked_tree scope(a);
    const tree_node* n = &a;
    while (n != nullptr && !n->waits().shuts()) n = n->parent();
    return n != nullptr;
}
// The request of this thread that waits, and is made again now, where what becomes unused is what it has taken, or its
// own product's: not in a call.
inline const waiter* trier_in(const account_tree& tree) noexcept {
    const waiter* const own = of_this_thread.trying;
    const bool is_own = own != nullptr && (own->undoes || !user_call::is_inside_any());
    return is_own && &account_node::of(*own->by).tree() == &tree ? own : nullptr;
}
ALLOT_OUTLINE_COLD void announce_unused(const account_node& a) noexcept {
    const judged_by judged = a.tree().judged;
    const bool reports = a.tree().frees.go_to_judge();
    a.tree().frees.add();
    if (a.tree().has_waiters()) {
        tree_change now{a};
        // What a request has taken in vain was unused before: only those that looked during its try have missed it.
        if (const waiter* const from = trier_in(now.tree)) {
            now.tree.note_missed([&](const waiter& w) {
                const bool looked = w.trying || w.recalls_credit() || w.slept >= from->began;
                return &w != from && looked && (w.trying || a.is_below(*w.at));
            });
        } else {
            for (const tree_node* n = &a; n != nullptr; n = n->parent())
                if (const_cast<tree_node*>(n)->waits().announce()) now.tree.set_asks_for_queued(true);
            if (a.has_children()) { // reclaimers here may help below, too (reclaimer::reach)
                now.tree.look_at_all();
                now.tree.note_missed([&](const waiter& w) {
                    const tree_node& level = w.trying ? *w.in : *w.at; // `at`: while it sleeps
                    return &level != &a && level.is_below(a);
                });
            }
        }
        now.look_from(a);
        now.unlock_and_wake();
    }
    if (reports) // how much is not known
        judged.by->post(
            {.what = oom::event::refunded, .detail = static_cast<std::uint8_t>(judged.kind), .free = SIZE_MAX});
}
// Lets requests that wait ask again: memory charged here has become unused, or a reclaimer here has more to free. Under
// any lock: those that wait without a thread are left to the thread's free_ahead(), or that of another one. Returns:
// whether there may be some.
inline bool notify_unused(const account_node& a) noexcept {
    const account_tree& tree = a.tree();
    if (ALLOT_LIKELY(!tree.has_waiters() && !tree.frees.are_wanted())) return false;
    return announce_unused(a), true;
}

// Whether the arbiter's verdict ends the request, which `why` says then.
inline bool ends_by(verdict v, charge_status& why) noexcept {
    if (v == verdict::roll_back) why = with_verdict(why, charge_outcome::rolled_back);
    if (v == verdict::split) why = with_verdict(why, charge_outcome::split);
    if (v == verdict::removed) why = with_verdict(why, charge_outcome::removed);
    return v > verdict::try_again;
}
// Asks the arbiter, if it knows the thread, what becomes of a request that was refused and does not wait yet. True: it
// has ended the request, and `why` says how; one that can never fit is split. May sleep while the task is rolled back.
// Requires: the thread holds no lock of allot.
inline bool ends_before_its_wait(const account_node& by, memory_request& asked, bool is_first) noexcept {
    charge_status& why = asked.why;
    const account_node& at = why.at != nullptr ? *refuser_in(why) : by;
    judged_thread* const mine = judged_thread_of(at);
    if (mine == nullptr) return false;
    if (const charge_outcome as = mine->injected;
        why.outcome == charge_outcome::injected && as != charge_outcome::fits) {
        mine->injected = charge_outcome::fits;
        mine->post({.what = oom::event::injected, .detail = static_cast<std::uint8_t>(as)});
        return why = with_verdict(why, as), true;
    }
    if (!waiting_request::is_at_limit(by, why)) return false;
    verdict v = is_first ? mine->post(waiting_request::request(oom::event::requested, at, why)) : mine->look();
    if (v == verdict::goes_back) v = mine->wait_until_ready();
    if (v <= verdict::try_again && !waiting_request::is_possible(by, asked))
        v = mine->post(waiting_request::request(oom::event::never_fits, at, why));
    if (v > verdict::try_again) mine->post({.what = oom::event::thrown});
    return ends_by(v, why);
}

// The wait of a request, as a step of the ladder: it is registered at the first call, then made once more; at each
// further call it has been made in vain, and sleeps.
class wait_step {
  public:
    wait_step() = default;
    wait_step(const wait_step&) = delete;
    wait_step& operator=(const wait_step&) = delete;
    ~wait_step() {
        if (counted_ != nullptr) counted_->fetch_sub(1, std::memory_order_relaxed);
    }

    // served: make the attempt now; moved_on: it may not wait; gave_up: `why` says how it ended. Requires: the thread
    // holds no lock. The loop goes on where another tree refuses now: the request is registered there.
    ALLOT_OUTLINE_WARM climbed wait(const account_node& by, memory_request& asked) noexcept {
        charge_status& why = asked.why;
        if (asked.wait == nullptr && !(asked.judged && judged_thread_of(by) != nullptr)) return climbed::moved_on;
        if (!std::exchange(begun_, true)) {
            static_cast<void>(end_of(asked)); // its time begins
            constexpr bool is_first = true;
            if (ends_before_its_wait(by, asked, is_first)) return climbed::gave_up;
            if ((counted_ = asked.waiting) != nullptr) counted_->fetch_add(1, std::memory_order_seq_cst);
        }
        if (here_) here_->end_try(false);
        for (;;) {
            const bool is_new = !here_;
            if (is_new && !waiting_request::is_possible(by, asked)) break;
            if (is_new) here_.emplace(by, asked, end_);
            // A new one is made once more, but for one that goes behind a due one.
            const next then = is_new && here_->tries() ? next::attempt : sleep(by, asked);
            if (then == next::attempt && here_->begin_try(why)) return climbed::served;
            const verdict how = here_->last_verdict(); // read before the waiter ends, as the next one
            const bool cancelled = here_->is_cancelled();
            here_.reset();
            if (ends_by(how, why)) return climbed::gave_up;
            if (cancelled) why.outcome = charge_outcome::cancelled;
            if (then != next::other_level) return gave_up(by, why); // in time, by a cancellation, or the arbiter's no
        }
        // Nothing to wait for: what refuses can never grant it, or is no limit, or the account was closed meanwhile.
        return ends_before_its_wait(by, asked, false) ? climbed::gave_up : gave_up(by, why);
    }
    void granted() noexcept {
        if (here_) here_->end_try(true);
    }
    // When the request is to end, on fine_clock. It is set where the request first may have to wait, for a sweep too.
    std::uint64_t end_of(const memory_request& asked) noexcept {
        if (!std::exchange(has_end_, true)) end_ = asked.wait != nullptr ? asked.wait->deadline() : sys::parking::never;
        return end_;
    }
    // Whether its time is over, or it was cancelled. A request without any time does what one does that never waits.
    bool is_over(const memory_request& asked) noexcept {
        if (asked.wait == nullptr || asked.wait->most.ms == 0) return false;
        return sys::parking::is_past(end_of(asked)) || (asked.wait->end != nullptr && asked.wait->end->is_cancelled());
    }

  private:
    enum class next : std::uint8_t {
        attempt,
        other_level, // what refuses now is in another tree, or can never grant it
        end,
    };
    next sleep(const account_node& by, const memory_request& asked) noexcept {
        if (!waiting_request::is_possible(by, asked) || !here_->is_in_tree_of(asked.why)) return next::other_level;
        return here_->can_fit_or_tell(asked.why) && here_->sleep(asked) ? next::attempt : next::end;
    }
    static climbed gave_up(const account_node& by, charge_status& why) noexcept {
        if (waiting_request::may_be_granted_later(why) && !by.is_open()) why = why_closed(by, why.requested);
        return climbed::gave_up;
    }

    bool begun_ = false, has_end_ = false;
    std::uint64_t end_ = 0;
    std::atomic<std::uint32_t>* counted_ = nullptr;
    std::optional<waiting_request> here_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
