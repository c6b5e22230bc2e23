// An account: bytes charged under a limit, in a tree of accounts. Numbers only: it owns no memory.
//
//     root (limit) -- query (reservation, limit) -- operator (limit) -- leaf (steps)      depth and limits as you like
//
// An account counts at its parent what it uses, at least its reservation (its claim). A request that climbs checks
// every level under the tree's lock, and then changes all of them or none. A leaf with steps takes credit ahead: then
// charge and refund are one compare-and-swap, until the credit is used up or exceeds a step. Before a request is
// refused, leaves return their credit.
// Invariant: used <= limit at every account after each charge that fitted; used = own + the claims of its children;
// peak = the most that was used by requests that succeeded. Cost: 448 bytes an account (512 in checked builds), no
// memory beside; O(depth) for a request that climbs. Threads: any, but for construction and destruction. Refund never
// waits: if the lock is taken, its next holder settles the refund.
// Source: Drill's Accountant, 2014, which charges first and checks then; Velox's steps, 2022.
//
// What it is made of: leaf_credit.hpp (one leaf's credit), tree_node.hpp (figures of all levels), tree_lock.hpp (the
// lock and the refunds that found it taken), listener_dispatch.hpp, account_lifetime.hpp.
#pragma once

#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/text.hpp>
#include <allot/core/units.hpp>
#include <allot/core/values.hpp>
#include <allot/ledger/account_arguments.hpp>
#include <allot/ledger/account_item.hpp>
#include <allot/ledger/account_lifetime.hpp>
#include <allot/ledger/account_listener.hpp>
#include <allot/ledger/account_log.hpp>
#include <allot/ledger/account_status.hpp>
#include <allot/ledger/account_tree.hpp>
#include <allot/ledger/charge_request.hpp>
#include <allot/ledger/tree_node.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/mutex.hpp>
#include <allot/sys/thread_owner.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace allot::inline ALLOT_ABI {

class account_peak;

class alignas(64) account : detail::tree_node {
  public:
    // A root. Values, in any order: limit, grace, credit_step, one_thread, leak_sink. The name must outlive the
    // account.
    template <class... Values>
    explicit account(allot::name who, const Values&... values) noexcept
        : account(nullptr, detail::account_arguments(who, values...)) {
        detail::check_account_values<Values...>();
        static_assert(!given<allot::reservation, const Values&...>,
                      "allot: a root has no parent of whom it could reserve: only children take a reservation");
    }
    // A child. Also takes a reservation, which is charged to the parent at once, all of it or nothing. The parent
    // outlives the child, and is not one_thread. A child's limit may exceed its parent's.
    // Throws: out_of_memory if the reservation is refused. With std::nothrow the account is closed then; see refusal().
    template <class... Values>
    account(account& parent, allot::name who, const Values&... values) noexcept(given<std::nothrow_t, const Values&...>)
        : account(&parent, detail::account_arguments(who, values...)) {
        detail::check_account_values<Values...>();
        if constexpr (!given<std::nothrow_t, const Values&...>)
            if (!refusal_) raise_refused(refusal_);
    }
    // Rejected at compile time: the first argument must be a name.
    template <detail::account_value First, class... Values>
    explicit account(const First& first, const Values&...) noexcept : account(detail::account_name_missing(first)) {}
    template <detail::account_value First, class... Values>
    account(account&, const First& first, const Values&...) noexcept : account(detail::account_name_missing(first)) {}
    account(const account&) = delete;
    account& operator=(const account&) = delete;
    // As close().
    ~account() { close(); }

    // ---- charges --------------------------------------------------------------------------------------------

    // Returns false in the status if a level has no room, and names the level. Then nothing is charged on any level.
    [[nodiscard]] ALLOT_ALWAYS_INLINE charge_status try_charge(std::size_t bytes) noexcept {
        if (ALLOT_LIKELY(take_credit(bytes))) return {};
        return charge_slow(bytes, mode::checked);
    }
    // The same. Throws: out_of_memory, whose page names the level and the top holders of the tree.
    ALLOT_ALWAYS_INLINE charge_status charge(std::size_t bytes) {
        if (ALLOT_LIKELY(take_credit(bytes))) return {};
        const charge_status s = charge_slow(bytes, mode::checked);
        if (ALLOT_UNLIKELY(!s)) raise_refused(s);
        return s;
    }
    // Charges whatever the limits are. The status says whether it fitted, and which limit is exceeded.
    charge_status force_charge(std::size_t bytes) noexcept {
        if (ALLOT_LIKELY(take_credit(bytes))) return {};
        return charge_slow(bytes, mode::forced);
    }
    // Threads: any; the account's own, with one_thread. Refunding more than was charged is reported as misuse.
    ALLOT_ALWAYS_INLINE void refund(std::size_t bytes) noexcept {
        if (ALLOT_LIKELY(give_credit(bytes))) return;
        refund_slow(bytes, [] {});
    }
    // The same. Calls on_refunded() once other requests can charge the bytes, before listeners are called.
    template <class OnRefunded> void refund(std::size_t bytes, OnRefunded on_refunded) noexcept {
        if (!give_credit(bytes)) return refund_slow(bytes, on_refunded);
        on_refunded();
    }
    // Bytes charged to `from` are charged to `to`. No level is charged twice at any moment, and levels above both
    // change only where a reservation makes a difference. transfer() is always done, but across trees (misused), and
    // the status says whether it fitted; try_transfer() is done only if it fits.
    static charge_status transfer(account& from, account& to, std::size_t bytes) noexcept {
        return move(from, to, bytes, mode::forced);
    }
    [[nodiscard]] static charge_status try_transfer(account& from, account& to, std::size_t bytes) noexcept {
        return move(from, to, bytes, mode::checked);
    }

    // Reserves: this many bytes more can be charged without asking the parent. False: nothing has changed.
    [[nodiscard]] charge_status maybe_reserve(std::size_t bytes) noexcept;
    // Returns the unused part of what was reserved so; the reservation of the constructor stays.
    void release_reservation() noexcept;

    // ---- limits and figures ---------------------------------------------------------------------------------

    // For later requests. A limit below what is used stops charges until enough is refunded.
    void set_limit(std::size_t bytes) noexcept;
    void set_grace(std::size_t bytes) noexcept;
    std::size_t limit() const noexcept { return totals().limit(); }
    // What counts against the limit: own charges, and the claims of children (see account_stats).
    std::size_t used() const noexcept;
    std::size_t peak() const noexcept;
    // The largest charge that would fit now, without the credit of other leaves; 0 if a limit is exceeded.
    std::size_t headroom() const noexcept;
    // Here, or at an account above.
    bool over_limit() const noexcept;
    // Whether a charge would fit now. Changes nothing, but leaves may return their credit.
    bool fits(std::size_t bytes) noexcept;
    // Whether the account's own credit covers a charge. Takes no lock.
    ALLOT_ALWAYS_INLINE bool has_credit(std::size_t bytes) const noexcept { return credit().covers(bytes); }
    account_stats stats() const noexcept;

    const char* name() const noexcept { return tree_node::name(); }
    account* parent() const noexcept { return of(tree_node::parent()); }
    account& root() const noexcept { return tree_node::root(); }
    bool is_open() const noexcept { return life_.is_open(); }
    // Closed, and its claim returned to its parent. Always false for a root, which keeps its figures.
    bool has_ended() const noexcept { return this != &root() && life_.is_closed(); }
    // Why it could not be opened (std::nothrow); fits otherwise.
    const charge_status& refusal() const noexcept { return refusal_; }

    // ---- the end --------------------------------------------------------------------------------------------

    // Idempotent. Returns the claim to the parent, which also gets the children. Bytes that were not refunded, items,
    // and children that are still open are reported to the leak sink, with the sites of the log.
    // Returns false if something was reported.
    bool close() noexcept;
    // The same, after waiting at most this long for refunds; refuses charges from now on.
    bool close(time_span most) noexcept;
    // Refuses charges from now on. The last refund, or the close of the last child, ends the account and then calls
    // `ended`, which may destroy it. Returns true if it has ended already; then `ended` is not called.
    bool close_when_drained(void (*ended)(account&, void*) noexcept, void* context = nullptr) noexcept;

    // ---- listeners, items, logs -------------------------------------------------------------------------------

    // Calls the listener for this account and all below, until it is removed.
    void add(account_listener& listener) noexcept;
    // Waits for calls that run. Inside a call of this tree it does not wait: it returns false if the listener still
    // runs elsewhere, and the listener must live until those calls return.
    bool remove(account_listener& listener) noexcept;

    void add(account_item& item) noexcept;
    void remove(account_item& item) noexcept;
    // Counts open buffers and reservations, by 1. They are reported as leaks, and delay the end of a closing account.
    // Do not touch the account after your last decrement. Decrement before you refund, and without your own locks:
    // it may end the account. Cost: one atomic addition while the account is open.
    ALLOT_ALWAYS_INLINE void count(counted what, int by) noexcept { count_at(static_cast<unsigned>(what), by); }
    // Counts one more if the account is open. False: it is closing, and nothing was counted.
    bool count_if_open(counted what) noexcept { return life_.counts().add_if_open(static_cast<unsigned>(what)); }
    // Keeps the first and the last events of this account with stack traces; null: no longer. The account takes no
    // credit meanwhile.
    void set_log(account_log* log) noexcept;
    account_log* log() const noexcept { return log_.load(std::memory_order_acquire); }
    // Keeps all accounts of the tree as they are when most is used at its root, from now on; null: no longer.
    void keep_peak(account_peak* copy) noexcept;

    // ---- the tree -------------------------------------------------------------------------------------------

    // Calls visit(account_stats, account) for this account and all below, parents first. Accounts may charge
    // meanwhile; none is opened or closed, and no item added. The visitor must do none of that, and may ask the
    // account only for its name, log and items.
    template <class Visit> void visit(Visit visit) const {
        const detail::lock_guard whole(shape());
        walk([&](const tree_node& n) {
            const account& a = *of(&n);
            visit(static_cast<const account_stats&>(a.stats_now()), a);
        });
    }
    // Calls visit(account_item) for the items of this account alone; from a visitor of the tree.
    template <class Visit> void each_item(Visit visit) const {
        for (const account_item* i = items_.first(); i != nullptr; i = items_.after(*i)) visit(*i);
    }
    // Checks every invariant of this account and all below. Complexity: O(accounts), under the tree's lock.
    bool verify() const noexcept;

    // ---- for ledgers ----------------------------------------------------------------------------------------

    // A charge that counts in no peak until it is confirmed. Its thread charges nothing else in this tree in between.
    // Another request that fits but for held bytes waits until they are confirmed or cancelled.
    [[nodiscard]] charge_status try_hold(std::size_t bytes) noexcept {
        return check_thread(), charge_slow(bytes, mode::held);
    }
    void confirm(std::size_t bytes) noexcept;
    void cancel(std::size_t bytes) noexcept; // listeners are called with `released`

  private:
    using mode = detail::charge_mode;
    class locked;

    account(account* parent, const detail::account_arguments& asked) noexcept;

    static account* of(tree_node* n) noexcept { return static_cast<account*>(n); }
    static const account* of(const tree_node* n) noexcept { return static_cast<const account*>(n); }
    detail::account_tree& tree() const noexcept { return root().tree_; }
    sys::mutex& shape() const noexcept { return tree().shape; }

    // ---- account_charge.hpp, account_transfer.hpp
    // With one_thread: a second thread is reported, in checked builds.
    ALLOT_ALWAYS_INLINE void check_thread() noexcept {
        if constexpr (ALLOT_CHECKED != 0)
            if (ALLOT_UNLIKELY(credit().one_thread()) && !user_.is_mine())
                report_misuse({.kind = misuse::wrong_thread, .heap = name()});
    }
    ALLOT_ALWAYS_INLINE bool take_credit(std::size_t bytes) noexcept { return check_thread(), credit().take(bytes); }
    ALLOT_ALWAYS_INLINE bool give_credit(std::size_t bytes) noexcept { return check_thread(), credit().give(bytes); }
    charge_status charge_slow(std::size_t bytes, mode how) noexcept;
    charge_status charge_and_notify(std::size_t bytes, mode how) noexcept;
    charge_status charge_locked(std::size_t bytes, mode how) noexcept;
    template <class OnRefunded> void refund_slow(std::size_t bytes, OnRefunded on_refunded) noexcept;
    void refund_locked(std::size_t bytes) noexcept;
    bool defer_refund(std::size_t bytes) noexcept;
    template <class Now, class OnRefunded>
    void return_and_notify(const char* what, std::size_t bytes, Now now, OnRefunded on_refunded) noexcept;
    static charge_status move(account& from, account& to, std::size_t bytes, mode how) noexcept;
    static charge_status move_and_notify(account& from, account& to, std::size_t bytes, mode how) noexcept;
    static charge_status move_locked(account& from, account& to, std::size_t bytes, mode how) noexcept;
    bool may_take_credit() const noexcept;
    void charged_beyond(const limit_check& found) noexcept;
    static charge_status status_of(const limit_check& found, std::size_t asked) noexcept {
        if (found.fitted()) return {};
        return {found.outcome, of(found.at), asked, found.used, found.limit};
    }
    charge_status refused_here(charge_outcome why, std::size_t asked) const noexcept {
        return {why, this, asked, tree_node::used(), limit()};
    }
    [[noreturn]] void raise_refused(const charge_status& s) const; // top_holders.hpp
    void log_event(const char* what, std::size_t bytes) noexcept {
        if (account_log* const to = log()) to->record(what, bytes, used());
    }

    // ---- account_closing.hpp
    bool try_open_below(account& parent, std::size_t reserved) noexcept;
    limit_check check_parent(account& parent, std::size_t reserved) noexcept;
    ALLOT_ALWAYS_INLINE void count_at(unsigned at, int by) noexcept {
        if (ALLOT_UNLIKELY(!life_.counts().add(at, by))) count_closing(at, by);
    }
    void count_closing(unsigned at, int by) noexcept;
    void begin_closing() noexcept;
    bool is_drained() const noexcept;
    void end_if_drained() noexcept;
    static void end_drained(account* first) noexcept;
    void end_by_itself() noexcept;
    bool leave_tree() noexcept;
    account* pin_parent() noexcept;
    account* unpin_parent() noexcept;
    bool end(text_writer& leaks) noexcept;
    bool write_leaks(text_writer& out) const noexcept;
    void notify_child_change(account& parent, bool added) noexcept;

    // ---- account_watch.hpp, account_peak.hpp
    account_stats stats_now() const noexcept;
    account_stats stats_locked() const noexcept;
    static void copy_peak(const account& root, account_peak& to) noexcept;

    detail::account_lifetime life_;
    std::atomic<account_log*> log_{nullptr};
    account_items items_; // by the tree's mutex
    leak_sink leaks_;
    charge_status refusal_;
    ALLOT_NO_UNIQUE_ADDRESS detail::thread_owner user_; // one_thread

    alignas(64) detail::account_tree tree_; // the root's is used
};

// The tree's lock, held by a function of an account. Accounts that drained meanwhile end after it is released, unless
// the tree's mutex may be held, too (ends = false): then with the next holder.
class account::locked {
  public:
    explicit locked(const account& a, bool ends = true) noexcept : tree(a.tree()), root_(a.root()), ends_(ends) {
        tree.lock.lock();
    }
    locked(const account& a, detail::adopt_lock_t) noexcept : tree(a.tree()), root_(a.root()), ends_(true) {}
    locked(const locked&) = delete;
    locked& operator=(const locked&) = delete;
    ALLOT_ALWAYS_INLINE ~locked() {
        if (ALLOT_UNLIKELY(tree.peak_copy != nullptr)) copy_peak(root_, *tree.peak_copy);
        account* const drained = ends_ && tree.drained != nullptr ? std::exchange(tree.drained, nullptr) : nullptr;
        tree.lock.unlock();
        if (ALLOT_UNLIKELY(drained != nullptr)) end_drained(drained); // the root may end with the last
    }

    detail::account_tree& tree;

  private:
    const account& root_;
    const bool ends_;
};

} // namespace allot::inline ALLOT_ABI

#include <allot/ledger/account_charge.hpp>
#include <allot/ledger/account_closing.hpp>
#include <allot/ledger/account_peak.hpp>
#include <allot/ledger/account_transfer.hpp>
#include <allot/ledger/account_watch.hpp>
#include <allot/ledger/top_holders.hpp>
