// How an account charges and refunds where its own room does not do: under the tree's lock, looking at all levels, then
// changing them.
//
// Everything here is part of account.hpp.
#pragma once

#include <allot/ledger/account.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

// ---- figures of one account --------------------------------------------------------------------------------------

inline bool account::is_below(const account& other) const noexcept {
    const account* a = this;
    while (a->depth_ > other.depth_) a = a->parent_;
    return a == &other;
}
// 1, 4 or 8 steps of a leaf that uses so much.
inline std::size_t account::step_at(std::size_t used) const noexcept {
    const std::size_t step = step_;
    return used < 16 * step ? step : used < 64 * step ? 4 * step : 8 * step;
}
// The room was not less than `least` since that was used.
inline void account::note_peak(std::size_t least) noexcept {
    if (const std::size_t all = met(); all > least && all - least > peak_) peak_ = all - least;
}
// Before a change of what is used; returns the room, which to note the peak with behind it: later refunds into a closed
// room do not tell its least.
inline std::size_t account::end_grant() noexcept {
    word w = room();
    if (w.room() != w.least())
        while (!word_.compare_exchange_weak(w.bits, w.anew().bits, std::memory_order_relaxed)) {
        }
    note_peak(w.least());
    return w.room();
}
inline account::change account::shift(change by) noexcept {
    const std::size_t was = claim(), was_met = met_claim();
    total_ += static_cast<std::size_t>(by.all);
    pending_ += static_cast<std::size_t>(by.all - by.met);
    return {static_cast<std::ptrdiff_t>(claim() - was), static_cast<std::ptrdiff_t>(met_claim() - was_met)};
}
inline void account::climb(account* at, change by, const account* end) noexcept {
    for (; at != end && (by.all != 0 || by.met != 0); at = at->parent_) {
        const std::size_t room = at->end_grant();
        by = at->shift(by);
        at->note_peak(room);
    }
}
// What stands in the way of `more` bytes of own charges or claims at `at`, up to and without `end`; nothing is changed.
inline account::looked account::look(const account* at, std::size_t more, std::size_t asked,
                                     const account* end) noexcept {
    constexpr std::size_t most = SIZE_MAX / 2;
    looked found;
    for (const account* a = at; a != end && more != 0; a = a->parent_) {
        const std::size_t limit = a->limit();
        const bool absurd = a->total_ > most || more > most - a->total_;
        if (absurd || a->total_ + more > limit) {
            const bool lenient = !absurd && a->total_ + more - limit <= a->grace_;
            const charge_status s{lenient ? charge_outcome::in_grace : charge_outcome::over_limit, a, asked,
                                  a->used_now(), limit};
            if (!lenient) return {s, more, absurd};
            if (found.status.fitted()) found.status = s;
        }
        const std::size_t now = a->total_ + more;
        more = (now > a->reserved_ ? now : a->reserved_) - a->claim();
    }
    return found;
}
inline bool account::looked::only_pending() const noexcept {
    const account* const a = status.at;
    return !absurd && a->pending_ != 0 && a->met() + more <= a->limit();
}
// The next account from here on upwards whose limit is exceeded.
inline const account* account::beyond(const account* at) noexcept {
    while (at != nullptr && !at->beyond_limit()) at = at->parent_;
    return at;
}

// ---- room --------------------------------------------------------------------------------------------------------

inline bool account::may_open() const noexcept {
    if (step_ == 0 || !is_open() || log() != nullptr || root_->peak_copy_ != nullptr) return false;
    for (const account* a = this; a != nullptr; a = a->parent_)
        if (!a->hears_.empty() || a->beyond_limit()) return false;
    return true;
}
// What to add to the grant, so that it is whole steps when the bytes are charged.
inline std::size_t account::ahead_of(std::size_t bytes, std::size_t room) const noexcept {
    const std::size_t used = own() - room + bytes, step = step_at(used), whole = (used + step - 1) / step * step;
    return whole > own() ? whole - own() : 0;
}
// The grant grows, the bytes are taken from it; false: a charge or refund of another thread came in between.
inline bool account::grant(word from, std::size_t want, std::size_t bytes, how mode) noexcept {
    const bool open = mode != how::held && may_open();
    own_.store(own() + want, std::memory_order_relaxed);
    if (!word_.compare_exchange_strong(from.bits, word::of(from.room() + want - bytes, open).bits,
                                       std::memory_order_relaxed)) {
        own_.store(own() - want, std::memory_order_relaxed);
        return false;
    }
    note_peak(from.least());
    const auto by = static_cast<std::ptrdiff_t>(want);
    const change above = shift({by, mode == how::held ? by - static_cast<std::ptrdiff_t>(bytes) : by});
    note_peak(from.room() + want - bytes);
    climb(parent_, above, nullptr);
    if (open) {
        keep_at_most(step_at(own()));
        shut_.store(false, std::memory_order_relaxed);
    }
    return true;
}
// A refund that leaves more room than this takes the lock; more than was charged never stays unseen.
inline void account::keep_at_most(std::size_t step) noexcept {
    keep_.store(static_cast<std::uint32_t>(step < own() ? step : own()), std::memory_order_relaxed);
}
inline void account::lower_own(std::size_t bytes) noexcept {
    own_.store(own() - bytes, std::memory_order_relaxed);
    if (const std::size_t kept = keep_.load(std::memory_order_relaxed); kept > own()) keep_at_most(kept);
}
// Room goes back to the parent: all, or what is more than whole steps. Returns bytes.
inline std::size_t account::take_back(bool all, bool open) noexcept {
    word w = room();
    std::size_t back = 0, step = 0;
    do {
        while (ALLOT_UNLIKELY(w.room() > own())) // refunded while the lock was taken, and never charged
            if (word_.compare_exchange_weak(w.bits, word::of(own(), w.open()).bits, std::memory_order_relaxed)) {
                if (state_.load(std::memory_order_relaxed) != state::closed)
                    tell_misuse({.kind = misuse::over_refunded, .heap = name_});
                w = room();
            }
        const std::size_t used = own() - w.room();
        step = all ? 0 : step_at(used);
        const std::size_t whole = all ? used : (used + step - 1) / step * step;
        back = own() > whole ? own() - whole : 0;
        if (back == 0 && open == w.open()) return 0;
    } while (!word_.compare_exchange_weak(w.bits, word::of(w.room() - back, open).bits, std::memory_order_relaxed));
    note_peak(w.least());
    lower_own(back);
    if (open && !all) keep_at_most(step);
    const auto by = -static_cast<std::ptrdiff_t>(back);
    climb(parent_, shift({by, by}), nullptr);
    return back;
}
inline void account::settle_noted() noexcept {
    for (account* a = noted_stack_.take_all(); a != nullptr;) {
        account* const following = a->note_.load(std::memory_order_relaxed);
        a->noted_.exchange(false, std::memory_order_acq_rel); // who finds it set has its room seen below
        a->settle();
        a = following;
    }
}
// What leaves at and below `within` have ahead; shut: and they take no more until a charge of theirs climbs and fits.
inline std::size_t account::call_in(const account& within, bool shut) noexcept {
    std::size_t bytes = 0;
    for (account* a = leaves_.first(); a != nullptr; a = leaves_.after(*a)) {
        if (!a->is_below(within)) continue;
        if (a->one_thread_)
            a->shut_.store(true, std::memory_order_relaxed); // its thread gives it back at its next call
        else bytes += a->take_back(true, a->room().open() && !shut);
    }
    return bytes;
}
inline void account::shut_where_exceeded() noexcept {
    for (const account* a = this; (a = beyond(a)) != nullptr; a = a->parent_) root_->call_in(*a, true);
}
// A request was met with this status: beyond a limit that is counted, and leaves take nothing ahead there.
inline void account::went_ahead(const charge_status& s) noexcept {
    if (s.at == nullptr) return;
    ++const_cast<account*>(s.at)->beyond_;
    shut_where_exceeded();
}

// ---- charge ------------------------------------------------------------------------------------------------------

inline charge_status account::charge_locked(std::size_t bytes, how mode) noexcept {
    if (bytes > static_cast<std::size_t>(PTRDIFF_MAX))
        return {charge_outcome::over_limit, this, bytes, used(), limit()};
    hold tree(*this);
    attempt request{*this, tree, mode};
    if (mode == how::held && !tree.root.is_inside_a_call(sys::thread_token())) // there it may be what they wait for
        while (tree.root.waiting_ != 0) tree.breathe();
    for (;;) {
        if (!is_open()) return {charge_outcome::closed, this, bytes, used_now(), limit()};
        word w = room();
        if (w.room() != 0 && (!w.open() || shut_.load(std::memory_order_relaxed))) {
            take_back(true, false); // what was refunded into a closed room
            continue;
        }
        const std::size_t need = bytes > w.room() ? bytes - w.room() : 0;
        if (mode != how::held && may_open())
            if (const std::size_t more = ahead_of(bytes, w.room());
                more > need && look(this, more, bytes).status.fitted()) {
                if (grant(w, more, bytes, mode)) return {};
                continue;
            }
        looked found = look(this, need, bytes);
        if (request.looks_again(found)) continue;
        if (!found.status.charged()) return found.status;
        if (!grant(w, need, bytes, mode)) continue;
        went_ahead(found.status);
        return found.status;
    }
}
inline bool account::fits(std::size_t bytes) noexcept {
    if (bytes != 0 && has_ahead(bytes)) return true;
    if (bytes > static_cast<std::size_t>(PTRDIFF_MAX)) return false;
    hold tree(*this);
    for (unsigned called_in = 0;; ++called_in) {
        const std::size_t room = this->room().room();
        const charge_status s = look(this, bytes > room ? bytes - room : 0, bytes).status;
        if (s.charged() || called_in == most_call_ins() || tree.root.call_in(*s.at, false) == 0)
            return is_open() && s.charged();
    }
}
// No more than is held; nothing where the account has left with it.
inline std::size_t account::held_of(std::size_t bytes) const noexcept {
    if (ALLOT_LIKELY(bytes <= pending_)) return bytes;
    if (!has_given_back()) tell_misuse({.kind = misuse::over_refunded, .heap = name_});
    return pending_;
}
inline void account::confirm(std::size_t bytes) noexcept {
    by_its_thread();
    const hold tree(*this);
    bytes = held_of(bytes);
    const std::size_t room = end_grant();
    const change above = shift({0, static_cast<std::ptrdiff_t>(bytes)});
    note_peak(room);
    climb(parent_, above, nullptr);
}
inline void account::cancel_now(std::size_t bytes) noexcept {
    const hold tree(*this);
    bytes = held_of(bytes);
    end_grant();
    lower_own(bytes);
    climb(parent_, shift({-static_cast<std::ptrdiff_t>(bytes), 0}), nullptr);
    end_if_drained();
}

// ---- refund ------------------------------------------------------------------------------------------------------

// Own charges become fewer; the lock is held.
inline void account::lower(std::size_t bytes) noexcept {
    if (ALLOT_UNLIKELY(bytes > own() - room().room())) {
        if (!has_given_back()) tell_misuse({.kind = misuse::over_refunded, .heap = name_}); // else its end has told it
        bytes = own() - room().room();
    }
    end_grant();
    lower_own(bytes);
    const auto by = -static_cast<std::ptrdiff_t>(bytes);
    climb(parent_, shift({by, by}), nullptr);
}
inline void account::refund_now(std::size_t bytes) noexcept {
    if (one_thread_ || ALLOT_LIKELY(root_->lock_.try_lock())) {
        if (one_thread_) root_->lock_.lock();
        const hold tree(*this, std::adopt_lock);
        lower(bytes);
        settle();
        if (one_thread_ && shut_.load(std::memory_order_relaxed)) take_back(true, false);
        return end_if_drained();
    }
    inside_.fetch_add(1, std::memory_order_seq_cst);
    if (state_.load(std::memory_order_seq_cst) ==
        state::open) { // else who waits for the last refund must be told under the lock
        word w = room();
        while (bytes <= word::most && w.room() + bytes <= word::most)
            if (word_.compare_exchange_weak(w.bits, w.put(bytes).bits, std::memory_order_release,
                                            std::memory_order_relaxed)) {
                if (!noted_.exchange(true, std::memory_order_acq_rel)) root_->noted_stack_.push(this);
                inside_.fetch_sub(1, std::memory_order_release); // the last access
                return;
            }
    }
    inside_.fetch_sub(1, std::memory_order_release); // before the bytes go: until then nobody ends the account
    const hold tree(*this);                          // 2 GiB that wait to be settled, or an account that is closing
    lower(bytes);
    settle();
    end_if_drained();
}

// ---- transfer ----------------------------------------------------------------------------------------------------

inline charge_status account::move_locked(account& from, account& to, std::size_t bytes, how mode) noexcept {
    hold tree(from);
    attempt request{to, tree, mode};
    for (;;) {
        if (!to.is_open()) return {charge_outcome::closed, &to, bytes, to.used_now(), to.limit()};
        if (bytes > from.own() - from.room().room())
            return {charge_outcome::misused, &from, bytes, from.used_now(), from.limit()};
        account* top = &from; // the lowest common ancestor
        while (!to.is_below(*top)) top = top->parent_;
        const auto by = static_cast<std::ptrdiff_t>(bytes);
        // What the levels below `top` make of it: first only looked at.
        const auto reaches = [&](const account& leaf, bool more) {
            std::size_t moved = bytes;
            for (const account* a = &leaf; a != top; a = a->parent_) {
                const std::size_t now = more ? a->total_ + moved : a->total_ - moved,
                                  has = now > a->reserved_ ? now : a->reserved_;
                moved = more ? has - a->claim() : a->claim() - has;
            }
            return moved;
        };
        const std::size_t up = reaches(to, true), down = reaches(from, false);
        looked found = look(&to, bytes, bytes, top);
        if (found.status.charged() && up > down)
            if (const looked above = look(top, up - down, bytes); !above.status.charged() || found.status.fitted())
                found = above;
        if (request.looks_again(found)) continue;
        if (!found.status.charged()) return found.status;
        change net{0, 0};
        const auto apply = [&](account& leaf, std::ptrdiff_t own) {
            leaf.end_grant();
            leaf.lower_own(0 - static_cast<std::size_t>(own));
            change c{own, own};
            for (account* a = &leaf; a != top && (c.all != 0 || c.met != 0); a = a->parent_) {
                const std::size_t room = a->end_grant();
                c = a->shift(c);
                a->note_peak(room);
            }
            net.all += c.all, net.met += c.met;
        };
        apply(from, -by);
        apply(to, by);
        climb(top, net, nullptr);
        to.went_ahead(found.status);
        from.end_if_drained();
        return found.status;
    }
}

// ---- reservation and limit ---------------------------------------------------------------------------------------

inline charge_status account::maybe_reserve(std::size_t bytes) noexcept {
    hold tree(*this);
    attempt request{*this, tree, how::checked};
    for (;;) {
        tree.root.call_in(*this, false); // what leaves below have ahead is not to be reserved
        const std::size_t used = used_now();
        const auto refused = [&](charge_outcome o) { return charge_status{o, this, bytes, used, limit()}; };
        if (!is_open()) return refused(charge_outcome::closed);
        if (bytes > SIZE_MAX / 2 || used > SIZE_MAX / 2 - bytes || used + bytes > limit())
            return ++refused_, refused(charge_outcome::over_limit);
        const std::size_t whole = used + bytes > reserved_ ? used + bytes : reserved_;
        const std::size_t more = (whole > total_ ? whole : total_) - claim();
        looked found = look(parent_, more, bytes);
        found.without_grace();
        if (request.looks_again(found)) continue;
        if (!found.status.charged()) return found.status;
        const std::size_t was = claim(), was_met = met_claim();
        reserved_ = whole;
        climb(parent_, {static_cast<std::ptrdiff_t>(claim() - was), static_cast<std::ptrdiff_t>(met_claim() - was_met)},
              nullptr);
        return {};
    }
}
inline void account::release_reservation() noexcept {
    const hold tree(*this);
    const std::size_t was = claim(), was_met = met_claim();
    reserved_ = first_reserved_;
    climb(parent_, {static_cast<std::ptrdiff_t>(claim() - was), static_cast<std::ptrdiff_t>(met_claim() - was_met)},
          nullptr);
}
inline void account::set_limit(std::size_t bytes) noexcept {
    const hold tree(*this);
    limit_.store(bytes, std::memory_order_relaxed);
    if (total_ > bytes) tree.root.call_in(*this, true);
}
inline void account::set_grace(std::size_t bytes) noexcept {
    const hold tree(*this);
    grace_ = bytes;
}

// ---- what is asked -----------------------------------------------------------------------------------------------

inline std::size_t account::used() const noexcept {
    const hold tree(*this, false); // from an item's tell, too
    return used_now();
}
inline std::size_t account::peak() const noexcept {
    const hold tree(*this, false); // from an item's tell, too
    const_cast<account*>(this)->note_peak(room().least());
    return peak_;
}
inline std::size_t account::headroom() const noexcept {
    const hold tree(*this, false);               // from an item's tell, too
    std::size_t most = SIZE_MAX / 2, unused = 0; // of reservations below: only what goes beyond them climbs
    for (const account* a = this; a != nullptr; a = a->parent_) {
        const std::size_t here = a->limit() > a->total_ ? a->limit() - a->total_ : 0;
        if (here < most && here + unused < most) most = here + unused;
        unused += a->reserved_ > a->total_ ? a->reserved_ - a->total_ : 0;
    }
    return most + room().room();
}
inline bool account::over_limit() const noexcept {
    const hold tree(*this, false); // from an item's tell, too
    return beyond(this) != nullptr;
}

} // namespace allot::inline ALLOT_ABI
