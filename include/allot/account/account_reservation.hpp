// A reservation of an account: bytes of the parent that the account has for sure until the reservation ends.
//
//     // 64 MiB further bytes fit, again and again
//     if (const allot::account_reservation sure = sort.reserve_for(64_MiB, 1_s)) merge();
//     else spill();
//     // 64 MiB in all, used or not
//     const allot::account_reservation least = query.reserve_floor_for(64_MiB, 1_s);
//
//   bytes to come   beyond what is used: a charge takes them, a refund fills them again; what was used before and is
//                   refunded returns to the parent
//   a floor         what the account counts at its parent at least
//
// A batch of several accounts below one parent is granted all or none (task/quota.hpp). What it needs is computed at
// each attempt, from what is in use now; bytes that an account gives up, and does not use, serve the others.
// Invariant: while several are held, they add up. Cost: 80 bytes; the tree's lock when it begins and ends, and at each
// refund while bytes to come are reserved; the account and those below keep no credit then. Threads: one at a time; the
// account's charges by any.
// Source: Velox's maybeReserve, 2022, whose release() returns the reservations of all callers, and which keeps bytes
// that were used before.
#pragma once

#include <allot/account/account_charge.hpp>
#include <allot/account/account_climb.hpp>
#include <allot/account/account_life.hpp>
#include <allot/account/charge_request.hpp>
#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/min_max.hpp>
#include <allot/reclaim/wait_limit.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/request/wait_queue.hpp>
#include <allot/tree/account_node.hpp>
#include <allot/tree/level_totals.hpp>
#include <allot/tree/open_counts.hpp>
#include <allot/tree/tree_change.hpp>
#include <allot/tree/wait_order.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace allot::inline ALLOT_ABI {

namespace detail {

class queued_reservation; // queued_reservation.hpp
struct reserving;

// Ends a reservation, but for the bytes that it keeps. The part of bytes to come that was charged since it began stays
// reserved for others: they promise bytes beyond it.
ALLOT_OUTLINE_WARM void end_reservation(const reserved_bytes& has, std::size_t keeps) noexcept {
    account_node& a = *has.by;
    const bool to_come = has.kind == reserves::to_come, ends = keeps == 0;
    const std::size_t fewer = has.bytes - keeps;
    change_tree(a, [&](tree_change& now) {
        now.tree.look_at_all();
        if (a.totals().owed() != 0) now.tree.note_owed_less();
        now.tree.reservations -= to_come && ends;
        if (!a.life.is_closed()) {
            now.tree.recall_credit(a);
            const level_totals& totals = a.totals();
            const std::size_t used = a.used(), charged = max(used, has.used_before) - has.used_before,
                              unused = min(fewer, has.bytes - min(has.bytes, charged));
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
    }); // may end the account
}

} // namespace detail

/// What account::reserve_for() and reserve_floor_for() return; true if the bytes are reserved. It returns them when it
/// is destroyed.
/// Requires: the account outlives it. It delays the end of a closing account, as an open buffer does.
class [[nodiscard]] account_reservation {
  public:
    /// Holds nothing.
    account_reservation() noexcept = default;
    account_reservation(account_reservation&& other) noexcept { swap(other); }
    account_reservation& operator=(account_reservation&& other) noexcept {
        account_reservation{std::move(other)}.swap(*this);
        return *this;
    }
    /// Calls release().
    ~account_reservation() { release(); }

    /// Returns the bytes to the parent now, but for those in use. Idempotent.
    void release() noexcept {
        const detail::reserved_bytes had = std::exchange(has_, {});
        if (had.by != nullptr) detail::end_reservation(had, 0); // may call back, and the callback refill the object
    }
    /// Keeps that many bytes, and returns the others as release() does. It never grows.
    void shrink_to(std::size_t bytes) noexcept {
        if (bytes == 0) return release();
        if (has_.by == nullptr || bytes >= has_.bytes) return;
        const detail::reserved_bytes had = has_;
        has_.bytes = bytes;
        detail::end_reservation(had, bytes);
    }
    /// Moves bytes of this floor to that of another account with the same parent, which sees no change, but for what
    /// the two use: bytes in use stay charged, so they count twice, if that fits.
    /// Returns: a status that fits; else nothing has changed: a limit refuses, one is closed, or this is misused: it has
    /// fewer bytes, one of them is no floor, or the parents differ.
    charge_status move_to(account_reservation& to, std::size_t bytes) noexcept;

    explicit operator bool() const noexcept { return has_.by != nullptr; }
    /// Bytes that are reserved; 0 if refused or released.
    std::size_t bytes() const noexcept { return has_.bytes; }
    /// Why the bytes were refused; else a status that fits.
    const charge_status& status() const noexcept { return status_; }

    void swap(account_reservation& other) noexcept {
        std::swap(has_, other.has_);
        std::swap(status_, other.status_);
    }

  private:
    friend detail::reserving;
    friend detail::queued_reservation;
    // Of what is reserved already, or was refused.
    account_reservation(const detail::reserved_bytes& has, const charge_status& s) noexcept : has_(has), status_(s) {}
    // It no longer owns them.
    detail::reserved_bytes take() noexcept { return std::exchange(has_, {}); }

    detail::reserved_bytes has_;
    charge_status status_;
};

namespace detail {

// One reservation: it is to have `wanted` bytes in all.
struct reservation_change {
    struct need_now {
        std::size_t before; // bytes that the account has used, or reserved, without it
        std::size_t after;  // reserved with it
        bool fits;          // within the account's own limit
    };

    account_node* of;
    reserves kind;
    std::size_t wanted;
    account_reservation made; // what it has

    // False: the request keeps it as it is.
    bool any() const noexcept { return wanted != made.bytes() || !made; }
    bool grows() const noexcept { return wanted > made.bytes(); }
    need_now need() const noexcept {
        const level_totals& totals = of->totals();
        const std::size_t used = totals.total(), // it counts refunds that others defer meanwhile; used() does not
            all = max(used, totals.reserved()), has = made.bytes();
        const bool to_come = kind != reserves::floor;
        const std::size_t before = to_come ? all : totals.floor() - has;
        if (grows() && (wanted - has > max_charged - all || before + wanted > totals.limit()))
            return {before, 0, false};
        return {before, to_come ? before + wanted : totals.reserved_with_floor(before + wanted, used), true};
    }
};

struct reservation_batch final : reserved_need {
    reservation_batch() noexcept = default;
    // `of`: the account, or the parent of several; `changes`: of different accounts; not empty.
    reservation_batch(account_node& of, std::span<reservation_change> changes) noexcept : by(&of), all(changes) {}

    bool is_of_one() const noexcept { return all.front().of == by; }
    account_node* above() const noexcept override { return is_of_one() ? by->above() : by; }
    ALLOT_OUTLINE_WARM needs need() const noexcept override {
        std::size_t more = 0, fewer = 0; // what one is owed no more, another one is
        for (const reservation_change& c : all) {
            if (!c.any()) continue;
            const reservation_change::need_now need = c.need();
            if (!c.of->is_open() || !need.fits) return {0, c.of, c.wanted, need.before};
            const level_totals& totals = c.of->totals();
            const std::size_t now = totals.subtree_charge(), then = totals.subtree_charge_of(need.after);
            more = sum_or_max(more, max(now, then) - now);
            fewer += max(now, then) - then + totals.owed_without(need.after);
        }
        return {.more = more - min(more, fewer)};
    }
    // That the accounts have in all then, at least.
    std::size_t bytes() const noexcept {
        std::size_t sum = 0;
        for (const reservation_change& c : all) sum = sum_or_max(sum, c.wanted);
        return sum;
    }
    // A look waits for a higher limit, too.
    ALLOT_OUTLINE_WARM bool can_ever_fit() const noexcept override {
        if (all.front().kind == reserves::look) return by->is_open() && all.front().wanted <= max_charged;
        for (const reservation_change& c : all)
            if (c.any() && (!c.of->is_open() || (c.grows() && !c.of->totals().can_ever_fit(c.wanted)))) return false;
        return above() == nullptr || above()->can_ever_fit(bytes());
    }
    bool concerns(const tree_node& a) const noexcept override {
        for (const reservation_change& c : all)
            if (c.of == &a && c.any()) return true;
        return by == &a;
    }

    account_node* by = nullptr;
    std::span<reservation_change> all;
};

struct reserving {
    // Waits patiently.
    ALLOT_OUTLINE_WARM static charge_status reserve(const reservation_batch& b, const wait_limit& wait) noexcept {
        const wait_limit most = patient(wait);
        memory_request asked{b.bytes()};
        asked.of_charge = true;
        asked.reserves = &b;
        const auto again = [&] {
            asked.why = change_tree(*b.by, [&](tree_change& now) {
                charge_request request{now.tree, charge_mode::checked};
                return attempt(b, {.wait = &most}, &request, nullptr);
            });
            return asked.why.charged();
        };
        if (again()) {
            free_ahead(*b.by);
        } else if (b.all.front().kind != reserves::look) { // nothing is freed for that
            if (wait.most.ms != 0) asked.wait = &most;
            static_cast<void>(request_again(*b.by, asked, again));
        }
        return asked.why;
    }
    ALLOT_OUTLINE_WARM static account_reservation reserve(account_node& a, std::size_t bytes, reserves kind,
                                                          const wait_limit& wait) noexcept {
        reservation_change only{&a, kind, bytes, {}};
        const charge_status s = reserve({a, {&only, 1}}, wait);
        return {only.made.take(), s};
    }
    // Moves bytes of a floor from one child of a parent to another. Levels above see more where the first uses them.
    ALLOT_OUTLINE_WARM static charge_status move(account_reservation& from, account_reservation& into,
                                                 std::size_t bytes) noexcept {
        reserved_bytes &less = from.has_, &more = into.has_;
        const auto is_floor = [](const reserved_bytes& r) { return r.by != nullptr && r.kind == reserves::floor; };
        const bool may = is_floor(less) && is_floor(more) && bytes <= less.bytes && less.by->above() != nullptr &&
                         less.by->above() == more.by->above();
        if (!may) return {.outcome = charge_outcome::misused, .requested = bytes};
        return change_tree(*less.by, [&](tree_change& now) {
            for (const reserved_bytes* const r : {&less, &more})
                if (!r->by->is_open()) return refused_closed(*r->by, bytes);
            if (less.by == more.by) return less.bytes -= bytes, more.bytes += bytes, charge_status{};
            reservation_change both[]{{less.by, reserves::floor, less.bytes - bytes, {}},
                                      {more.by, reserves::floor, more.bytes + bytes, {}}};
            both[0].made.swap(from), both[1].made.swap(into);
            charge_request request{now.tree, charge_mode::checked};
            const charge_status s = attempt({*both[0].of->above(), both}, never_waits, &request, nullptr);
            both[0].made.swap(from), both[1].made.swap(into);
            return s;
        });
    }
    // Checks all levels and grants, with one hold of the lock, which it requires. `request`: recalls credit, and may
    // wait for held bytes; null: it was recalled, and no thread waits for `queued`.
    static charge_status attempt(const reservation_batch& b, const charge_wait& most, charge_request* request,
                                 const waiter* queued) noexcept {
        account_tree& tree = b.by->tree();
        for (;;) {
            if (request != nullptr) // the credit of leaves below counts in used()
                for (const reservation_change& c : b.all) tree.recall_credit(*c.of);
            const reserved_need::needs need = b.need();
            if (const account_node* const by = need.refuser) {
                if (ALLOT_UNLIKELY(!by->is_open())) return refused_closed(*by, need.wanted);
                return by->status(charge_outcome::over_limit, need.wanted, need.used, by->totals().limit());
            }
            tree_node::limit_check found = tree_node::check_levels(b.above(), need.more);
            if (request != nullptr && request->retry(found)) continue;
            if (!found.charged()) return account_node::status_of(found, b.can_ever_fit() ? need.more : b.bytes());
            if (ALLOT_UNLIKELY(tree.has_waiters()) && b.above() != nullptr)
                if (const waiter* const due = queued != nullptr ? goes_behind(*b.above(), need.more, *queued)
                                                                : goes_behind(*b.above(), need.more, most))
                    return status_behind(*due, need.more);
            owed_part owed;
            for (const bool grows : {false, true}) // so that no level sees more than before, or then
                for (reservation_change& c : b.all)
                    if (c.any() && c.grows() == grows) apply(c, owed);
            if (owed.bytes != 0) tree.note_owed_less();
            return {};
        }
    }

  private:
    // What accounts of a batch are owed no more, for the others. `by`: the pool's; null: several.
    struct owed_part {
        std::size_t bytes = 0;
        const tree_node* by = nullptr;
    };
    static void apply(reservation_change& c, owed_part& owed) noexcept {
        account_node& a = *c.of;
        reserved_bytes& has = c.made.has_;
        if (c.kind == reserves::look) return;
        const std::size_t after = c.need().after, more = c.wanted - has.bytes;
        c.kind == reserves::to_come ? a.totals().add_to_come(more) : a.totals().add_floor(more);
        const std::size_t all = a.totals().reserved_at_most(after), now = a.totals().subtree_charge(),
                          gives = a.totals().owed_without(all),
                          takes = min(owed.bytes, max(a.totals().subtree_charge_of(all), now) - now);
        if (gives != 0) {
            const tree_node* const by = account_tree::owed_by(a);
            owed = {owed.bytes + gives, owed.bytes == 0 || owed.by == by ? by : nullptr};
        } else if (takes != 0) {
            a.tree().note_owed(a, owed.by);
            owed.bytes -= takes;
        }
        a.reserve(all, nullptr, gives != 0 ? 0 : takes);
        if (has.by == nullptr) {
            has.used_before = a.totals().total();
            a.life.counts().add_locked(open_counts::users, 1);
            a.tree().reservations += c.kind == reserves::to_come;
        }
        has.by = &a, has.bytes = c.wanted, has.kind = c.kind;
        a.tree().act_at_unlock();
        a.tree().look_at_all(); // for requests that the reservation covers
    }
};

} // namespace detail

inline charge_status account_reservation::move_to(account_reservation& to, std::size_t bytes) noexcept {
    return detail::reserving::move(*this, to, bytes);
}

} // namespace allot::inline ALLOT_ABI
