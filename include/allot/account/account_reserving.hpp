// Reservations of an account: how they are made, wait, and end.
//
//   reserve()            one attempt after the other, up the ladder; a thread waits (account_waiting.hpp)
//   reserve_or_queue()   the same without a wait; what memory may serve later is queued, and no thread waits
//     grant()            at an unlock that freed memory for it: one at a time, in the order of the queue
//     call_granted()     after it, on the same thread; then the next one is looked for
//   end_reservation()    returns what is unused
//
// A queued reservation recalls the credit below the level that refuses it, so each refund there looks for it. It never
// waits for held bytes, and a refund or release calls no reclaimer for it: the thread may hold some, or locks of a
// user. free_ahead() does, at each piece of news of idle memory and reclaimers.
// Cost: the tree's lock. Threads: any; those with a tree as a parameter require its lock.
#pragma once

#include <allot/account/account_charge.hpp>
#include <allot/account/account_climb.hpp>
#include <allot/account/account_closing.hpp>
#include <allot/account/account_node.hpp>
#include <allot/account/account_reservation.hpp>
#include <allot/account/charge_request.hpp>
#include <allot/account/memory_request.hpp>
#include <allot/account/queued_reservation.hpp>
#include <allot/account/reservation_batch.hpp>
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
    static charge_status reserve(const reservation_batch& b, const wait_limit& wait) noexcept {
        const wait_limit most = patient(wait);
        memory_request asked{b.bytes()};
        asked.of_charge = true;
        asked.reserves = &b;
        const auto again = [&] {
            const locked_tree scope(*b.by);
            charge_request request{scope.tree, charge_mode::checked};
            return (asked.why = attempt(b, {.wait = &most}, &request, nullptr)).charged();
        };
        if (again()) {
            free_ahead(*b.by);
        } else if (b.all.front().kind != reserves::look) { // nothing is freed for that
            if (wait.most.ms != 0) asked.wait = &most;
            static_cast<void>(request_again(*b.by, asked, again));
        }
        return asked.why;
    }
    static account_reservation reserve(account_node& a, std::size_t bytes, reserves kind,
                                       const wait_limit& wait) noexcept {
        reservation_change only{&a, kind, bytes, {}};
        return with_status(only.made, reserve({&a, {&only, 1}}, wait));
    }
    // Without a wait. The status is `queued` if `later` waits for it.
    static charge_status reserve_or_queue(const reservation_batch& b, queued_reservation& later) noexcept {
        if (later.is_queued()) return {.outcome = charge_outcome::misused, .requested = b.bytes()};
        const free_news::pass news(b.by->tree().frees);
        charge_status s = reserve(b, time_span{0});
        if (!s && waiting_request::may_be_granted_later(s)) s = queue(b, s, later, news), free_ahead(*b.by);
        return s;
    }
    static account_reservation reserve_or_queue(account_node& a, std::size_t bytes, reserves kind,
                                                queued_reservation& later) noexcept {
        reservation_change only{&a, kind, bytes, {}};
        return with_status(only.made, reserve_or_queue({&a, {&only, 1}}, later));
    }
    // Moves bytes of a floor from one child of a parent to another. Levels above see more where the first uses them.
    static charge_status move(account_reservation& from, account_reservation& into, std::size_t bytes) noexcept {
        const auto is_floor = [](const account_reservation& r) {
            return r.by_ != nullptr && r.kind_ == reserves::floor;
        };
        const bool may = is_floor(from) && is_floor(into) && bytes <= from.bytes_ && from.by_->above() != nullptr &&
                         from.by_->above() == into.by_->above();
        if (!may) return {.outcome = charge_outcome::misused, .requested = bytes};
        const locked_tree scope(*from.by_);
        for (const account_reservation* const r : {&from, &into})
            if (!r->by_->is_open()) return refused_closed(*r->by_, bytes);
        if (from.by_ == into.by_) return from.bytes_ -= bytes, into.bytes_ += bytes, charge_status{};
        reservation_change both[]{{from.by_, reserves::floor, from.bytes_ - bytes, {}},
                                  {into.by_, reserves::floor, into.bytes_ + bytes, {}}};
        both[0].made.swap(from), both[1].made.swap(into);
        charge_request request{scope.tree, charge_mode::checked};
        const charge_status s = attempt({both[0].of->above(), both}, never_waits, &request, nullptr);
        both[0].made.swap(from), both[1].made.swap(into);
        return s;
    }
    // Whether a waiter's request has come to its end, granted or refused for good, as `s` says. Else it sleeps, in the
    // queue of the level that refuses it now.
    static bool end_try(waiter& w, account_tree& tree, charge_status& s) noexcept {
        for (;;) {
            s = attempt(*w.reserves, never_waits, nullptr, &w);
            if (s || !w.reserves->can_ever_fit()) break;
            const account_node* level = refuser_in(s);
            const bool moves = w.queued->moves_to(*level);
            w.at = level;
            w.held_back = s.outcome == charge_outcome::held_back;
            w.passes = false;
            if (level->is_below(*w.in)) {
                queue_of(w).sleep(w, tree.waits);
                if (moves) tree.note_missed(w);
                return tree.looks_at_all = true, false; // for those that did not fit beside its try
            }
            queue_of(w).remove(w);
            while (!w.in->is_below(*level)) level = level->above(); // of two accounts beside each other
            enter(w, tree, *level);
            if (moves) tree.note_missed(w);
        }
        w.queued->leave(tree);
        tree.looks_at_all = true; // for those behind it
        return true;
    }
    static granted_call grant(waiter& w, account_tree& tree) noexcept {
        queued_reservation& it = *w.queued;
        account_node& by = *w.reserves->by;
        charge_status s;
        if (!end_try(w, tree, s)) {
            if (!w.looks) return {};
            it.leave(tree), s = {}; // there is news for it, though the bytes are not free
        }
        it.begin_call();
        static_cast<void>(by.life.enter_refund());
        account_reservation made = it.take();
        return {&it, &by, with_status(made, s)};
    }

  private:
    static account_reservation with_status(account_reservation& made, const charge_status& s) noexcept {
        return made.status_ = s, std::move(made);
    }
    // Checks all levels and grants, with one hold of the lock, which it requires. `request`: recalls credit, and may
    // wait for held bytes; null: it was recalled, and no thread waits for `queued`.
    static charge_status attempt(const reservation_batch& b, const charge_wait& most, charge_request* request,
                                 const waiter* queued) noexcept {
        account_tree& tree = b.by->tree();
        for (;;) {
            if (request != nullptr) // the credit of leaves below counts in used()
                for (const reservation_change& c : b.all) tree.recall_credit(*c.of);
            const reservation_batch::need_now need = b.need();
            if (const reservation_change* const c = need.refused) {
                if (ALLOT_UNLIKELY(!c->of->is_open())) return refused_closed(*c->of, c->wanted);
                return c->of->status(charge_outcome::over_limit, c->wanted, c->need().before, c->of->totals().limit());
            }
            tree_node::limit_check found = tree_node::check_levels(b.above(), need.more);
            if (request != nullptr && request->retry(found)) continue;
            if (!found.charged()) return account_node::status_of(found, b.can_ever_fit() ? need.more : b.bytes());
            if (ALLOT_UNLIKELY(tree.has_waiters()) && b.above() != nullptr)
                if (const waiter* const due = queued != nullptr ? goes_behind(*b.above(), need.more, *queued)
                                                                : goes_behind(*b.above(), need.more, most))
                    return status_behind(*due, need.more);
            for (const bool grows : {false, true}) // so that no level sees more than before, or then
                for (reservation_change& c : b.all)
                    if (c.any() && c.grows() == grows) apply(c);
            return {};
        }
    }
    static void apply(reservation_change& c) noexcept {
        account_node& a = *c.of;
        if (c.kind == reserves::look) return;
        const std::size_t after = c.need().after, more = c.wanted - c.made.bytes_;
        c.kind == reserves::to_come ? a.totals().add_to_come(more) : a.totals().add_floor(more);
        const std::size_t used = a.used();
        a.reserve(a.totals().reserved_at_most(after));
        if (c.made.by_ == nullptr) {
            c.made.used_before_ = used;
            a.life.counts().add_locked(open_counts::users, 1);
            a.tree().reservations += c.kind == reserves::to_come;
        }
        c.made.by_ = &a, c.made.bytes_ = c.wanted, c.made.kind_ = c.kind;
        a.tree().acts_at_unlock = a.tree().looks_at_all = true; // for requests that the reservation covers
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
    // `news`: since before it was refused.
    static charge_status queue(const reservation_batch& b, charge_status s, queued_reservation& later,
                               const free_news::pass& news) noexcept {
        waiter* w = nullptr;
        {
            const locked_tree scope(*b.by);
            if (!b.can_ever_fit()) return s;
            w = &later.begin(b, s.requested);
            scope.tree.add(*w);
            enter(*w, scope.tree, *refuser_in(s));
        }
        full_fence(); // a refund that is deferred meanwhile sees the waiter, or the request sees the refund
        const locked_tree scope(*b.by);
        if (end_try(*w, scope.tree, s)) {
            if (account_reservation made = later.take()) made.swap(b.all.front().made);
            return s;
        }
        later.is_queued_now();
        if (news.any()) scope.tree.note_missed(*w);
        return s.outcome = charge_outcome::queued, s;
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
            while (w != nullptr && (w->queued == nullptr || !w->reserves->concerns(a) || w->trying))
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
