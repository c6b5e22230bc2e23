// A reservation that waits without a thread: it is in the queue of the level that refuses it, as a patient request, and
// the thread that frees the memory makes its request and calls it (account_reserving.hpp). The user's face is
// reservation_request.hpp.
//
//     idle -> queued -> granted or refused by an unlock of the tree -> called, with no lock held
//                    -> cancelled: never called
//
// It is idle again before it is called, so it can be queued again inside the call; then another thread may call it
// before the first call has returned.
// Invariant: it is in the tree's queue while `at_` is not null; calls() counts those that are decided and have not
// returned. A call keeps its account from ending, as a refund does. Cost: 440 bytes. Threads: as each function says.
#pragma once

#include <allot/account/account_node.hpp>
#include <allot/account/account_reservation.hpp>
#include <allot/account/reservation_batch.hpp>
#include <allot/account/wait_queue.hpp>
#include <allot/config.hpp>
#include <allot/reclaim/user_call.hpp>
#include <allot/sys/lock_rank.hpp>
#include <allot/sys/thread_context.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

class queued_reservation {
  public:
    using call = void (*)(void* context, account_reservation&& made);

    queued_reservation(call to, void* context) noexcept : call_(to), context_(context) {}
    queued_reservation(const queued_reservation&) = delete;
    queued_reservation& operator=(const queued_reservation&) = delete;
    // Waits for calls on other threads. A call on this thread goes on, and does not touch the object.
    ~queued_reservation() {
        const std::uint32_t own = user_call::calls_about(this);
        for (;;) {
            static_cast<void>(cancel());
            const std::uint32_t now = calls_.load(std::memory_order_acquire);
            if (now > own) calls_.wait(now, std::memory_order_acquire);
            else if (!is_queued()) break;
        }
        if (own != 0) user_call::forget(this);
    }

    // Any thread.
    bool is_queued() const noexcept { return at_.load(std::memory_order_acquire) != nullptr; }
    // Any thread. False: it was not queued.
    bool cancel() noexcept {
        while (account_node* const at = at_.load(std::memory_order_acquire)) {
            locked_tree scope(*at);
            if (at_.load(std::memory_order_acquire) != at) continue; // granted; and perhaps queued elsewhere since
            leave(scope.tree);
            scope.look_from(*at); // for those that went behind it
            return true;
        }
        return false;
    }

    // ---- Requires the tree's lock, and that it is not queued, but for leave() ------------------------------------

    waiter& begin(const reservation_batch& batch, std::size_t bytes) noexcept {
        batch_ = batch;
        if (batch.is_of_one()) {
            const reservation_change& c = batch.all.front();
            only_ = {c.of, c.kind, c.wanted, {}};
            batch_.all = {&only_, 1};
        }
        refused_by_ = nullptr;
        waiter& w = w_.emplace();
        w.by = batch.by;
        w.bytes = bytes;
        w.reserves = &batch_;
        w.patient = true;
        w.queued = this;
        w.looks = batch.all.front().kind == reserves::look;
        w.most_cost = of_this_thread.most_cost;
        return w;
    }
    // Whether another level refuses it now, where nobody was asked for it.
    bool moves_to(const tree_node& level) noexcept {
        const tree_node* const before = std::exchange(refused_by_, &level);
        return before != nullptr && before != &level;
    }
    // What a batch of one was granted.
    account_reservation take() noexcept { return std::move(only_.made); }
    void is_queued_now() noexcept { at_.store(batch_.by, std::memory_order_release); }
    void leave(account_tree& tree) noexcept {
        const_cast<tree_node*>(w_->in)->waits().remove(*w_);
        tree.remove(*w_);
        at_.store(nullptr, std::memory_order_release);
    }
    void begin_call() noexcept { calls_.fetch_add(1, std::memory_order_relaxed); }

    // After begin_call(), without a lock. `about`: its account, which close() keeps for other threads until then.
    void run(const account_node& about, account_reservation&& made) noexcept {
        check_no_lock_is_held("calls a reservation's callback");
        waiter* const trying = std::exchange(of_this_thread.trying, nullptr); // of this thread: another request
        const bool undoes = std::exchange(of_this_thread.undoes, false);
        const user_call of_account{user_call::kind::reservation, &about}, mine{user_call::kind::callback, this};
        call_(context_, std::move(made));
        of_this_thread.trying = trying;
        of_this_thread.undoes = undoes;
        if (mine.about() == nullptr) return; // it has ended
        std::atomic<std::uint32_t>* const at = &calls_;
        at->fetch_sub(1, std::memory_order_release); // the last access
        at->notify_all();
    }

  private:
    const call call_;
    void* const context_;
    std::atomic<account_node*> at_{nullptr};
    std::atomic<std::uint32_t> calls_{0};
    reservation_change only_{}; // of a batch of one
    reservation_batch batch_{};
    const tree_node* refused_by_ = nullptr;
    std::optional<waiter> w_;
};

// One that is granted or refused now, to be called by the holder of the lock.
struct granted_call {
    queued_reservation* to = nullptr; // null: none
    account_node* by = nullptr;
    account_reservation made;
};

// ---- account_reserving.hpp ------------------------------------------------------------------------------------------

// Takes the one without a thread off those that may try; null: there is none.
waiter* take_queued(waiter*& woken) noexcept;
// Makes its request. Requires the lock.
void grant(waiter& w, account_tree& tree, granted_call& to) noexcept;
// Calls it, and those that can be granted then. Requires: the thread holds no lock.
void call_granted(granted_call next) noexcept;

} // namespace detail
} // namespace allot::inline ALLOT_ABI
