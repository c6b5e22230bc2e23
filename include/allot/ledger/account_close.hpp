// How an account begins and ends, what it tells then, and what is told of it while it stands.
//
// Everything here is part of account.hpp.
#pragma once

#include <allot/ledger/account.hpp>
#include <allot/sync/pause.hpp>
#include <allot/sys/clock.hpp>
#include <allot/sys/thread.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>

namespace allot::inline ALLOT_ABI {

// ---- the beginning -----------------------------------------------------------------------------------------------

inline account::account(account* parent, const asked_values& asked) noexcept
    : one_thread_(asked.one_thread), root_(parent != nullptr ? parent->root_ : this), limit_(asked.limit),
      grace_(asked.grace), parent_(parent),
      step_(static_cast<std::uint32_t>(asked.step < (std::size_t{1} << 26) ? asked.step : std::size_t{1} << 26)),
      name_(asked.name), first_reserved_(0), leaks_(asked.leaks) {
    if (parent == nullptr) {
        if (step_ != 0) leaves_.add(*this);
        return;
    }
    while (!begin_below(*parent, asked)) yield();
    if (is_open()) tell_children(*parent, true);
}
// Its reservation is charged, or refused, and it is closed then. False: it hangs on what others hold and have not
// confirmed; they may need the mutex to go on.
inline bool account::begin_below(account& parent, const asked_values& asked) noexcept {
    const std::lock_guard whole(root_->shape_);
    const hold tree(*this, false);
    for (unsigned called_in = 0;; ++called_in) {
        const bool open = parent.is_open() && !parent.one_thread_;
        const bool absurd = asked.reservation > SIZE_MAX / 2 || asked.reservation > asked.limit;
        looked found;
        if (!open)
            found.status = {parent.one_thread_ ? charge_outcome::misused : charge_outcome::closed, &parent,
                            asked.reservation, parent.used_now(), parent.limit()};
        else if (absurd) found.status = {charge_outcome::over_limit, this, asked.reservation, 0, asked.limit};
        else found = look(&parent, asked.reservation, asked.reservation);
        found.without_grace();
        if (found.status.fitted()) break;
        if (open && !absurd) {
            if (called_in < parent.most_call_ins() && root_->call_in(*found.status.at, false) != 0) continue;
            if (found.only_pending() && !root_->is_inside_a_call(sys::thread_token())) return false;
            ++const_cast<account*>(found.status.at)->refused_;
        }
        refusal_ = found.status;
        state_.store(state::closed, std::memory_order_relaxed);
        return true;
    }
    depth_ = parent.depth_ + 1;
    reserved_ = first_reserved_ = asked.reservation;
    const auto by = static_cast<std::ptrdiff_t>(reserved_);
    climb(&parent, {by, by}, nullptr);
    if (step_ != 0) root_->leaves_.add(*this);
    parent.below_.add(*this);
    ++parent.children_;
    return true;
}

// ---- the end -----------------------------------------------------------------------------------------------------

// Refunds that found the lock taken are through with the account.
inline void account::wait_for_refunds() const noexcept {
    while (inside_.load(std::memory_order_seq_cst) != 0) yield();
}
// By the lock's holder, as the next two: the counts move to where only the lock's holder sees them.
inline void account::begin_closing() noexcept {
    state_.store(state::closing, std::memory_order_seq_cst);
    for (unsigned at = 0; at != 3; ++at) // from the middle of the upper half there are 2^30 steps to either end
        left_[at] = open_[at].exchange(counts_left + counts_left / 2, std::memory_order_acquire);
    if (one_thread_) shut_.store(true, std::memory_order_relaxed);
    else take_back(true, false);
}
inline std::uint32_t account::counted_now(unsigned at) const noexcept {
    const std::uint32_t n = open_[at].load(std::memory_order_acquire);
    return n < counts_left ? n : left_[at];
}
ALLOT_COLD inline void account::count_late(unsigned at, int by) noexcept {
    const hold tree(*this); // the account may be gone behind it
    left_[at] += static_cast<std::uint32_t>(by);
    end_if_drained();
}
// By who holds mutex and lock: its claim goes back, its children become its parent's.
inline bool account::leave_tree() noexcept {
    if (state_.exchange(state::closed, std::memory_order_seq_cst) == state::closed) return false;
    if (step_ != 0) root_->leaves_.remove(*this);
    word_.store(word{}.bits, std::memory_order_relaxed); // one_thread: nobody else's
    if (parent_ == nullptr) return true;
    change with{0, 0};
    for (account* c = below_.first(); c != nullptr;) {
        account* const following = below_.after(*c);
        with.all += static_cast<std::ptrdiff_t>(c->claim()), with.met += static_cast<std::ptrdiff_t>(c->met_claim());
        parent_->below_.add(*c);
        ++parent_->children_;
        c->parent_ = parent_;
        c->walk([](const account& a) { --const_cast<account&>(a).depth_; });
        c = following;
    }
    below_.clear();
    climb(parent_,
          {with.all - static_cast<std::ptrdiff_t>(claim()), with.met - static_cast<std::ptrdiff_t>(met_claim())},
          nullptr);
    lower_own(own());
    total_ = pending_ = reserved_ = first_reserved_ = 0;
    children_ = 0;
    parent_->below_.remove(*this);
    --parent_->children_;
    parent_->end_if_drained();
    return true;
}
// Something is told: true. By who holds the mutex and the lock.
inline bool account::write_leaks(text_writer& out) const noexcept {
    const std::size_t left = own() - room().room();
    const std::uint32_t buffers = counted_now(0), reservations = counted_now(1);
    if (left == 0 && below_.empty() && items_.empty() && buffers == 0 && reservations == 0) return false;
    out.put("allot: account ").put(name_).put(" closed with ").bytes(left).put(" not refunded");
    if (buffers != 0) out.put(", ").number(buffers).put(" buffers");
    if (reservations != 0) out.put(", ").number(reservations).put(" reservations");
    out.newline();
    for (const account* c = below_.first(); c != nullptr; c = below_.after(*c))
        out.put("  open below it: ").put(c->name_).put(", ").bytes(c->used_now()).put(" used").newline();
    for (const account_item* i = items_.first(); i != nullptr; i = items_.after(*i))
        out.put("  open in it: ").put(i->kind()).put(' ').put(i->name()).newline();
    if (const account_log* l = log()) {
        out.put("  its first and last events, of ").number(l->events()).newline();
        l->visit([&](const account_event& e) { write(out, e, "    ", 6); });
    }
    return true;
}
// True: it was open until now; `leaks` has what is to be told.
inline bool account::end(text_writer& leaks) noexcept {
    const std::lock_guard whole(root_->shape_);
    const hold tree(*this, false);
    if (state_.load(std::memory_order_relaxed) == state::closed) return false;
    write_leaks(leaks);
    if (parent_ == nullptr && !below_.empty())
        tell_misuse({.kind = misuse::outlived, .heap = name_}); // children of a root that is gone
    return leave_tree();
}
inline void account::tell(std::string_view leaks) const noexcept {
    if (!leaks.empty()) leaks_.write(leaks_.context, leaks);
}
inline bool account::close() noexcept {
    if (state_.load(std::memory_order_seq_cst) == state::closed) return true;
    account* const above = keep_parent(); // it may wait for this child alone, and take the tree with it
    char page[8192];
    text_writer leaks{page};
    const bool ended = end(leaks);
    wait_for_refunds();
    {
        const hold tree(*this, false);
    } // what they noted is settled: nobody knows this account any more
    wait_for_calls();
    if (ended && above != nullptr) tell_children(*above, false);
    tell(leaks.view());
    if (above != nullptr) above->count_in(moves, -1); // the last access to the tree
    return leaks.size() == 0;
}
inline bool account::close(time_span most) noexcept {
    {
        const hold tree(*this);
        if (is_open()) begin_closing();
    }
    wait_for_refunds();
    const std::uint64_t now = sys::fine_clock::now(), longest = (UINT64_MAX - now) / 1'000'000;
    const std::uint64_t end = now + (most.ms < longest ? most.ms : longest) * 1'000'000;
    for (unsigned turn = 0;; ++turn) {
        {
            const hold tree(*this);
            if (drained()) break;
        }
        if (sys::fine_clock::now() >= end) break;
        if (turn < 64) yield();
        else std::this_thread::sleep_for(std::chrono::microseconds(turn < 256 ? 50 : 1000));
    }
    return close();
}
inline bool account::close_when_drained(void (*ended)(account&, void*) noexcept, void* context) noexcept {
    bool now = false;
    {
        const hold tree(*this);
        if (!is_open()) return state_.load(std::memory_order_relaxed) == state::closed;
        begin_closing();
    }
    wait_for_refunds(); // those that come from now on take the lock
    wait_for_calls();
    {
        const hold tree(*this);
        now = drained();
        if (!now) ended_ = ended, ended_context_ = context;
    }
    if (now) close();
    return now;
}
// The lock is held; who gives it back ends the account.
inline void account::end_if_drained() noexcept {
    if (state_.load(std::memory_order_relaxed) != state::closing || ended_ == nullptr || !drained()) return;
    if (drained_queued_) return;
    drained_queued_ = true;
    next_drained_ = root_->drained_;
    root_->drained_ = this;
}
// A parent that ends with it hears of that behind it: who owns both may keep them in one place.
inline void account::finish_drained() noexcept {
    const auto ended = ended_;
    void* const context = ended_context_;
    account* const above = keep_parent();
    close();
    account* const next = above != nullptr ? above->let_go() : nullptr;
    ended(*this, context); // nothing is touched behind it but what waits to be ended
    hold::finish_all(next);
}
// The parent, which does not end by itself until let_go(); null: there is none.
inline account* account::keep_parent() noexcept {
    const hold tree(*this);
    if (parent_ != nullptr && parent_->open_[moves].fetch_add(1, std::memory_order_relaxed) >= counts_left)
        ++parent_->left_[moves];
    return parent_;
}
// Returns who is to be ended by the caller.
inline account* account::let_go() noexcept {
    const hold tree(*this, false);
    if (open_[moves].fetch_sub(1, std::memory_order_release) >= counts_left) --left_[moves];
    end_if_drained();
    return std::exchange(tree.root.drained_, nullptr);
}

// ---- who holds -----------------------------------------------------------------------------------------------------

inline void account::add(account_item& item) noexcept {
    const std::lock_guard whole(root_->shape_);
    const hold tree(*this, false);
    items_.add(item);
}
inline void account::remove(account_item& item) noexcept {
    std::unique_lock whole(root_->shape_);
    const hold tree(*this); // the account may be gone behind it
    items_.remove(item);
    end_if_drained();
    whole.unlock(); // who ends accounts behind the lock needs it
}
inline void account::set_log(account_log* log) noexcept {
    const hold tree(*this);
    log_.store(log, std::memory_order_release);
    if (log == nullptr || step_ == 0) return;
    if (one_thread_) shut_.store(true, std::memory_order_relaxed);
    else take_back(true, false);
}

// ---- figures -------------------------------------------------------------------------------------------------------

inline account_figures account::figures_now(bool items) const noexcept {
    std::size_t committed = 0, resident = 0;
    if (items)
        for (const account_item* i = items_.first(); i != nullptr; i = items_.after(*i)) {
            const item_figures its = i->figures();
            committed += its.committed;
            resident += its.resident;
        }
    const hold tree(*this, false);
    const_cast<account*>(this)->note_peak(room().least());
    account_figures f = figures_held();
    f.committed = committed;
    f.resident = resident;
    return f;
}
// The lock is held.
inline account_figures account::figures_held() const noexcept {
    account_figures f;
    f.name = name_;
    f.used = used_now();
    f.own = own() - room().room();
    f.ahead = room().room();
    f.claimed = claim();
    f.peak = peak_;
    f.limit = limit();
    f.grace = grace_;
    f.reservation = reserved_;
    f.depth = depth_;
    f.children = children_;
    f.buffers = counted_now(0);
    f.reservations = counted_now(1);
    f.refused = refused_;
    f.beyond = beyond_;
    return f;
}
inline account_figures account::figures() const noexcept {
    const std::lock_guard whole(root_->shape_);
    return figures_now(true);
}
inline bool account::verify_locked() const noexcept {
    std::size_t claims = 0, met_claims = 0, n = 0;
    for (const account* c = below_.first(); c != nullptr; c = below_.after(*c), ++n) {
        if (c->parent_ != this || c->depth_ != depth_ + 1 || c->root_ != root_ || !c->verify_locked()) return false;
        claims += c->claim();
        met_claims += c->met_claim();
    }
    const word w = room();
    return n == children_ && below_.valid() && items_.valid() && total_ == own() + claims && w.room() <= own() &&
           w.least() <= w.room() && pending_ <= total_ && (claims == met_claims || pending_ != 0) &&
           reserved_ >= first_reserved_ && (w.open() ? step_ != 0 : true) && (log() == nullptr || !w.open());
}
inline bool account::verify() const noexcept {
    const std::lock_guard whole(root_->shape_);
    const hold tree(*this, false);
    return verify_locked();
}

} // namespace allot::inline ALLOT_ABI
