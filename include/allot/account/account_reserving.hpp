// Reservations of an account: how they are made, wait, and end.
//
//   reserve()            one attempt after the other, up the ladder; a thread waits (account_waiting.hpp)
//   reserve_or_queue()   the same without a wait; what memory may serve later is queued, and no thread waits
//     grant()            at an unlock that freed memory for it: one at a time, in the order of the queue
//     call_granted()     after it, on the same thread; then the next one is looked for
//   end_reservation()    returns what is unused
//
// A queued reservation recalls the credit below the level that refuses it, so each refund there looks for it. It never
// waits for held bytes, and calls no reclaimer: the thread that frees the memory may hold some, or be in a release.
// Cost: the tree's lock. Threads: any; those with a tree as a parameter require its lock.
#pragma once

#include <allot/account/account_charge.hpp>
#include <allot/account/account_closing.hpp>
#include <allot/account/account_node.hpp>
#include <allot/account/account_reservation.hpp>
#include <allot/account/account_steps.hpp>
#include <allot/account/charge_request.hpp>
#include <allot/account/memory_request.hpp>
#include <allot/account/queued_reservation.hpp>
#include <allot/account/wait_order.hpp>
#include <allot/core/error.hpp>
#include <allot/core/min_max.hpp>
#include <allot/reclaim/wait_limit.hpp>
#include <allot/sync/full_fence.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

struct reserving {
    // Waits patiently.
    static account_reservation reserve(account_node& a, std::size_t bytes, reserves kind,
                                       const wait_limit& wait) noexcept {
        account_reservation made{a, bytes, kind};
        climb(made, wait);
        if (!made.status_) made.by_ = nullptr, made.bytes_ = 0;
        return made;
    }
    // Without a wait. The status is `queued` if `later` waits for it.
    static account_reservation reserve_or_queue(account_node& a, std::size_t bytes, reserves kind,
                                                queued_reservation& later) noexcept {
        account_reservation made{a, bytes, kind};
        if (later.is_queued()) made.status_ = {.outcome = charge_outcome::misused, .requested = bytes};
        else if (climb(made, time_span{0}); !made.status_ && waiting_request::may_be_granted_later(made.status_))
            queue(made, later);
        if (!made.status_) made.by_ = nullptr, made.bytes_ = 0;
        return made;
    }
    // Moves bytes of a floor from one child of a parent to another. Levels above see more where the first uses them.
    static charge_status move(account_reservation& from, account_reservation& into, std::size_t bytes) noexcept {
        const auto is_floor = [](const account_reservation& r) {
            return r.by_ != nullptr && r.kind_ == reserves::floor;
        };
        const bool may = is_floor(from) && is_floor(into) && bytes <= from.bytes_ && from.by_->above() != nullptr &&
                         from.by_->above() == into.by_->above();
        if (!may) return {.outcome = charge_outcome::misused, .requested = bytes};
        account_node &a = *from.by_, &to = *into.by_;
        const locked_tree scope(a);
        for (account_node* const n : {&a, &to}) {
            if (!n->is_open()) return refused_closed(*n, bytes);
            scope.tree.recall_credit(*n); // the credit of leaves below counts in used()
        }
        if (&a != &to) {
            const reservation_need need = need_of(to, reserves::floor, bytes);
            if (!need.fits) return to.status(charge_outcome::over_limit, bytes, need.before, to.totals().limit());
            const std::size_t had = a.totals().reserved(),
                              left = a.totals().reserved_with_floor(a.totals().floor() - bytes, a.used());
            a.totals().add_floor(0 - bytes);
            a.reserve(a.totals().reserved_at_most(left));
            const tree_node::limit_check found = tree_node::check_levels(a.parent(), need.more);
            if (!found.charged()) { // what the account uses of these bytes stays charged
                a.totals().add_floor(bytes);
                a.reserve(had);
                return account_node::status_of(found, bytes);
            }
            to.totals().add_floor(bytes);
            to.reserve(to.totals().reserved_at_most(need.after));
        }
        from.bytes_ -= bytes, into.bytes_ += bytes;
        scope.tree.acts_at_unlock = scope.tree.looks_at_all = true;
        return {};
    }
    // Whether a waiter's request has come to its end, granted or refused for good. Else it sleeps, in the queue of the
    // level that refuses it now.
    static bool end_try(waiter& w, account_tree& tree, account_reservation& made) noexcept {
        account_node& a = *made.by_;
        for (;;) {
            made.status_ = attempt(made, never_waits, nullptr, &w);
            if (made.status_ || !a.is_open() || !a.can_ever_fit(made.bytes_)) break;
            const account_node& level = *refuser_in(made.status_);
            w.at = &level;
            w.held_back = made.status_.outcome == charge_outcome::held_back;
            w.passes = false;
            if (level.is_below(*w.in)) {
                queue_of(w).sleep(w, tree.waits);
                return tree.looks_at_all = true, false; // for those that did not fit beside its try
            }
            queue_of(w).remove(w);
            enter(w, tree, level);
        }
        w.queued->leave(tree);
        tree.looks_at_all = true; // for those behind it
        if (!made.status_) made.by_ = nullptr, made.bytes_ = 0;
        return true;
    }
    static granted_call grant(waiter& w, account_tree& tree) noexcept {
        queued_reservation& it = *w.queued;
        account_node& a = const_cast<account_node&>(account_node::of(*w.by));
        granted_call now{&it, &a, account_reservation{a, w.bytes, w.reserving}};
        if (!end_try(w, tree, now.made)) return now.made.by_ = nullptr, granted_call{};
        it.begin_call();
        static_cast<void>(a.life.enter_refund());
        return now;
    }

  private:
    // Requires the lock. `request`: recalls credit, and may wait for held bytes; null: it was recalled, and no thread
    // waits for `queued`.
    static charge_status attempt(account_reservation& made, const charge_wait& most, charge_request* request,
                                 const waiter* queued) noexcept {
        account_node& a = *made.by_;
        account_tree& tree = a.tree();
        const std::size_t bytes = made.bytes_;
        for (;;) {
            if (request != nullptr) tree.recall_credit(a); // the credit of leaves below counts in used()
            if (ALLOT_UNLIKELY(!a.is_open())) return refused_closed(a, bytes);
            const reservation_need need = need_of(a, made.kind_, bytes);
            if (!need.fits) return a.status(charge_outcome::over_limit, bytes, need.before, a.totals().limit());
            tree_node::limit_check found = tree_node::check_levels(a.parent(), need.more);
            if (request != nullptr && request->retry(found)) continue;
            if (!found.charged()) return account_node::status_of(found, bytes);
            if (ALLOT_UNLIKELY(tree.has_waiters()) && a.above() != nullptr)
                if (const waiter* const due = queued != nullptr ? goes_behind(*a.above(), need.more, *queued)
                                                                : goes_behind(*a.above(), need.more, most))
                    return status_behind(*due, bytes);
            if (made.kind_ == reserves::look) return made.by_ = nullptr, made.bytes_ = 0, charge_status{};
            made.used_before_ = a.used();
            made.kind_ == reserves::to_come ? a.totals().add_to_come(bytes) : a.totals().add_floor(bytes);
            a.reserve(a.totals().reserved_at_most(need.after));
            a.life.counts().add_locked(open_counts::users, 1);
            tree.reservations += made.kind_ == reserves::to_come;
            tree.acts_at_unlock = tree.looks_at_all = true; // for requests that the reservation covers
            return {};
        }
    }
    static void climb(account_reservation& made, const wait_limit& wait) noexcept {
        account_node& a = *made.by_;
        const wait_limit most = patient(wait);
        memory_request asked{made.bytes_};
        asked.kind = made.kind_;
        const auto again = [&] {
            const locked_tree scope(a);
            charge_request request{scope.tree, charge_mode::checked};
            return (asked.why = made.status_ = attempt(made, {.wait = &most}, &request, nullptr)).charged();
        };
        if (again()) return free_ahead(a);
        if (made.kind_ == reserves::look) return; // nothing is freed for it
        if (wait.most.ms != 0) asked.wait = &most;
        charge_again(a, asked, again);
        made.status_ = asked.why;
    }
    static wait_queue& queue_of(const waiter& w) noexcept { return const_cast<tree_node*>(w.in)->waits(); }
    static void enter(waiter& w, account_tree& tree, const account_node& level) noexcept {
        w.in = &level;
        queue_of(w).add(w);
        auto& within = const_cast<account_node&>(level);
        while (tree.recall_some(within).more) {
        } // with the lock: the tree may end without it
        static_cast<void>(tree.settle_reservations_below(within));
    }
    static void queue(account_reservation& made, queued_reservation& later) noexcept {
        account_node& a = *made.by_;
        waiter* w = nullptr;
        {
            const locked_tree scope(a);
            if (!a.is_open() || !a.can_ever_fit(made.bytes_)) return;
            const account_node& level = *refuser_in(made.status_);
            w = &later.begin(a, level, made.bytes_, made.kind_);
            scope.tree.add(*w);
            enter(*w, scope.tree, level);
        }
        full_fence(); // a refund that is deferred meanwhile sees the waiter, or the request sees the refund
        const locked_tree scope(a);
        if (end_try(*w, scope.tree, made)) return;
        later.is_queued_at(a);
        made.status_.outcome = charge_outcome::queued;
    }
};

// Ends a reservation, but for the bytes that it keeps. The part of bytes to come that was charged since it began stays
// reserved for others: they promise bytes beyond it.
inline void end_reservation(account_node& a, std::size_t bytes, std::size_t keeps, std::size_t used_before,
                            reserves kind) noexcept {
    const locked_tree scope(a); // its destructor may end the account
    const bool to_come = kind == reserves::to_come, ends = keeps == 0;
    const std::size_t fewer = bytes - keeps;
    scope.tree.looks_at_all = true;
    scope.tree.reservations -= to_come && ends;
    if (!a.life.is_closed()) {
        scope.tree.recall_credit(a);
        const level_totals& totals = a.totals();
        const std::size_t used = a.used(), charged = max(used, used_before) - used_before,
                          unused = min(fewer, bytes - min(bytes, charged));
        std::size_t reserved = totals.reserved();
        if (to_come) {
            a.totals().add_to_come(0 - fewer);
            reserved = max(reserved - min(reserved, unused), totals.floor());
        } else {
            reserved = totals.reserved_with_floor(totals.floor() - fewer, used);
            a.totals().add_floor(0 - fewer);
        }
        a.reserve(totals.reserved_at_most(reserved));
    }
    if (ends) a.life.counts().add_locked(open_counts::users, -1);
    end_if_drained(a);
}

inline waiter* take_queued(waiter*& woken) noexcept {
    for (waiter** at = &woken; *at != nullptr; at = &(*at)->next_woken)
        if (waiter* const w = *at; w->queued != nullptr) return *at = w->next_woken, w;
    return nullptr;
}
ALLOT_COLD inline void grant(waiter& w, account_tree& tree, granted_call& to) noexcept {
    to = reserving::grant(w, tree);
}
ALLOT_COLD inline void call_granted(granted_call next) noexcept {
    while (next.to != nullptr) {
        granted_call now = std::exchange(next, {});
        account_node& a = *now.by;
        now.to->run(a, std::move(now.made));
        {
            locked_tree scope(a, leave_drained);
            scope.leaves_granted_to(next);
        }
        a.life.leave_refund(); // the last access: the account, and its root, may end
    }
}
ALLOT_COLD inline void end_queued(account_node& a) noexcept {
    for (;;) {
        granted_call next;
        {
            locked_tree scope(a, leave_drained);
            waiter* w = scope.tree.waits.all.first();
            while (w != nullptr && (w->queued == nullptr || w->by != &a || w->trying))
                w = scope.tree.waits.all.after(*w);
            if (w == nullptr) return;
            const_cast<tree_node*>(w->in)->waits().begin_try(*w, scope.tree.waits);
            next = reserving::grant(*w, scope.tree);
        }
        call_granted(std::move(next));
    }
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
