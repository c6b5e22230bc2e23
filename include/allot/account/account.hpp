// An account: counts bytes under a limit, in a tree of accounts. It owns no memory.
//
//     root (limit) -- query (reservation, limit) -- operator (limit) -- leaf (credit_step)     any depth, any limits
//
// A leaf with a credit step is granted more than it uses; the unused part is its credit. An account counts its
// `subtree_charge` at its parent: used and credit, at least its reservation. A request that the credit does not cover
// checks every level under the tree's lock, then changes all levels or none.
//
// Invariant: used <= limit at every account after each charge that fitted; used = own + the subtree charges of the
// children; peak = the most that was used by requests that succeeded.
// Cost: 640 bytes per account, no other memory; a request that climbs takes O(depth).
// Threads: any, but for construction and destruction. A refund does not wait for the tree's lock, except with
// a log or listeners, in a closing account, or if the deferred bytes would exceed 2 GiB.
// Source: Drill's Accountant, 2014, which charges first and checks then; Velox's steps, 2022.
#pragma once

#include <allot/account/account_arguments.hpp>
#include <allot/account/account_item.hpp>
#include <allot/account/account_lifetime.hpp>
#include <allot/account/account_listener.hpp>
#include <allot/account/account_log.hpp>
#include <allot/account/account_reservation.hpp>
#include <allot/account/account_status.hpp>
#include <allot/account/account_tree.hpp>
#include <allot/account/charge_request.hpp>
#include <allot/account/memory_request.hpp>
#include <allot/account/tree_node.hpp>
#include <allot/account/wait_list.hpp>
#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/error.hpp>
#include <allot/core/text.hpp>
#include <allot/core/units.hpp>
#include <allot/core/values.hpp>
#include <allot/reclaim/wait_limit.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/mutex.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace allot::inline ALLOT_ABI {

class alignas(64) account : detail::tree_node {
  public:
    /// Makes a root. Takes in any order: limit, grace, credit_step, leak_sink, an arbiter.
    /// Requires: the name outlives the account.
    /// Throws: out_of_memory if the credit step is larger than credit_step::max_bytes. With std::nothrow the account is
    /// closed instead: see refusal().
    template <class... Values>
    explicit account(allot::name who, const Values&... values) noexcept(!detail::may_refuse_step<Values...>)
        : account(nullptr, detail::account_arguments(who, values...)) {
        detail::check_account_values<Values...>();
        if constexpr (detail::may_refuse_step<Values...>)
            if (!refusal_) raise_not_opened();
        static_assert(!given<allot::reservation, const Values&...>,
                      "allot: a root account takes no reservation, since it has no parent; give it a limit, or make it "
                      "a child: account{parent, name{...}, reservation{...}}");
    }
    /// Makes a child. Takes the same values, and a reservation, which is charged to the parent at once. The child's
    /// limit may exceed its parent's; both apply.
    /// Requires: the parent outlives the child.
    /// Throws: out_of_memory if the parent refuses, or for its credit step. With std::nothrow the account is closed
    /// instead: see refusal().
    template <class... Values>
    account(account& parent, allot::name who, const Values&... values) noexcept(given<std::nothrow_t, const Values&...>)
        : account(&parent, detail::account_arguments(who, values...)) {
        detail::check_child_values<Values...>();
        if constexpr (!given<std::nothrow_t, const Values&...>)
            if (!refusal_) raise_not_opened();
    }
    /// Rejected at compile time: the first argument must be a name.
    template <detail::account_value First, class... Values>
    explicit account(const First& first, const Values&...) noexcept : account(detail::account_name_missing(first)) {}
    template <detail::account_value First, class... Values>
    account(account&, const First& first, const Values&...) noexcept : account(detail::account_name_missing(first)) {}
    account(const account&) = delete;
    account& operator=(const account&) = delete;
    /// Calls close().
    ~account();

    // ---- charges --------------------------------------------------------------------------------------------

    /// Charges the bytes to this account and all above, or changes nothing.
    /// Returns: false if a level has no headroom, or the account is closed. The status names the level.
    /// Complexity: O(1) within the credit, else O(depth) under the tree's lock.
    [[nodiscard]] ALLOT_ALWAYS_INLINE charge_status try_charge(std::size_t bytes) noexcept {
        if (ALLOT_LIKELY(credit().take(bytes))) return {};
        return charge_slow(bytes, mode::checked);
    }
    /// As try_charge(); on a thread of the root's arbiter it waits while a limit refuses (docs/oom.md).
    /// Throws: out_of_memory if refused; its report names the level and the top holders of the tree. verdict_error.
    ALLOT_ALWAYS_INLINE charge_status charge(std::size_t bytes) {
        if (ALLOT_LIKELY(credit().take(bytes))) return {};
        return charge_or_raise(bytes);
    }
    /// As try_charge(), and waits while a limit refuses, until memory is free below it: for other requests to be
    /// refunded, or for a higher limit. Inside a listener or reclaimer it does not wait.
    /// Returns: at the end of the wait as try_charge() does; `cancelled` by a cancellation.
    charge_status charge_for(std::size_t bytes, const wait_limit& wait) noexcept;
    /// Charges the bytes even beyond limits.
    /// Returns: fitted() is false if a limit is exceeded. Refused only by a closed account, or if a sum overflows.
    charge_status force_charge(std::size_t bytes) noexcept {
        if (ALLOT_LIKELY(credit().take(bytes))) return {};
        return charge_slow(bytes, mode::forced);
    }
    /// Refunds charged bytes. At most a credit step of them stays as credit. More than was charged is misuse.
    ALLOT_ALWAYS_INLINE void refund(std::size_t bytes) noexcept {
        if (ALLOT_LIKELY(credit().give(bytes))) return;
        refund_slow(bytes, [] {});
    }
    /// As refund(), and calls on_refunded() once other requests can charge the bytes, before listeners are called.
    template <class OnRefunded> void refund(std::size_t bytes, OnRefunded on_refunded) noexcept {
        if (!credit().give(bytes)) return refund_slow(bytes, on_refunded);
        on_refunded();
    }
    /// Charges `to` instead of `from`, even beyond limits. No level counts the bytes twice at any moment; levels above
    /// both accounts change only if a reservation makes a difference.
    /// Returns: fitted() is false if a limit is exceeded. Misused, with no effect: accounts of two trees (reported), or
    /// more bytes than `from` has. Closed, with no effect: `to` is closed, or below a closed account that `from` is not
    /// below.
    static charge_status transfer(account& from, account& to, std::size_t bytes) noexcept {
        return move(from, to, bytes, mode::forced);
    }
    /// As transfer(), but changes nothing if a level has no headroom.
    [[nodiscard]] static charge_status try_transfer(account& from, account& to, std::size_t bytes) noexcept;

    /// Reserves bytes of the parent: until the result ends, the account can charge as many bytes more without asking
    /// its parent. They are added to what is reserved already, or to what is used, if that is more.
    /// Returns: a false reservation, whose status says why, if refused; nothing has changed then. Reserved bytes count
    /// as used in the status.
    account_reservation maybe_reserve(std::size_t bytes) noexcept;

    // ---- limits and statistics ------------------------------------------------------------------------------

    /// Applies to later requests. A limit below used() refuses charges until enough is refunded.
    void set_limit(std::size_t bytes) noexcept;
    void set_grace(std::size_t bytes) noexcept;
    std::size_t limit() const noexcept { return totals().limit(); }
    /// What the limit bounds: own charges, and the subtree charges of the children. In bytes.
    std::size_t used() const noexcept;
    std::size_t peak() const noexcept;
    /// The largest charge that would fit now, without grace and the credit of other leaves.
    std::size_t headroom() const noexcept;
    /// Whether a limit is exceeded, here or above.
    bool over_limit() const noexcept;
    /// Whether a charge would fit now. Charges nothing, but leaves may return their credit.
    bool fits(std::size_t bytes) noexcept;
    /// Whether the account's own credit covers a charge. Takes no lock.
    ALLOT_ALWAYS_INLINE bool has_credit(std::size_t bytes) const noexcept { return credit().covers(bytes); }
    account_stats stats() const noexcept;

    const char* name() const noexcept { return tree_node::name(); }
    /// The parent; null for a root. When the parent ends, this is its parent.
    account* parent() const noexcept;
    account& root() const noexcept { return tree_node::root(); }
    /// False once this account or one above has begun to close: charges are refused for good.
    bool is_open() const noexcept { return life_.accepts_charges(); }
    /// Closed, and its subtree charge returned to the parent. False for a root, which keeps its numbers.
    bool has_ended() const noexcept { return this != &root() && life_.is_closed(); }
    /// Why the account could not be opened (std::nothrow); else a status that fits.
    const charge_status& refusal() const noexcept { return refusal_; }

    // ---- the end --------------------------------------------------------------------------------------------

    /// Closes the account: its subtree charge returns to the parent, and its children become the parent's. Charges to
    /// it and to all accounts below are refused for good, as `closed` by this account. Reports to the leak sink the
    /// bytes not refunded, open items, counts and children, with the events of the log. Idempotent.
    /// Returns: false if something was reported.
    bool close() noexcept;
    /// Refuses charges here and below from now on, waits at most this long for the last refund, then closes.
    bool close(time_span most) noexcept;
    /// The same, without a wait: the last refund, count, item or child that leaves ends it, and calls `ended`, which
    /// may destroy it.
    /// Returns: true if it has ended already; `ended` is not called then.
    bool close_when_drained(void (*ended)(account&, void*) noexcept, void* context = nullptr) noexcept;

    // ---- listeners, items, logs -------------------------------------------------------------------------------

    /// Calls the listener for requests at and below, which keep no credit meanwhile. One that is added is ignored.
    void add(account_listener& listener) noexcept;
    /// Removes the listener, and waits for its calls. Returns: false inside a call of a listener while it runs; it must
    /// live until that call returns.
    bool remove(account_listener& listener) noexcept;

    /// Calls the reclaimer for requests that this account or one above refuses, until it is removed.
    void add(reclaimer& r) noexcept;
    /// Removes the reclaimer, and waits for a call of it on another thread. Returns: false inside a call of it on this
    /// thread; it is not called again, and must live until a second remove() returns true.
    bool remove(reclaimer& r) noexcept { return tree().reclaimers.remove(r, shape()); }
    /// Calls visit(const reclaimer&) for those at and below this account, the lowest cost first. Requires: as visit().
    template <class Visit> void visit_reclaimers(Visit visit) const noexcept;
    void add(account_item& item) noexcept;
    void remove(account_item& item) noexcept;
    /// Counts open buffers and buffer reservations. They are reported as leaks, and delay a closing account's end.
    /// Requires: decrement before you refund, and without your own locks. The last decrement may end the account.
    /// Complexity: one atomic addition while the account is open; the tree's lock while it closes.
    ALLOT_ALWAYS_INLINE void count(counted what, int by) noexcept { count_at(static_cast<unsigned>(what), by); }
    /// Counts one more. Returns: false if the account is closing; nothing is counted then.
    bool count_if_open(counted what) noexcept { return life_.counts().add_if_open(static_cast<unsigned>(what)); }
    /// Records the first event and the last ones with stack traces; null ends it. The account keeps no credit then.
    /// Requires: the log outlives the account, or its removal and every call that runs then.
    void set_log(account_log* log) noexcept;
    account_log* log() const noexcept { return log_.load(std::memory_order_acquire); }
    /// Copies all accounts of the tree at each new peak of its root, until keep_peak(nullptr).
    void keep_peak(account_peak* copy) noexcept;

    // ---- the tree -------------------------------------------------------------------------------------------

    /// Calls visit(account_stats, account) for this account and all below, parents first. Charges go on meanwhile; no
    /// account is opened or closed, and no item added or removed.
    /// Requires: the visitor does none of these, and reads only the name, log and items of the account.
    template <class Visit> void visit(Visit visit) const;
    /// Calls visit(account_item) for the items of this account alone. Requires: called by a visitor of the tree.
    template <class Visit> void each_item(Visit visit) const;
    /// Checks every invariant of this account and all below. Complexity: O(accounts), under the tree's lock.
    bool verify() const noexcept;

    // ---- for ledgers ----------------------------------------------------------------------------------------

    /// Charges bytes that count in no peak until they are confirmed: hold, take the memory, confirm; cancel if there is
    /// none. Other requests that fit but for held bytes wait until these are confirmed or cancelled.
    /// Requires: the thread charges nothing else in this tree before confirm() or cancel().
    [[nodiscard]] charge_status try_hold(std::size_t bytes) noexcept { return charge_slow(bytes, mode::held); }
    /// Held bytes are in use now, and count in peaks.
    void confirm(std::size_t bytes) noexcept;
    /// Refunds held bytes. Listeners are called with released().
    void cancel(std::size_t bytes) noexcept;
    /// The status of a charge that a closed account refuses; fits while the account is open.
    charge_status why_closed(std::size_t bytes) const noexcept;
    /// What this account and those above add to the ladder of a request (ladder.hpp).
    class steps;
    /// Makes a request again that was refused, as `asked.why` says: idle memory and reclaimers at and below the account
    /// that refused free memory, then it waits, as far as the request may. attempt() sets `asked.why`.
    /// Returns: whether it was granted.
    /// Requires: the thread holds no lock of allot.
    template <class Attempt> bool request_again(detail::memory_request& asked, Attempt attempt) const noexcept;
    /// The same for a request whose attempts climb by themselves: it only waits between them.
    template <class Attempt> bool wait_for(detail::memory_request& asked, Attempt attempt) const noexcept;
    /// Lets requests that wait ask again: memory charged here has become unused, or a reclaimer here has more to free.
    void notify_unused() noexcept {
        if (ALLOT_UNLIKELY(!tree().waiters.empty())) announce_unused();
    }
    /// Whether the calling thread works for a task of the root's arbiter; throws the verdict that refused a request.
    bool is_judged() const noexcept { return judged_thread() != nullptr; }
    void raise_verdict(const charge_status& why) const;
    void write_tasks(text_writer& out) const noexcept; ///< For reports: the tasks of the root's arbiter.
    bool is_waited_for() const noexcept; ///< Whether a request waits that unused memory of this account may serve.
    /// For tests: has the root's arbiter ask the injector before charges. Requires: this is a root that has one.
    void add(detail::injector& i) noexcept;
    void remove(detail::injector& i) noexcept;
    /// Requires: this is a root that has one.
    detail::judge& arbiter() const noexcept { return *tree().judged.by; }
    /// A status that names this account as what refused.
    charge_status status(charge_outcome outcome, std::size_t requested, std::size_t used,
                         std::size_t limit) const noexcept {
        return {outcome, refuser::account, this, requested, used, limit, name()};
    }

  private:
    using mode = detail::charge_mode;
    class locked;

    account(account* parent, const detail::account_arguments& requested) noexcept;

    static account* of(tree_node* n) noexcept { return static_cast<account*>(n); }
    static const account* of(const tree_node* n) noexcept { return static_cast<const account*>(n); }
    detail::account_tree& tree() const noexcept { return root().tree_; }
    sys::mutex& shape() const noexcept { return tree().shape; }

    void count_refused() const noexcept;
    charge_status charge_slow(std::size_t bytes, mode how) noexcept;
    charge_status charge_or_wait(std::size_t bytes, const wait_limit* wait, bool judged) noexcept;
    charge_status charge_watched(std::size_t bytes, mode how, const wait_limit* wait, bool judged) noexcept;
    charge_status charge_or_climb(std::size_t bytes, mode how, const wait_limit* wait, bool judged) noexcept;
    charge_status charge_again(std::size_t bytes, const charge_status& why, const wait_limit* wait, bool judged,
                               bool is_due) noexcept;
    charge_status charge_or_raise(std::size_t bytes);
    template <class Attempt>
    void request_counted(detail::memory_request& asked, Attempt attempt, bool is_due = true) const noexcept;
    template <class Tell>
    static void notify(account& from, Tell tell, const account* about = nullptr,
                       const account* beside = nullptr) noexcept;
    charge_status charge_locked(std::size_t bytes, mode how) noexcept;
    template <class OnRefunded> void refund_slow(std::size_t bytes, OnRefunded on_refunded) noexcept;
    void refund_locked(std::size_t bytes) noexcept;
    bool defer_refund(std::size_t bytes) noexcept;
    template <class Now, class OnRefunded>
    void return_and_notify(const char* what, std::size_t bytes, Now now, OnRefunded on_refunded) noexcept;
    static charge_status move(account& from, account& to, std::size_t bytes, mode how) noexcept;
    static charge_status move_and_notify(account& from, account& to, std::size_t bytes, mode how) noexcept;
    static charge_status move_locked(account& from, account& to, std::size_t bytes, mode how) noexcept;
    friend class account_reservation;
    charge_status reserve_more(account_reservation& made) noexcept;
    void end_reservation(const account_reservation& gone) noexcept;
    static bool stays_below_closed(const account& from, const account& to) noexcept;
    bool may_take_credit() const noexcept;
    void charged_beyond(const limit_check& found) noexcept;
    static charge_status status_of(const limit_check& found, std::size_t requested) noexcept {
        if (found.fitted()) return {};
        return of(found.at)->status(found.outcome, requested, found.used, found.limit);
    }
    charge_status refused_here(charge_outcome why, std::size_t requested) const noexcept {
        return status(why, requested, tree_node::used(), limit());
    }
    [[noreturn]] void raise_refused(const charge_status& s) const; // top_holders.hpp
    [[noreturn]] void raise_not_opened() const;
    void log_event(const char* what, std::size_t bytes) noexcept {
        if (account_log* const to = log()) to->record(what, bytes, used());
    }
    struct levels;
    class waiting_request;
    class wait_step;
    detail::judged_thread* judged_thread() const noexcept; // the calling one, if the root's arbiter knows it
    bool is_ended_at_once(charge_status& why, bool first) const noexcept;
    static bool ended_by(charge_status& why, verdict v) noexcept;
    void announce_unused() noexcept;
    std::uint32_t count_sleeping() const noexcept;
    void settle_waits() const noexcept; // account_charge.hpp
    friend detail::judged_root;
    std::size_t trim_idle(bool waits) const noexcept; // of a root; in bytes
    enum class opening : std::uint8_t { done, wait, ask };
    opening try_open_below(account& parent, std::size_t reserved, bool asked) noexcept;
    void refuse_to_open(const charge_status& why) noexcept;
    limit_check check_parent(account& parent, std::size_t reserved) noexcept;
    ALLOT_ALWAYS_INLINE void count_at(unsigned at, int by) noexcept {
        if (ALLOT_UNLIKELY(!life_.counts().add(at, by))) count_closing(at, by);
    }
    void count_closing(unsigned at, int by) noexcept;
    void wait_for_refunds() const noexcept;
    void begin_closing() noexcept;
    void refuse_charges() noexcept;
    void set_closed_by(account& by) noexcept;
    charge_status refused_closed(std::size_t requested) const noexcept;
    bool is_drained() const noexcept;
    void end_if_drained() noexcept;
    static void end_drained(account* first) noexcept;
    void end_by_itself() noexcept;
    bool leave_tree() noexcept;
    account* pin_parent() noexcept;
    account* unpin() noexcept;
    bool end(text_writer& leaks) noexcept;
    bool write_leaks(text_writer& out) const noexcept;
    void notify_child_change(account& parent, bool added) noexcept;
    account_stats stats_now() const noexcept;
    account_stats stats_locked() const noexcept;
    static void copy_peak(const account& root, account_peak& to) noexcept;

    detail::account_lifetime life_;
    std::atomic<account_log*> log_{nullptr};
    account_items items_; // requires the tree's mutex
    charge_status refusal_;
    leak_sink leaks_;
    std::size_t promised_ = 0;                     // by maybe_reserve(); requires the lock
    alignas(64) detail::account_tree tree_{*this}; // used in the root only
};

// Holds the tree's lock. Accounts that drained meanwhile are ended after the unlock; with ends = false, which a caller
// that may hold the tree's mutex passes, by the next holder. Requests that wait are woken if they may fit now.
class account::locked {
  public:
    explicit locked(const account& a, bool ends = true) noexcept : tree(a.tree()), by_(a), ends_(ends) {
        tree.lock.lock();
    }
    locked(const account& a, detail::adopt_lock_t, std::size_t refunds, bool ends = true) noexcept
        : tree(a.tree()), by_(a), ends_(ends), refunds_(refunds) {}
    locked(const locked&) = delete;
    locked& operator=(const locked&) = delete;
    ALLOT_ALWAYS_INLINE ~locked() {
        if (ALLOT_UNLIKELY(tree.acts_at_unlock)) act_and_unlock(by_, ends_, refunds_);
        else tree.lock.unlock();
    }

    detail::account_tree& tree;

  private:
    static void act_and_unlock(const account& by, bool ends, std::size_t refunds) noexcept;
    const account& by_;
    const bool ends_ = true;
    const std::size_t refunds_ = 0;
};

} // namespace allot::inline ALLOT_ABI

#include <allot/account/account_charge.hpp>
#include <allot/account/account_closing.hpp>
#include <allot/account/account_peak.hpp>
#include <allot/account/account_transfer.hpp>
#include <allot/account/account_waiting.hpp>
#include <allot/account/account_watch.hpp>
#include <allot/account/top_holders.hpp>
