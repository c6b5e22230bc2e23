// The state of an account: open, closing or closed; what delays its end (refunds and calls that run, open counts);
// which account refuses its charges.
//
//     open -> closing (the last refund may end it) -> closed
//
// Charges are refused from the moment that this account or one above begins to close; `closed_by` is that account.
// Invariants: once wait_for_refunds() has returned on an account that is closing, no refund is between enter_refund()
// and leave_refund(). named_below() is the number of other accounts whose closed_by() is this account, so it lives.
// Cost: 64 bytes; a thread that waits for refunds sleeps. Threads: see each function.
#pragma once

#include <allot/config.hpp>
#include <allot/tree/open_counts.hpp>

#include <atomic>
#include <cstdint>
#include <utility>

namespace allot::inline ALLOT_ABI {

class account;

namespace detail {

struct account_node; // account_node.hpp

class account_lifetime {
  public:
    using call = void (*)(account&, void*) noexcept;
    struct last_call {
        call ended = nullptr;
        void* context = nullptr;
    };

    // ---- any thread ------------------------------------------------------------------------------------------

    bool accepts_charges() const noexcept { return closed_by() == nullptr; }
    account_node* closed_by() const noexcept { return closed_by_.load(std::memory_order_relaxed); }
    bool is_open() const noexcept { return state_.load(std::memory_order_relaxed) == state::open; }
    bool is_closed() const noexcept { return state_.load(std::memory_order_seq_cst) == state::closed; }
    open_counts& counts() noexcept { return counts_; }
    const open_counts& counts() const noexcept { return counts_; }

    // Begins a refund without the lock. False: the account is closing, so the refund must take the lock. In both cases
    // the caller calls leave_refund(), as its last access unless something else keeps the account. So do calls of
    // listeners about the account.
    bool enter_refund() noexcept {
        refunding_.fetch_add(1, std::memory_order_seq_cst);
        return state_.load(std::memory_order_seq_cst) == state::open;
    }
    void leave_refund() noexcept {
        std::atomic<std::uint32_t>* const at = &refunding_;
        if (static_cast<std::int32_t>(at->fetch_sub(1, std::memory_order_release) - 1) < 0) at->notify_all();
    }
    // Call without the lock: those refunds may wait for it. `own`: what this thread is inside of.
    void wait_for_refunds(std::uint32_t own) noexcept {
        if (refunding_.load(std::memory_order_seq_cst) <= own) return;
        std::uint32_t now = refunding_.fetch_or(awaited, std::memory_order_seq_cst) | awaited; // and stays so
        for (; now > (awaited | own); now = refunding_.load(std::memory_order_seq_cst))
            refunding_.wait(now, std::memory_order_seq_cst);
    }

    // ---- Requires the tree's lock ----------------------------------------------------------------------------

    void begin_closing() noexcept {
        state_.store(state::closing, std::memory_order_seq_cst);
        counts_.close();
    }
    // False: it was closed before.
    bool close() noexcept { return state_.exchange(state::closed, std::memory_order_seq_cst) != state::closed; }
    void call_at_end(call ended, void* context) noexcept { last_call_ = {ended, context}; }
    bool is_closing() const noexcept { return state_.load(std::memory_order_relaxed) == state::closing; }
    // Whether the account ends by itself once it is drained, and is not queued for that yet. Requires: it is closing.
    bool ends_by_itself() const noexcept { return last_call_.ended != nullptr && !queued_; }
    // Threads that sleep until it is drained.
    void await_drain(int by) noexcept { drain_awaited_ = static_cast<std::uint16_t>(drain_awaited_ + by); }
    bool is_drain_awaited() const noexcept { return drain_awaited_ != 0; }
    last_call at_end() const noexcept { return last_call_; }
    void set_closed_by(account_node& by) noexcept { closed_by_.store(&by, std::memory_order_relaxed); }
    void name_below(std::uint32_t by) noexcept { named_below_.fetch_add(by, std::memory_order_release); }
    // Without the lock: once it is 0, it stays 0 if the account is closed.
    std::uint32_t named_below() const noexcept { return named_below_.load(std::memory_order_acquire); }
    // The queue of drained accounts, linked through each.
    void queue_before(account_node* rest) noexcept { queued_ = true, next_ = rest; }
    account_node* next_in_queue() const noexcept { return next_; }

  private:
    enum class state : std::uint8_t { open, closing, closed };

    static constexpr std::uint32_t awaited = std::uint32_t{1} << 31; // in refunding_: a thread sleeps, or has

    std::atomic<state> state_{state::open};
    bool queued_ = false;
    std::uint16_t drain_awaited_ = 0;
    std::atomic<std::uint32_t> refunding_{0};
    open_counts counts_;
    last_call last_call_;
    account_node* next_ = nullptr;
    std::atomic<account_node*> closed_by_{nullptr};
    std::atomic<std::uint32_t> named_below_{0};
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
