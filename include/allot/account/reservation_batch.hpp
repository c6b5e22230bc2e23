// What a request makes of reservations: of one account, or of several below one parent, all or none.
//
//     need()   what the level above the accounts must have free, from what is in use now: it is computed at each
//              attempt, with the hold of the lock in which it is granted (account_reserving.hpp)
//
// Bytes that an account gives up, and does not use, serve the others.
// Cost: 24 bytes, and 104 bytes for each change. Threads: those that read accounts require the tree's lock.
#pragma once

#include <allot/account/account_node.hpp>
#include <allot/account/account_reservation.hpp>
#include <allot/account/level_totals.hpp>
#include <allot/account/memory_request.hpp>
#include <allot/account/wait_queue.hpp>
#include <allot/config.hpp>
#include <allot/core/min_max.hpp>

#include <cstddef>
#include <span>

namespace allot::inline ALLOT_ABI {
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
        const std::size_t used = of->used(), all = max(used, totals.reserved()), has = made.bytes();
        const bool to_come = kind != reserves::floor;
        const std::size_t before = to_come ? all : totals.floor() - has;
        if (grows() && (wanted - has > max_charged - all || before + wanted > totals.limit()))
            return {before, 0, false};
        return {before, to_come ? before + wanted : totals.reserved_with_floor(before + wanted, used), true};
    }
};

struct reservation_batch {
    struct need_now {
        std::size_t more;                  // bytes that above() must have free
        const reservation_change* refused; // its account is closed, or has a limit that it exceeds; null: none
    };

    account_node* by;                  // the account, or the parent of several
    std::span<reservation_change> all; // of different accounts; not empty

    bool is_of_one() const noexcept { return all.front().of == by; }
    account_node* above() const noexcept { return is_of_one() ? by->above() : by; }
    need_now need() const noexcept {
        std::size_t more = 0, fewer = 0;
        for (const reservation_change& c : all) {
            if (!c.any()) continue;
            const reservation_change::need_now need = c.need();
            if (!c.of->is_open() || !need.fits) return {0, &c};
            const std::size_t now = c.of->totals().subtree_charge(), then = max(need.after, c.of->totals().total());
            more = sum_or_max(more, max(now, then) - now);
            fewer += max(now, then) - then;
        }
        return {more - min(more, fewer), nullptr};
    }
    // That the accounts have in all then, at least.
    std::size_t bytes() const noexcept {
        std::size_t sum = 0;
        for (const reservation_change& c : all) sum = sum_or_max(sum, c.wanted);
        return sum;
    }
    // A look waits for a higher limit, too.
    bool can_ever_fit() const noexcept {
        if (all.front().kind == reserves::look) return by->is_open() && all.front().wanted <= max_charged;
        for (const reservation_change& c : all)
            if (c.any() && (!c.of->is_open() || (c.grows() && !c.of->totals().can_ever_fit(c.wanted)))) return false;
        return above() == nullptr || above()->can_ever_fit(bytes());
    }
    // Whether it ends where that account is closed.
    bool concerns(const account_node& a) const noexcept {
        for (const reservation_change& c : all)
            if (c.of == &a && c.any()) return true;
        return by == &a;
    }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
