// An account: counts bytes under a limit, in a tree of accounts. It owns no memory.
//
//     root (limit) -- query (limit, watermark) -- operator (limit) -- leaf (credit_step)     any depth, any limits
//
// A leaf with a credit step is granted more than it uses; the unused part is its credit. An account counts its
// `subtree_charge` at its parent: used and credit, at least its reservation. A request that the credit does not cover
// checks every level under the tree's lock, then changes all levels or none.
//
// Invariant: used <= limit at every account after each charge that fitted; used = own + the subtree charges of the
// children; peak = the most that was used by requests that succeeded.
// Cost: 768 bytes per account, no other memory; a request that climbs takes O(depth).
// Threads: any, but for construction and destruction. A refund does not wait for the tree's lock, except with
// a log or listeners, in a closing account, or if the deferred bytes would exceed 2 GiB.
// Source: Drill's Accountant, 2014, which charges first and checks then; Velox's steps, 2022.
#pragma once

#include <allot/account/account_charge.hpp>
#include <allot/account/account_life.hpp>
#include <allot/account/account_reservation.hpp>
#include <allot/account/account_transfer.hpp>
#include <allot/account/account_waiting.hpp>
#include <allot/account/reservation_request.hpp>
#include <allot/account/top_holders.hpp>
#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/error.hpp>
#include <allot/core/retry_error.hpp>
#include <allot/core/text.hpp>
#include <allot/core/units.hpp>
#include <allot/core/values.hpp>
#include <allot/reclaim/wait_limit.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/tree/account_arguments.hpp>
#include <allot/tree/account_item.hpp>
#include <allot/tree/account_listener.hpp>
#include <allot/tree/account_log.hpp>
#include <allot/tree/account_node.hpp>
#include <allot/tree/account_numbers.hpp>
#include <allot/tree/account_path.hpp>
#include <allot/tree/account_status.hpp>

#include <cstddef>
#include <cstdint>
#include <new>

namespace allot::inline ALLOT_ABI {

class account {
  public:
    /// Makes a root. Takes in any order: limit, watermark, credit_step, leak_sink, an arbiter.
    /// Requires: the name outlives the account.
    /// Throws: out_of_memory if the credit step is larger than credit_step::max_bytes. With std::nothrow the account is
    /// closed instead: see refusal().
    template <class... Values>
    explicit account(allot::name who, const Values&... values) noexcept(!detail::may_refuse_step<Values...>)
        : account(nullptr, detail::account_arguments(who, values...)) {
        detail::check_account_values<Values...>();
        if constexpr (detail::may_refuse_step<Values...>)
            if (!refusal()) detail::raise_not_opened(node_);
    }
    /// Makes a child. Takes the same values, but no arbiter. The child's limit may exceed its parent's; both apply.
    /// Requires: the parent outlives the child.
    /// Throws: out_of_memory if the parent is closed, or for its credit step. With std::nothrow the account is closed
    /// instead: see refusal().
    template <class... Values>
    account(account& parent, allot::name who, const Values&... values) noexcept(given<std::nothrow_t, const Values&...>)
        : account(&parent, detail::account_arguments(who, values...)) {
        detail::check_child_values<Values...>();
        if constexpr (!given<std::nothrow_t, const Values&...>)
            if (!refusal()) detail::raise_not_opened(node_);
    }
    /// Rejected at compile time: the first argument must be a name.
    template <detail::account_value First, class... Values>
    explicit account(const First& first, const Values&...) noexcept : account(detail::account_name_missing(first)) {}
    template <detail::account_value First, class... Values>
    account(account&, const First& first, const Values&...) noexcept : account(detail::account_name_missing(first)) {}
    account(const account&) = delete;
    account& operator=(const account&) = delete;
    /// Calls close().
    ~account() { detail::close_for_good(node_); }

    // ---- charges --------------------------------------------------------------------------------------------

    /// Charges the bytes to this account and all above, or changes nothing.
    /// Returns: false if a level has no headroom, or the account is closed. The status names the level.
    /// Complexity: O(1) within the credit, else O(depth) under the tree's lock.
    [[nodiscard]] ALLOT_ALWAYS_INLINE charge_status try_charge(std::size_t bytes) noexcept {
        if (ALLOT_LIKELY(node_.credit().take(bytes))) return {};
        return detail::charge_slow(node_, bytes, mode::checked);
    }
    /// As try_charge(); on a thread of the root's arbiter it waits while a limit refuses (docs/oom.md).
    /// Throws: out_of_memory if refused; its report names the level and the top holders of the tree. verdict_error.
    ALLOT_ALWAYS_INLINE charge_status charge(std::size_t bytes) {
        if (ALLOT_LIKELY(node_.credit().take(bytes))) return {};
        return charge_or_raise(bytes);
    }
    /// As try_charge(), and waits while a limit refuses, until memory is free below it: for other requests to be
    /// refunded, or for a higher limit. Inside a listener or reclaimer it does not wait.
    /// Returns: at the end of the wait as try_charge() does; `cancelled` by a cancellation.
    charge_status charge_for(std::size_t bytes, const wait_limit& wait) noexcept {
        return detail::charge_or_wait(node_, bytes, {.wait = &wait});
    }
    /// Charges the bytes even beyond limits.
    /// Returns: fitted() is false if a limit is exceeded. Refused only by a closed account, or if a sum exceeds
    /// 2^63 - 1 bytes.
    charge_status force_charge(std::size_t bytes) noexcept {
        if (ALLOT_LIKELY(node_.credit().take(bytes))) return {};
        return detail::then_free_ahead(node_, detail::charge_slow(node_, bytes, mode::forced));
    }
    /// Refunds charged bytes. At most a credit step of them stays as credit. More than was charged is misuse.
    ALLOT_ALWAYS_INLINE void refund(std::size_t bytes) noexcept {
        if (ALLOT_LIKELY(node_.credit().give(bytes))) return;
        detail::refund_slow(node_, bytes, [] {});
    }
    /// As refund(), and calls on_refunded() once other requests can charge the bytes, before listeners are called.
    template <class OnRefunded> void refund(std::size_t bytes, OnRefunded on_refunded) noexcept {
        if (!node_.credit().give(bytes)) return detail::refund_slow(node_, bytes, on_refunded);
        on_refunded();
    }
    /// Charges `to` instead of `from`, even beyond limits. No level counts the bytes twice at any moment; levels above
    /// both accounts change only if a reservation makes a difference.
    /// Returns: fitted() is false if a limit is exceeded. Misused, with no effect: accounts of two trees (reported), or
    /// more bytes than `from` has. Closed, with no effect: `to` is closed, or below a closed account that `from` is not
    /// below.
    static charge_status transfer(account& from, account& to, std::size_t bytes) noexcept {
        return detail::then_free_ahead(to.node_, detail::move(from.node_, to.node_, bytes, mode::forced));
    }
    /// As transfer(), but changes nothing if a level has no headroom.
    [[nodiscard]] static charge_status try_transfer(account& from, account& to, std::size_t bytes) noexcept {
        return detail::then_free_ahead(to.node_, detail::move_or_climb(from.node_, to.node_, bytes));
    }

    /// Reserves bytes of the parent beyond what is used and reserved now: until the result ends, the account can charge
    /// that many further bytes, again and again, without asking its parent. Bytes that were used before and are
    /// refunded return to the parent. Waits patiently (docs/short-of-memory.md); `0_ms`: not at all.
    /// Returns: a false reservation, whose status says why, if refused; nothing has changed then. Reserved bytes count
    /// as used in the status.
    account_reservation reserve_for(std::size_t bytes, const wait_limit& wait) noexcept {
        return detail::reserving::reserve(node_, bytes, detail::reserves::to_come, wait);
    }
    /// Reserves a floor, in bytes: until the result ends, the account counts no fewer bytes at its parent than the sum
    /// of its floors, whether it uses them or not. Waits as reserve_for().
    /// Returns: as reserve_for().
    account_reservation reserve_floor_for(std::size_t bytes, const wait_limit& wait) noexcept {
        return detail::reserving::reserve(node_, bytes, detail::reserves::floor, wait);
    }
    /// As reserve_for(), and no thread waits: if memory that is freed later may serve the request, it is queued, and
    /// `later` is called once with the reservation (reservation_request.hpp).
    /// Returns: the reservation, if it is granted at once; `later` is not called then. Else a false one, whose status
    /// is `queued`, or says why it is refused; misused if `later` is queued already.
    template <class Then>
    account_reservation reserve_for(std::size_t bytes, reservation_request<Then>& later) noexcept {
        return later.queued_.reserve_or_queue(node_, bytes, detail::reserves::to_come);
    }
    /// The same for a floor.
    template <class Then>
    account_reservation reserve_floor_for(std::size_t bytes, reservation_request<Then>& later) noexcept {
        return later.queued_.reserve_or_queue(node_, bytes, detail::reserves::floor);
    }
    /// Whether the account could charge as many bytes now. If not, `later` is called once when it can, with a
    /// reservation of nothing, whose status fits; or when notify_unused() is called where it is refused: a request may
    /// be served then. Until then it is queued as for reserve_for(), also where a limit must be raised first. Frees
    /// nothing.
    /// Returns: a status that fits, `queued`, or `closed`; over_limit for more than 2^63 - 1 bytes; misused if `later` is
    /// queued already.
    template <class Then> charge_status when_free(std::size_t bytes, reservation_request<Then>& later) noexcept {
        return later.queued_.reserve_or_queue(node_, bytes, detail::reserves::look).status();
    }

    // ---- limits and statistics ------------------------------------------------------------------------------

    /// Applies to later requests. A limit below used() refuses charges until enough is refunded. As notify_unused(), it
    /// may call reclaimers.
    void set_limit(std::size_t bytes) noexcept {
        detail::set_limit(node_, bytes);
        if (node_.tree().asks_for_queued()) detail::free_ahead(node_);
    }
    /// For later charges. SIZE_MAX: none.
    void set_watermark(std::size_t bytes) noexcept { detail::set_watermark(node_, bytes); }
    std::size_t limit() const noexcept { return node_.totals().limit(); }
    /// What the limit bounds: own charges, and the subtree charges of the children; with bytes that are kept for a
    /// request that waits and is due (docs/short-of-memory.md). In bytes.
    ALLOT_OUTLINE_WARM std::size_t used() const noexcept {
        const locked scope(node_);
        return node_.used() + detail::kept(node_);
    }
    /// What of used() nobody has charged: bytes that reservations of accounts below keep, or that are kept for a
    /// request that is due. The rest is charged.
    /// Complexity: O(accounts below), under the tree's lock. Threads: any that is not inside a visit of the tree.
    std::size_t promised() const noexcept { return detail::promised(node_); }
    ALLOT_OUTLINE_WARM std::size_t peak() const noexcept {
        const locked scope(node_);
        return node_.peak();
    }
    /// The largest charge that would fit now, without the credit of other leaves.
    ALLOT_OUTLINE_WARM std::size_t headroom() const noexcept {
        const locked scope(node_);
        return is_open() ? node_.headroom() : 0;
    }
    /// Whether a limit is exceeded, here or above.
    bool over_limit() const noexcept {
        const locked scope(node_);
        return detail::tree_node::first_over_limit(&node_) != nullptr;
    }
    /// Whether a charge would fit now. Charges nothing, but leaves may return their credit.
    bool fits(std::size_t bytes) noexcept { return (bytes != 0 && has_credit(bytes)) || detail::fits(node_, bytes); }
    /// Whether the account's own credit covers a charge. Takes no lock.
    ALLOT_ALWAYS_INLINE bool has_credit(std::size_t bytes) const noexcept { return node_.credit().covers(bytes); }
    account_stats stats() const noexcept {
        const detail::lock_guard whole(node_.shape());
        return detail::stats_with_items(node_);
    }

    const char* name() const noexcept { return node_.name(); }
    /// The names below the root, by which reports name the account; of one that has ended, or was not opened, its name.
    /// Complexity: O(depth). Threads: any that is not inside a visit of the tree.
    detail::account_path path() const noexcept { return detail::path_of(node_); }
    /// The parent; null for a root. When the parent ends, this is its parent.
    account* parent() const noexcept {
        const locked scope(node_);
        detail::account_node* const above = node_.above();
        return above != nullptr ? &above->face : nullptr;
    }
    account& root() const noexcept { return node_.root().face; }
    /// The number of the account's tree, which no other of this process has or had; never 0.
    std::uint32_t tree_number() const noexcept { return node_.tree().number(); }
    /// False once this account or one above has begun to close: charges are refused for good.
    bool is_open() const noexcept { return node_.is_open(); }
    /// Closed, and its subtree charge returned to the parent. False for a root, which keeps its numbers.
    bool has_ended() const noexcept { return this != &root() && node_.life.is_closed(); }
    /// Why the account could not be opened (std::nothrow); else a status that fits.
    const charge_status& refusal() const noexcept { return node_.refusal; }

    // ---- the end --------------------------------------------------------------------------------------------

    /// Closes the account: its subtree charge returns to the parent, and its children become the parent's. Charges to
    /// it and to all accounts below are refused for good, as `closed` by this account. Reports to the leak sink the
    /// bytes not refunded, open items, counts and children, with the events of the log. Idempotent.
    /// Returns: false if something was reported.
    bool close() noexcept { return detail::close(node_); }
    /// Refuses charges here and below from now on, waits at most this long for the last refund, then closes.
    bool close(time_span most) noexcept { return detail::close_after(node_, most); }
    /// The same, without a wait: the last refund, count, item or child that leaves ends it, and calls `ended`, which
    /// may destroy it.
    /// Returns: true if it has ended already; `ended` is not called then.
    bool close_when_drained(void (*ended)(account&, void*) noexcept, void* context = nullptr) noexcept {
        return detail::close_when_drained(node_, ended, context);
    }

    // ---- listeners, items, logs -------------------------------------------------------------------------------

    /// Calls the listener for requests at and below, which keep no credit meanwhile. One that is added is ignored.
    ALLOT_OUTLINE_WARM void add(account_listener& listener) noexcept {
        detail::change_tree(node_, [&](detail::tree_change& now) {
            if (now.tree.observers.add_locked(listener, node_)) now.tree.recall_credit(node_);
        });
    }
    /// Removes the listener, and waits for a call of it on another thread. Returns: false inside a call of it on this
    /// thread; it must live until that call returns.
    bool remove(account_listener& listener) noexcept {
        return node_.tree().observers.remove(node_.tree().lock, listener, node_);
    }

    /// Calls the reclaimer for requests that this account or one above refuses, until it is removed, or this account is
    /// closed.
    void add(reclaimer& r) noexcept {
        node_.tree().reclaimers.add(r, *this, node_.shape(), &detail::note_arrival);
        notify_unused();
    }
    /// Removes the reclaimer, and waits for a call of it on another thread. Returns: false inside a call of it on this
    /// thread; it is not called again, and must live until a second remove() returns true.
    ALLOT_OUTLINE_WARM bool remove(reclaimer& r) noexcept {
        if (!node_.tree().reclaimers.remove(r, node_.shape())) return false;
        if (const std::size_t left = r.coming(); left != 0)
            r.failed(left), detail::note_arrival(*this, left, detail::arrival::failed);
        return true;
    }
    /// Calls visit(const reclaimer&) for those at and below this account, the lowest cost first. Requires: as visit().
    template <class Visit> void visit_reclaimers(Visit visit) const noexcept { detail::visit_reclaimers(node_, visit); }
    /// Bytes that reclaimers of that cost, or of a higher one, could free now, of what is charged here and below. From
    /// reclaimer::idle on what objects do not use is in it, too, as far as they know.
    std::size_t reclaimable(std::uint32_t least_cost = reclaimer::idle + 1) const noexcept {
        std::size_t sum = 0;
        visit_reclaimers([&](const reclaimer& r) {
            const std::size_t its = r.cost() >= least_cost ? r.reclaimable(*this) : SIZE_MAX;
            if (its != SIZE_MAX) sum += its;
        });
        return sum;
    }
    /// Calls end_pause() of the same: what failed lately is tried again at once. Requires: as a request.
    void end_pauses() const noexcept {
        node_.tree().reclaimers.end_pauses(node_.shape(), [&](const reclaimer& r, const account& home) {
            return detail::is_asked_at(node_, r, home);
        });
    }
    void add(account_item& item) noexcept {
        const detail::lock_guard whole(node_.shape());
        const locked scope(node_);
        node_.items.add(item);
    }
    void remove(account_item& item) noexcept { detail::remove(node_, item); }
    /// Counts open buffers. They are reported as leaks, and delay a closing account's end.
    /// Requires: decrement before you refund, and without your own locks. The last decrement may end the account.
    /// Complexity: one atomic addition while the account is open; the tree's lock while it closes.
    ALLOT_ALWAYS_INLINE void count(counted what, int by) noexcept {
        detail::count(node_, static_cast<unsigned>(what), by);
    }
    /// Counts one more. Returns: false if the account is closing; nothing is counted then.
    bool count_if_open(counted what) noexcept { return node_.life.counts().add_if_open(static_cast<unsigned>(what)); }
    /// Records the first event and the last ones with stack traces; null ends it. The account keeps no credit then.
    /// Requires: the log outlives the account, or its removal and every call that runs then.
    void set_log(account_log* log) noexcept {
        detail::change_tree(node_, [&](detail::tree_change&) {
            node_.log_at.store(log, std::memory_order_release);
            if (log != nullptr && node_.credit().has_step()) node_.close_credit();
        });
    }
    account_log* log() const noexcept { return node_.log(); }
    /// Copies all accounts of the tree at each new peak of its root, until keep_peak(nullptr).
    ALLOT_OUTLINE_WARM void keep_peak(account_peak* copy) noexcept {
        detail::change_tree(node_, [&](detail::tree_change& now) {
            now.tree.peak_copy = copy;
            now.tree.act_at_unlock();
            if (copy != nullptr) now.tree.recall_credit(now.tree.root()); // else credit would count as used
        });
    }

    // ---- the tree -------------------------------------------------------------------------------------------

    /// Calls visit(account_stats, account) for this account and all below, parents first. Charges go on meanwhile; no
    /// account is opened or closed, and no item added or removed.
    /// Requires: the visitor does none of these, and reads only the name, log and items of the account.
    template <class Visit> void visit(Visit visit) const {
        const detail::lock_guard whole(node_.shape());
        node_.walk([&](const detail::tree_node& n) {
            const auto& a = detail::account_node::of(n);
            visit(static_cast<const account_stats&>(detail::stats_with_items(a)), static_cast<const account&>(a.face));
        });
    }
    /// Calls visit(account_item) for the items of this account alone. Requires: called by a visitor of the tree.
    template <class Visit> void each_item(Visit visit) const { detail::each_item(node_, visit); }
    /// Checks every invariant of this account and all below. Complexity: O(accounts), under the tree's lock.
    bool verify() const noexcept { return detail::verify(node_); }

    // ---- for ledgers ----------------------------------------------------------------------------------------

    /// Charges bytes that count in no peak until they are confirmed: hold, take the memory, confirm; cancel if there is
    /// none. Other requests that fit but for held bytes wait until these are confirmed or cancelled.
    /// Requires: the thread charges nothing else in this tree before confirm() or cancel().
    [[nodiscard]] charge_status try_hold(std::size_t bytes) noexcept {
        return detail::charge_slow(node_, bytes, mode::held);
    }
    /// Held bytes are in use now, and count in peaks.
    void confirm(std::size_t bytes) noexcept { detail::confirm(node_, bytes); }
    /// Refunds held bytes. Listeners are called with released().
    void cancel(std::size_t bytes) noexcept { detail::cancel(node_, bytes); }
    /// Lets requests that wait ask again: memory charged here has become unused, or a reclaimer here has more to free.
    /// For reservations that wait without a thread it asks itself: it may call reclaimers, as a request that is
    /// refused.
    void notify_unused() noexcept {
        if (detail::notify_unused(node_)) detail::free_ahead(node_);
    }
    /// Throws the verdict that a status of a request in this tree has, so that with_retry() begins again; returns for
    /// another status. For functions that return a status: charge_for(), allocate_for().
    void raise_verdict(const charge_status& why) const { detail::raise_verdict(why, node_.tree().judged.kind); }
    /// For reports: the tasks of the root's arbiter.
    void write_tasks(text_writer& out) const noexcept { detail::write_tasks(out, node_); }
    /// For reports: "; data cannot write to disk: failed: write /tmp: Input/output error" for each reclaimer at and
    /// below that an error keeps from freeing memory. Requires: as visit().
    void write_failures(text_writer& out) const noexcept { detail::write_failures(out, node_); }
    /// The same of those that were asked for a request of this account, which ended with this status.
    void write_failures(text_writer& out, const charge_status& why) const noexcept {
        detail::write_failures(out, node_, why);
    }
    /// A status that names this account as what refused.
    charge_status status(charge_outcome outcome, std::size_t requested, std::size_t used,
                         std::size_t limit) const noexcept {
        return node_.status(outcome, requested, used, limit);
    }

    /// For allot's own parts, which work on it.
    detail::account_node& node() noexcept { return node_; }
    const detail::account_node& node() const noexcept { return node_; }

  private:
    using mode = detail::charge_mode;
    using locked = detail::locked_tree;

    account(account* parent, const detail::account_arguments& requested) noexcept
        : node_(*this, parent != nullptr ? &parent->node_ : nullptr, requested) {
        detail::open(node_, parent != nullptr ? &parent->node_ : nullptr, requested);
    }
    // On a thread that the arbiter knows it waits; else it raises.
    ALLOT_COLD charge_status charge_or_raise(std::size_t bytes) {
        const charge_status s = detail::charge_or_wait(node_, bytes, detail::judged_on_its_thread);
        if (s.charged()) return s;
        raise_verdict(s);
        detail::raise_refused(node_, s);
    }

    detail::account_node node_;
};

namespace detail {
inline account_node& node_of(account& a) noexcept { return a.node(); }
inline const account_node& node_of(const account& a) noexcept { return a.node(); }
} // namespace detail

} // namespace allot::inline ALLOT_ABI
