// The class behind account.hpp, which is what to include.
//
// An account: bytes charged under a limit, in a tree of accounts. Numbers only: it owns no memory.
//
//     root (limit) -- query (reservation, limit) -- operator (limit) -- leaf (steps)      depth and limits as you like
//
// What a child has of its parent (its claim) is what it uses, its reservation at least; it counts against the parent's
// limit. Check, then commit: a request that climbs looks at every level under the tree's lock, a spin lock of some
// dozen instructions, and then changes all of them or none; so one that fails was never visible, to no other request
// and in no peak. A leaf with steps takes room ahead: then charge and refund are one compare-and-swap on the leaf's own
// line until the step is used up, or more than a step is free. Before a request is refused, what leaves have ahead is
// called in.
// Invariant: at every account used <= limit after each charge that fitted; used = own + the claims of its children;
// peak =
// the most that was used by requests that were met. Cost: 448 bytes an account (512 in checked builds), no memory
// beside; O(depth) where it climbs.
// Threads: any, but for construction and end. Refund never waits: where the lock is taken, its holder, or the next,
// does the rest.
// Source: Drill's Accountant, 2014, which charges first and checks then; Velox's steps, 2022.
#pragma once

#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/core/units.hpp>
#include <allot/core/values.hpp>
#include <allot/ledger/account_item.hpp>
#include <allot/ledger/account_listener.hpp>
#include <allot/ledger/account_log.hpp>
#include <allot/ledger/account_status.hpp>
#include <allot/ledger/room_word.hpp>
#include <allot/sync/mpsc_stack.hpp>
#include <allot/sync/spin_lock.hpp>
#include <allot/sys/thread_owner.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <string_view>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

class account_peak;

namespace detail {

template <class V, class... Known> constexpr bool is_one_of(types<Known...>) noexcept {
    return (is_a<V, Known> || ...);
}
// What an account takes beside its name.
using account_values =
    types<allot::limit, allot::reservation, allot::grace, steps, allot::one_thread, leak_sink, std::nothrow_t>;
template <class V> concept account_value = is_one_of<V>(account_values{});

} // namespace detail

class alignas(64) account {
  public:
    // A root. Takes, in any order: limit, grace, steps, one_thread, leak_sink. The name must outlive the account.
    template <class... Values>
    explicit account(allot::name who, const Values&... values) noexcept : account(nullptr, asked(who, values...)) {
        check<Values...>();
        static_assert(!given<allot::reservation, const Values&...>,
                      "allot: a root has no parent of whom it could reserve: only children take a reservation");
    }
    // A child; also takes a reservation, charged to its parent at once, all of it or nothing. Where that is refused it
    // raises out_of_memory; with std::nothrow the account is closed instead, and refusal() tells why. A child's limit
    // may exceed its parent's. The parent outlives it, and is not one_thread.
    template <class... Values>
    account(account& parent, allot::name who, const Values&... values) noexcept(given<std::nothrow_t, const Values&...>)
        : account(&parent, asked(who, values...)) {
        check<Values...>();
        if constexpr (!given<std::nothrow_t, const Values&...>)
            if (!refusal_) raise_refused(refusal_);
    }
    // Without a name, or with one that does not come first: told.
    template <detail::account_value First, class... Values>
    explicit account(const First& first, const Values&...) noexcept : account(no_name(first)) {}
    template <detail::account_value First, class... Values>
    account(account&, const First& first, const Values&...) noexcept : account(no_name(first)) {}
    account(const account&) = delete;
    account& operator=(const account&) = delete;
    // As close().
    ~account() { close(); }

    // ---- charges --------------------------------------------------------------------------------------------

    // False in the status: nothing is charged, here or above, and it names the level that has no room.
    [[nodiscard]] ALLOT_ALWAYS_INLINE charge_status try_charge(std::size_t bytes) noexcept {
        if (ALLOT_LIKELY(take_room(bytes))) return {};
        return charge_slowly(bytes, how::checked);
    }
    // The same, or out_of_memory, whose page names the level and the top holders of the tree.
    ALLOT_ALWAYS_INLINE charge_status charge(std::size_t bytes) {
        if (ALLOT_LIKELY(take_room(bytes))) return {};
        const charge_status s = charge_slowly(bytes, how::checked);
        if (ALLOT_UNLIKELY(!s)) raise_refused(s);
        return s;
    }
    // Charged whatever the limits are; the status tells whether it fitted, and which limit is exceeded if not.
    charge_status force_charge(std::size_t bytes) noexcept {
        if (ALLOT_LIKELY(take_room(bytes))) return {};
        return charge_slowly(bytes, how::forced);
    }
    // By any thread (the account's own, where it is one_thread). Bytes that were never charged are told as misuse.
    ALLOT_ALWAYS_INLINE void refund(std::size_t bytes) noexcept {
        if (ALLOT_LIKELY(give_room(bytes))) return;
        refund_slowly(bytes);
    }
    // The same; `landed` is called when others may charge them, before listeners are.
    template <class Landed> void refund(std::size_t bytes, Landed landed) noexcept {
        if (!give_room(bytes)) return refund_slowly(bytes, landed);
        landed();
    }
    // Bytes charged to `from` are charged to `to`: levels above both are left alone, unless a reservation makes a
    // difference there; then only that. The first is always done (but across trees: misused), and tells whether it
    // fitted; the second only if it fits. `to` may be one that was charged the same bytes before: nothing is charged
    // twice at any moment.
    static charge_status transfer(account& from, account& to, std::size_t bytes) noexcept {
        return move(from, to, bytes, how::forced);
    }
    [[nodiscard]] static charge_status try_transfer(account& from, account& to, std::size_t bytes) noexcept {
        return move(from, to, bytes, how::checked);
    }

    // So many bytes more can be charged without the parent being asked. False: nothing has changed.
    [[nodiscard]] charge_status maybe_reserve(std::size_t bytes) noexcept;
    // What was reserved so and is not used goes back; the reservation of the start stays.
    void release_reservation() noexcept;

    // ---- limits and figures ---------------------------------------------------------------------------------

    // Takes effect for later requests; below what is used it stops charges until enough is refunded.
    void set_limit(std::size_t bytes) noexcept;
    void set_grace(std::size_t bytes) noexcept;
    std::size_t limit() const noexcept { return limit_.load(std::memory_order_relaxed); }
    // What counts against the limit: own charges, and the claims of children (see account_figures).
    std::size_t used() const noexcept;
    std::size_t peak() const noexcept;
    // What a charge may have at most now, without what leaves beside have ahead; 0 where a limit is exceeded.
    std::size_t headroom() const noexcept;
    // Here, or at an account above.
    bool over_limit() const noexcept;
    // Whether a charge would fit now; nothing is changed but what leaves have ahead.
    bool fits(std::size_t bytes) noexcept;
    // Whether so many are taken ahead here: then a charge asks nobody else. Without the lock.
    ALLOT_ALWAYS_INLINE bool has_ahead(std::size_t bytes) const noexcept {
        return !shut_.load(std::memory_order_relaxed) && room().serves(bytes);
    }
    account_figures figures() const noexcept;

    const char* name() const noexcept { return name_; }
    account* parent() const noexcept { return parent_; }
    account& root() const noexcept { return *root_; }
    bool is_open() const noexcept { return state_.load(std::memory_order_relaxed) == state::open; }
    // Closed, and what it had is its parent's no longer; a root keeps its figures.
    bool has_given_back() const noexcept {
        return this != root_ && state_.load(std::memory_order_acquire) == state::closed;
    }
    // Why it could not be opened (std::nothrow); fits otherwise.
    const charge_status& refusal() const noexcept { return refusal_; }

    // ---- the end --------------------------------------------------------------------------------------------

    // Idempotent. Everything it has goes back to its parent; what was not refunded, items and children that are still
    // open are told to the leak sink, with the sites that its log has; children become its parent's. False: something
    // was told.
    bool close() noexcept;
    // The same after waiting for those who still refund, not longer than told; charges are refused from now on.
    bool close(time_span most) noexcept;
    // Charges are refused from now on; the last refund, or the close of the last child, ends the account and then calls
    // `ended`, which may destroy it. True: it has ended already, and nobody is called.
    bool close_when_drained(void (*ended)(account&, void*) noexcept, void* context = nullptr) noexcept;

    // ---- who is told, and who holds -------------------------------------------------------------------------

    // Hears of this account and all below, until removed.
    void add(account_listener& listener) noexcept;
    // Waits for calls under way; from inside a call of this tree it does not: false then if it is running still, and it
    // must live until those calls return.
    bool remove(account_listener& listener) noexcept;

    void add(account_item& item) noexcept;
    void remove(account_item& item) noexcept;
    // Buffers and reservations open here: told as leaks, and the end of a closing account waits for them as for
    // refunds. So nothing of the account may be touched after what was counted last went, and its charge with it: count
    // down before the refund. May end the account where it is closing: without the caller's locks. By 1, any thread;
    // one atomic addition while it is open.
    ALLOT_ALWAYS_INLINE void count(counted what, int by) noexcept { count_in(static_cast<unsigned>(what), by); }
    // One more, where the account is open: who closes it from now on waits for it. False: it closes, and nothing was
    // counted.
    bool count_if_open(counted what) noexcept {
        std::atomic<std::uint32_t>& open = open_[static_cast<unsigned>(what)];
        if (ALLOT_LIKELY(open.fetch_add(1, std::memory_order_relaxed) < counts_left)) return true;
        open.fetch_sub(1, std::memory_order_relaxed); // the number says nothing now
        return false;
    }
    // Keeps the first and the last events of this account with stack traces, every nth one; null: no longer. Fast paths
    // are off.
    void set_log(account_log* log) noexcept;
    account_log* log() const noexcept { return log_.load(std::memory_order_acquire); }
    // Keeps the whole tree's accounts as they are when most is used at its root, from now on; null: no longer.
    void keep_peak(account_peak* copy) noexcept;

    // ---- the tree -------------------------------------------------------------------------------------------

    // Visits (account_figures, account) this account and all below, parents first. Accounts may charge meanwhile; none
    // is opened or closed, and no item added: the visitor must not, and may only ask the account for its name, log and
    // items.
    template <class Visit> void visit(Visit visit) const {
        const std::lock_guard whole(root_->shape_);
        walk([&](const account& a) { visit(static_cast<const account_figures&>(a.figures_now(true)), a); });
    }
    // Visits (account_item) those of this account alone; from a visitor of the tree.
    template <class Visit> void each_item(Visit visit) const {
        for (const account_item* i = items_.first(); i != nullptr; i = items_.after(*i)) visit(*i);
    }
    // Every invariant of this account and all below. O(accounts), under the tree's lock.
    bool verify() const noexcept;

    // ---- for ledgers ----------------------------------------------------------------------------------------

    // A charge that no peak knows until it is confirmed; between the two its thread charges nothing in this tree. A
    // request that fits but for such bytes waits for what becomes of them.
    [[nodiscard]] charge_status try_hold(std::size_t bytes) noexcept {
        return by_its_thread(), charge_slowly(bytes, how::held);
    }
    void confirm(std::size_t bytes) noexcept;
    void cancel(std::size_t bytes) noexcept; // listeners, who heard of it, hear `released`

  private:
    enum class how : std::uint8_t { checked, forced, held };
    enum class state : std::uint8_t { open, closing, closed };
    using word = detail::room_word;
    struct asked_values {
        const char* name;
        std::size_t limit, reservation, grace, step;
        bool one_thread;
        leak_sink leaks;
    };
    struct hold;    // the tree's lock
    struct attempt; // of a request, under it
    struct calls;   // listeners being called

    template <class... Values> static constexpr void check() noexcept {
        []<class... Known>(types<Known...>) {
            static_assert(
                (detail::account_value<Values> && ...),
                "allot: an account takes limit, reservation, grace, steps, one_thread, leak_sink, std::nothrow");
            static_assert(((detail::times_given<Known, Values...> <= 1) && ...), "allot: a value was given twice");
        }(detail::account_values{});
    }
    template <class First> static allot::name no_name(const First&) noexcept {
        static_assert(
            !detail::account_value<First>,
            "allot: an account's name comes first: account{name{...}, ...}, or account{parent, name{...}, ...}");
        return {""};
    }
    template <class... Values> static asked_values asked(allot::name who, const Values&... values) noexcept {
        return {who.text,
                value_or<allot::limit>({SIZE_MAX}, values...).bytes,
                value_or<allot::reservation>({0}, values...).bytes,
                value_or<allot::grace>({0}, values...).bytes,
                given<steps, const Values&...> ? value_or<steps>({}, values...).bytes : 0,
                given<allot::one_thread, const Values&...>,
                value_or<leak_sink>({&detail::leaks_to_stderr}, values...)};
    }
    account(account* parent, const asked_values& asked) noexcept;
    bool begin_below(account& parent, const asked_values& asked) noexcept;

    // one_thread: a second thread is told, in checked builds.
    ALLOT_ALWAYS_INLINE void by_its_thread() noexcept {
        if constexpr (ALLOT_CHECKED != 0)
            if (ALLOT_UNLIKELY(one_thread_) && !user_.is_mine())
                tell_misuse({.kind = misuse::wrong_thread, .heap = name_});
    }
    ALLOT_ALWAYS_INLINE bool take_room(std::size_t bytes) noexcept {
        by_its_thread();
        std::uint64_t now = word_.load(std::memory_order_relaxed); // a plain number: compilers keep it in a register
        if (ALLOT_UNLIKELY(one_thread_)) {
            if (shut_.load(std::memory_order_relaxed) || !word{now}.serves(bytes)) return false;
            word_.store(word{now}.taken(bytes).bits, std::memory_order_relaxed);
            return true;
        }
        do
            if (ALLOT_UNLIKELY(!word{now}.serves(bytes))) return false;
        while (
            ALLOT_UNLIKELY(!word_.compare_exchange_weak(now, word{now}.taken(bytes).bits, std::memory_order_relaxed)));
        return true;
    }
    ALLOT_ALWAYS_INLINE bool give_room(std::size_t bytes) noexcept {
        by_its_thread();
        std::uint64_t now = word_.load(std::memory_order_relaxed);
        const std::size_t keep = keep_.load(std::memory_order_relaxed); // a step; 0 where none was ever taken
        if (ALLOT_CHECKED != 0 && bytes > own_.load(std::memory_order_relaxed)) return false; // to be told
        if (ALLOT_UNLIKELY(one_thread_)) {
            if (shut_.load(std::memory_order_relaxed) || !word{now}.keeps(bytes, keep)) return false;
            word_.store(word{now}.given(bytes).bits, std::memory_order_release);
            return true;
        }
        do
            if (ALLOT_UNLIKELY(!word{now}.keeps(bytes, keep))) return false;
        while (ALLOT_UNLIKELY(!word_.compare_exchange_weak(now, word{now}.given(bytes).bits, std::memory_order_release,
                                                           std::memory_order_relaxed)));
        return true;
    }

    // While it closes the words say only that: `left_` has the counts, and who counts takes the lock. So who counts
    // down keeps the account until then, and whoever brings it to 0 ends it there.
    ALLOT_ALWAYS_INLINE void count_in(unsigned at, int by) noexcept {
        if (ALLOT_UNLIKELY(open_[at].fetch_add(static_cast<std::uint32_t>(by), std::memory_order_release) >=
                           counts_left))
            count_late(at, by);
    }
    void count_late(unsigned at, int by) noexcept;
    std::uint32_t counted_now(unsigned at) const noexcept; // by the lock's holder
    void begin_closing() noexcept;
    bool all_counted_down() const noexcept {
        return counted_now(0) == 0 && counted_now(1) == 0 && counted_now(moves) == 0;
    }

    charge_status charge_slowly(std::size_t bytes, how mode) noexcept;
    charge_status charge_locked(std::size_t bytes, how mode) noexcept;
    void refund_slowly(std::size_t bytes) noexcept;
    template <class Landed> void refund_slowly(std::size_t bytes, Landed landed) noexcept;
    void refund_now(std::size_t bytes) noexcept;
    void cancel_now(std::size_t bytes) noexcept;
    template <class Now, class Landed>
    void give_back_told(const char* what, std::size_t bytes, Now now, Landed landed) noexcept;
    static charge_status move(account& from, account& to, std::size_t bytes, how mode) noexcept;
    static charge_status move_locked(account& from, account& to, std::size_t bytes, how mode) noexcept;
    [[noreturn]] void raise_refused(const charge_status& s) const;

    // ---- by the holder of the tree's lock
    std::size_t own() const noexcept { return own_.load(std::memory_order_relaxed); }
    // Who finds that all was refunded may end the account: refunds are released.
    word room() const noexcept { return {word_.load(std::memory_order_acquire)}; }
    std::size_t used_now() const noexcept { return total_ - room().room(); }
    std::size_t claim() const noexcept { return total_ > reserved_ ? total_ : reserved_; }
    std::size_t met() const noexcept { return total_ - pending_; } // without what is not confirmed
    std::size_t met_claim() const noexcept { return met() > reserved_ ? met() : reserved_; }
    bool beyond_limit() const noexcept { return used_now() > limit(); }
    bool is_below(const account& other) const noexcept;
    std::size_t step_at(std::size_t used) const noexcept;
    void note_peak(std::size_t least) noexcept;
    std::size_t end_grant() noexcept;
    struct change {
        std::ptrdiff_t all, met; // claims, and of those the confirmed part
    };
    change shift(change own) noexcept;
    static void climb(account* at, change by, const account* end) noexcept;
    struct looked {
        charge_status status;
        std::size_t more = 0;               // that `at` would have to hold
        bool absurd = false;                // a sum that no size_t holds: not even force does that
        bool only_pending() const noexcept; // it would fit but for what is not confirmed
        void without_grace() noexcept {     // which is for what is used, not for reservations
            if (status.outcome == charge_outcome::in_grace) status.outcome = charge_outcome::over_limit;
        }
    };
    static looked look(const account* at, std::size_t more, std::size_t asked, const account* end = nullptr) noexcept;
    static const account* beyond(const account* at) noexcept;
    void went_ahead(const charge_status& s) noexcept;
    bool may_open() const noexcept;
    std::size_t ahead_of(std::size_t bytes, std::size_t room) const noexcept;
    bool grant(word from, std::size_t want, std::size_t bytes, how mode) noexcept;
    void keep_at_most(std::size_t step) noexcept;
    void lower_own(std::size_t bytes) noexcept;
    std::size_t held_of(std::size_t bytes) const noexcept;
    std::size_t take_back(bool all, bool open) noexcept;
    void settle() noexcept { take_back(!room().open(), room().open()); }
    void settle_noted() noexcept;
    unsigned most_call_ins() const noexcept {
        return depth_ + 2;
    } // each level may refuse once; others may refund meanwhile
    std::size_t call_in(const account& within, bool shut) noexcept;
    void shut_where_exceeded() noexcept;
    void lower(std::size_t bytes) noexcept;
    bool drained() const noexcept { return used_now() == 0 && below_.empty() && items_.empty() && all_counted_down(); }
    void wait_for_refunds() const noexcept;
    void wait_for_calls() const noexcept;
    bool calls_on(std::uintptr_t thread) const noexcept;
    bool is_inside_a_call(std::uintptr_t thread) const noexcept;
    void forget(account_listener& listener) noexcept;
    void tell_children(account& parent, bool added) noexcept;
    bool leave_tree() noexcept;
    account* keep_parent() noexcept;
    account* let_go() noexcept;
    bool end(text_writer& leaks) noexcept;
    void tell(std::string_view leaks) const noexcept;
    void end_if_drained() noexcept;
    void finish_drained() noexcept;
    bool write_leaks(text_writer& out) const noexcept;
    account_figures figures_now(bool items) const noexcept;
    account_figures figures_held() const noexcept;
    void copy_peak() const noexcept;
    void log_event(const char* what, std::size_t bytes) noexcept;
    bool heard() const noexcept { return root_->listeners_.load(std::memory_order_relaxed) != 0; }
    bool verify_locked() const noexcept;

    template <class Visit> void walk(Visit visit) const {
        visit(*this);
        for (const account* c = below_.first(); c != nullptr; c = below_.after(*c)) c->walk(visit);
    }

    // one line for charges and refunds
    std::atomic<std::uint64_t> word_{word{}.bits};
    std::atomic<std::size_t> own_{0};      // charged to it, and taken ahead: the room is within it
    std::atomic<std::uint32_t> keep_{0};   // more room than this is given back
    std::atomic<std::uint32_t> inside_{0}; // refunds that found the lock taken
    const bool one_thread_;
    std::atomic<bool> shut_{false};  // one_thread: others want its room; its thread gives it at its next call
    std::atomic<bool> noted_{false}; // on the root's stack
    std::atomic<state> state_{state::open};
    bool drained_queued_ = false; // among those that end behind the lock; by its holder
    std::atomic<account*> note_{nullptr};
    account* const root_;
    std::atomic<account_log*> log_{nullptr};

    // by the tree's lock
    std::size_t total_ = 0;   // own_, and the claims of children
    std::size_t pending_ = 0; // of that, held and not confirmed
    std::size_t reserved_ = 0;
    std::size_t peak_ = 0; // of grants before this one
    std::atomic<std::size_t> limit_;
    std::size_t grace_;
    account* parent_;
    std::uint64_t refused_ = 0, beyond_ = 0;
    account_listener::list hears_;
    list_place<account> stepped_; // among the root's leaves with steps
    std::uint32_t depth_ = 0;
    std::uint32_t step_;

    // by the tree's mutex
    const char* name_;
    std::size_t first_reserved_;
    list_place<account> sibling_;
    intrusive_list<account, &account::sibling_> below_;
    account_items items_;
    std::uint32_t children_ = 0;
    static constexpr unsigned moves = 2; // counted beside buffers and reservations: transfers that look at it yet
    static constexpr std::uint32_t counts_left = std::uint32_t{1} << 31; // and above: it closes
    std::atomic<std::uint32_t> open_[3]{};
    std::uint32_t left_[3]{}; // by the tree's lock
    leak_sink leaks_;
    charge_status refusal_;
    ALLOT_NO_UNIQUE_ADDRESS detail::thread_owner user_; // one_thread
    void (*ended_)(account&, void*) noexcept = nullptr; // close_when_drained
    void* ended_context_ = nullptr;
    account* next_drained_ = nullptr;

    // of the tree: the root's are used
    alignas(64) spin_lock lock_;
    std::atomic<std::uint32_t> listeners_{0};
    mpsc_stack<account, &account::note_> noted_stack_;
    intrusive_list<account, &account::stepped_> leaves_;
    calls* calling_ = nullptr;
    std::uint32_t waiting_ = 0; // requests that wait for what is held
    account* drained_ = nullptr;
    account_peak* peak_copy_ = nullptr;
    std::mutex shape_; // held by who opens, closes, adds items or walks; before lock_
};

} // namespace allot::inline ALLOT_ABI
