// A reservation that waits without a thread: it is in the queue of the level that refuses it, as a patient request, and
// the thread that frees the memory makes its request and calls it (tree_change.hpp). The user's face is
// reservation_request.hpp.
//
//     idle -> queued -> granted or refused by a change of the tree -> called, with no lock held
//                    -> cancelled: never called
//
// It recalls the credit below the level that refuses it, so each refund there looks for it. It never waits for held
// bytes, and a refund or release calls no reclaimer for it: the thread may hold some, or locks of a user. free_ahead()
// does, at each piece of news of idle memory and reclaimers.
// It is idle again before it is called, so it can be queued again inside the call; then another thread may call it
// before the first call has returned.
// Invariant: it is in the tree's queue while `at_` is not null; calls() counts those that are decided and have not
// returned. A call keeps its account from ending, as a refund does. Cost: 472 bytes. Threads: as each function says.
#pragma once

#include <allot/account/account_reservation.hpp>
#include <allot/account/account_waiting.hpp>
#include <allot/account/free_ahead.hpp>
#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/units.hpp>
#include <allot/reclaim/user_call.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/request/wait_queue.hpp>
#include <allot/sync/full_fence.hpp>
#include <allot/sys/lock_rank.hpp>
#include <allot/sys/thread_context.hpp>
#include <allot/tree/account_node.hpp>
#include <allot/tree/tree_change.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

class queued_reservation final : threadless_request {
  public:
    using callback = void (*)(void* context, account_reservation&& made);

    queued_reservation(callback to, void* context) noexcept : call_(to), context_(context) {}
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
            const bool left = change_tree(*at, [&](tree_change& now) {
                if (at_.load(std::memory_order_acquire) != at) return false; // granted; perhaps queued elsewhere since
                leave(now.tree);
                now.look_from(*at); // for those that went behind it
                return true;
            });
            if (left) return true;
        }
        return false;
    }
    // As reserving::reserve(), without a wait: the status is `queued` if it waits for the batch. One thread at a time.
    ALLOT_OUTLINE_WARM charge_status reserve_or_queue(const reservation_batch& b) noexcept {
        if (is_queued()) return {.outcome = charge_outcome::misused, .requested = b.bytes()};
        const free_news::pass news(b.by->tree().frees);
        charge_status s = reserving::reserve(b, time_span{0});
        if (!s && waiting_request::may_be_granted_later(s)) s = queue(b, s, news), free_ahead(*b.by);
        return s;
    }
    account_reservation reserve_or_queue(account_node& a, std::size_t bytes, reserves kind) noexcept {
        reservation_change only{&a, kind, bytes, {}};
        const charge_status s = reserve_or_queue({a, {&only, 1}});
        return {only.made.take(), s};
    }

  private:
    // `news`: since before it was refused.
    ALLOT_OUTLINE_WARM charge_status queue(const reservation_batch& b, charge_status s,
                                           const free_news::pass& news) noexcept {
        waiter* w = nullptr;
        change_tree(*b.by, [&](tree_change& now) {
            if (!b.can_ever_fit()) return;
            w = &begin(b, s.requested);
            now.tree.add(*w);
            enter(*w, now.tree, *refuser_in(s));
        });
        if (w == nullptr) return s;
        full_fence(); // a refund that is deferred meanwhile sees the waiter, or the request sees the refund
        return change_tree(*b.by, [&](tree_change& now) {
            if (end_try(*w, now.tree, s)) {
                if (account_reservation made = std::move(only_.made)) made.swap(b.all.front().made);
                return s;
            }
            at_.store(batch_.by, std::memory_order_release);
            if (news.any()) now.tree.note_missed(*w);
            return s.outcome = charge_outcome::queued, s;
        });
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
    static wait_queue& queue_of(const waiter& w) noexcept { return const_cast<tree_node*>(w.in)->waits(); }
    static void enter(waiter& w, account_tree& tree, const account_node& level) noexcept {
        w.in = &level;
        queue_of(w).add(w);
        auto& within = const_cast<account_node&>(level);
        while (tree.recall_some(within).more) {
        } // with the lock: the tree may end without it
        static_cast<void>(tree.settle_reservations_below(within));
    }
    // Whether the request has come to its end, granted or refused for good, as `s` says. Else it sleeps, in the queue
    // of the level that refuses it now.
    bool end_try(waiter& w, account_tree& tree, charge_status& s) noexcept {
        for (;;) {
            s = reserving::attempt(batch_, never_waits, nullptr, &w);
            if (s || !batch_.can_ever_fit()) break;
            const account_node* level = refuser_in(s);
            const bool moves = moves_to(*level);
            w.at = level;
            w.held_back = s.outcome == charge_outcome::held_back;
            w.passes = false;
            if (level->is_below(*w.in)) {
                queue_of(w).sleep(w, tree.waits);
                if (moves) tree.note_missed(w);
                return tree.look_at_all(), false; // for those that did not fit beside its try
            }
            queue_of(w).remove(w);
            while (!w.in->is_below(*level)) level = level->above(); // of two accounts beside each other
            enter(w, tree, *level);
            if (moves) tree.note_missed(w);
        }
        leave(tree);
        tree.look_at_all(); // for those behind it
        return true;
    }
    ALLOT_OUTLINE_WARM granted_call make(waiter& w, account_tree& tree) noexcept override {
        account_node& by = *batch_.by;
        charge_status s;
        if (!end_try(w, tree, s)) {
            if (!w.looks) return {};
            leave(tree), s = {}; // there is news for it, though the bytes are not free
        }
        calls_.fetch_add(1, std::memory_order_relaxed);
        static_cast<void>(by.life.enter_refund());
        return {this, &by, only_.made.take(), s};
    }
    void leave(account_tree& tree) noexcept {
        const_cast<tree_node*>(w_->in)->waits().remove(*w_);
        tree.remove(*w_);
        at_.store(nullptr, std::memory_order_release);
    }
    // Behind make(), without a lock. close() keeps its account for other threads until then.
    ALLOT_OUTLINE_WARM void call(const granted_call& made) noexcept override {
        check_no_lock_is_held("calls a reservation's callback");
        waiter* const trying = std::exchange(of_this_thread.trying, nullptr); // of this thread: another request
        const bool undoes = std::exchange(of_this_thread.undoes, false);
        const user_call of_account{user_call::kind::reservation, made.by}, mine{user_call::kind::callback, this};
        call_(context_, account_reservation{made.made, made.status});
        of_this_thread.trying = trying;
        of_this_thread.undoes = undoes;
        if (mine.about() == nullptr) return; // it has ended
        std::atomic<std::uint32_t>* const at = &calls_;
        at->fetch_sub(1, std::memory_order_release); // the last access
        at->notify_all();
    }

    const callback call_;
    void* const context_;
    std::atomic<account_node*> at_{nullptr};
    std::atomic<std::uint32_t> calls_{0};
    reservation_change only_{}; // of a batch of one
    reservation_batch batch_{};
    const tree_node* refused_by_ = nullptr;
    std::optional<waiter> w_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
