// row_array: rows that an operator collects, for a sort, a join or an output: one writer appends, others read or take.
//
//     allot::row_array<Set> sorted{rows};
//     if (!sorted.try_push_back(row)) spill(sorted);     // the limit refuses more slots; the row is still the caller's
//     for (void* const row : sorted.read()) ...          // any thread
//
//   | free, taken | rows: [first, end) | free |      slots: one row of the same manager, which grows in place
//
// The writer appends without a lock. Readers share a lock. Threads that take, sort or move rows have it alone, and so
// has the writer while the slots move. A thread that has it may request memory, so a reclaimer tries the lock.
// Invariant: each slot in [first, end) holds one link of its row. Cost: 150 bytes; 8 bytes per row, and a quarter more
// while it grows; an append is O(1) amortised. Threads: as above.
// Source: RoxieOutputRowArray of HPCC (roxierowbuff), 2011.
#pragma once

#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/core/min_max.hpp>
#include <allot/reclaim/cost_cap.hpp>
#include <allot/row/moving/resize.hpp>
#include <allot/row/row_access.hpp>
#include <allot/row/row_failure.hpp>
#include <allot/row/row_manager.hpp>
#include <allot/row/row_ptr.hpp>
#include <allot/sys/shared_mutex.hpp>
#include <allot/sys/thread.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <type_traits>
#include <utility>

namespace allot::inline ALLOT_ABI {

template <class Set> class row_compactor;
namespace detail {
struct array_contents;
}

/// An array of rows of a manager; it releases those that are left at its end. Functions say who may call them: the
/// writer is one thread at a time.
/// Requires: the manager outlives it; no view or lock of it outlives it; it is removed from its compactor before it
/// ends.
template <class Set> class row_array {
    static_assert(detail::row_policies<Set>::rows_move,
                  "allot: row_array needs pages that provide property::movable and property::host_accessible");
    using policies = detail::row_policies<Set>;
    template <class Lock, class Slot> class held_rows;

  public:
    /// The rows, while no thread takes, moves or sorts them; those that are pushed meanwhile are not among them.
    using view = held_rows<std::shared_lock<detail::sys::shared_mutex>, void* const>;
    /// The rows for one thread alone; the writer may append meanwhile, behind them.
    using exclusive_view = held_rows<std::unique_lock<detail::sys::shared_mutex>, void*>;

    /// `growth_cost`: the highest cost of reclaimers that may be called to let the array itself grow.
    explicit row_array(row_manager<Set>& rows, std::uint32_t growth_cost = UINT32_MAX) noexcept
        : rows_(rows), growth_cost_(growth_cost) {}
    row_array(const row_array&) = delete;
    row_array& operator=(const row_array&) = delete;
    ~row_array() {
        if (home_ != nullptr) detail::report_misuse({.kind = misuse::living_array, .manager = rows_.name()});
        clear();
        if (slots_ != nullptr) rows_.release(slots_);
    }

    // ---- the writer ---------------------------------------------------------------------------------------------

    /// Appends a row, and takes over the caller's link. The thread has no view of the array meanwhile.
    /// Returns: false where there is no memory for more slots; the row is still the caller's.
    bool try_push_back(void* row, charge_status* why = nullptr) noexcept {
        std::size_t at = end_.load(std::memory_order_relaxed);
        if (ALLOT_UNLIKELY(at == capacity_)) {
            if (!grow(why)) return false;
            at = end_.load(std::memory_order_relaxed);
        }
        slots_[at] = row;
        end_.store(at + 1, std::memory_order_release);
        return true;
    }
    /// The same; under oom::raise it throws out_of_memory, and the row is still the caller's.
    bool push_back(void* row) {
        detail::memory_request asked{bytes_of(capacity_ + 1)};
        asked.judged = policies::waits;
        if (ALLOT_LIKELY(try_push_back(row, &asked.why))) return true;
        if constexpr (policies::waits)
            if (climb(asked, [&] { return slide(1) || resize(asked); })) return try_push_back(row);
        return core().fail(asked, "a row array") != nullptr;
    }
    /// The same; takes over the link of `row` only if it returns true.
    template <class T> bool push_back(row_ptr<T>&& row) {
        if (!push_back(const_cast<void*>(static_cast<const void*>(row.get())))) return false;
        static_cast<void>(row.detach());
        return true;
    }
    /// Makes room for `n` rows in all; under oom::raise it throws out_of_memory.
    bool reserve(std::size_t n) {
        detail::memory_request asked{bytes_of(n)};
        asked.judged = policies::waits;
        return n <= capacity_ || climb(asked, [&] { return resize(asked); }) ||
               core().fail(asked, "a row array") != nullptr;
    }
    /// Makes room for `n` rows in all. Returns: false, and nothing has changed, where there is no memory.
    bool try_reserve(std::size_t n, charge_status* why = nullptr) noexcept {
        if (n > capacity_) return resize(n, why);
        if (why != nullptr) *why = {};
        return true;
    }
    /// As try_reserve(), and waits while the limit of an account refuses, as allocate_for() of the manager.
    bool reserve_for(std::size_t n, const wait_limit& most, charge_status* why = nullptr) noexcept
        requires(policies::in_tree)
    {
        detail::memory_request asked{bytes_of(n)};
        asked.wait = &most;
        const bool has = n <= capacity_ || climb(asked, [&] { return resize(asked); });
        asked.report(why, has);
        return has;
    }
    /// Gives back slots that are not in use. False: they would have to move, and there is no memory for that.
    bool shrink_to_fit() noexcept {
        slide(1);
        return slots_ == nullptr || resize(end_.load(std::memory_order_relaxed), nullptr);
    }
    /// Releases all rows; keeps the slots. Their destructors may read the array, not push to it.
    void clear() noexcept {
        const std::size_t end = end_.load(std::memory_order_relaxed);
        std::size_t at;
        {
            const std::unique_lock hold(lock_);
            at = first_.exchange(end, std::memory_order_relaxed);
        }
        for (; at != end; ++at) rows_.release(slots_[at]); // without the lock: destructors may look at the array
        const std::unique_lock hold(lock_);
        first_.store(0, std::memory_order_relaxed);
        end_.store(0, std::memory_order_relaxed);
    }
    /// Slots: rows that the array can hold without more memory.
    std::size_t capacity() const noexcept { return capacity_; }

    // ---- any thread ---------------------------------------------------------------------------------------------

    /// Exact for the writer; for others, of about now.
    std::size_t size() const noexcept {
        const std::size_t first = first_.load(std::memory_order_acquire), end = end_.load(std::memory_order_acquire);
        return end > first ? end - first : 0;
    }
    bool empty() const noexcept { return size() == 0; }
    /// Waits while another thread has the rows alone, or waits to have them. One view per thread at a time.
    view read() const noexcept { return view(*this, std::shared_lock(lock_)); }
    /// Waits while other threads have the rows.
    exclusive_view lock() noexcept { return exclusive_view(*this, std::unique_lock(lock_)); }
    /// For reclaimers, which may not wait for a thread that requests memory: waits a millisecond at most. False where
    /// other threads have the rows for longer.
    exclusive_view try_lock() noexcept {
        return try_lock_for_reclaimer() ? exclusive_view(*this, std::unique_lock(lock_, std::adopt_lock))
                                        : exclusive_view(*this, {});
    }
    /// The same, to take rows away; false also where this thread asks for memory to let the array itself grow: an array
    /// does not evict its rows to hold more of them.
    exclusive_view try_lock_to_evict() noexcept {
        if (grower_.load(std::memory_order_relaxed) == detail::sys::thread_token()) return exclusive_view(*this, {});
        return try_lock();
    }

  private:
    friend class row_compactor<Set>;
    friend struct detail::array_contents;
    // fill(*this) gives it its content.
    template <class Fill> row_array(const Fill& fill, row_manager<Set>& rows) : row_array(rows) { fill(*this); }

    static constexpr row_type slots_type{.name = "row array"};
    static constexpr std::size_t least_slots = 32, max_doubled = std::size_t{1} << 13;

    // Rows, with a lock that lives as long.
    template <class Lock, class Slot> class held_rows {
      public:
        std::span<Slot> rows() const& noexcept { return rows_; }
        /// Of a view without a name: its lock would end before the rows are used.
        std::span<Slot> rows() const&& = delete;
        explicit operator bool() const noexcept { return lock_.owns_lock(); }
        Slot* begin() const noexcept { return rows_.data(); }
        Slot* end() const noexcept { return rows_.data() + rows_.size(); }
        /// Takes the first n rows out of the array: their links are the caller's.
        /// Requires: n is at most the number of rows; else all are taken, and it is reported as misuse.
        void take_front(std::size_t n) noexcept
            requires(!std::is_const_v<Slot>)
        {
            if (ALLOT_UNLIKELY(n > rows_.size())) {
                detail::report_misuse({.kind = misuse::out_of_bounds, .manager = array_.rows_.name()});
                n = rows_.size();
            }
            array_.first_.fetch_add(n, std::memory_order_relaxed);
            rows_ = rows_.subspan(n);
        }

      private:
        friend class row_array;
        using array = std::conditional_t<std::is_const_v<Slot>, const row_array, row_array>;
        held_rows(array& of, Lock lock) noexcept : array_(of), lock_(std::move(lock)) {
            if (!lock_.owns_lock()) return;
            rows_ = of.rows();
        }
        array& array_;
        Lock lock_;
        std::span<Slot> rows_;
    };

    static std::size_t bytes_of(std::size_t slots) noexcept {
        return slots > SIZE_MAX / sizeof(void*) ? SIZE_MAX : slots * sizeof(void*);
    }
    bool try_lock_for_reclaimer() noexcept { return lock_.try_lock_for(1'000'000); }
    // Requires the lock.
    std::span<void*> rows() const noexcept {
        const std::size_t first = first_.load(std::memory_order_relaxed);
        return {slots_ + first, end_.load(std::memory_order_acquire) - first};
    }
    auto& core() noexcept { return detail::row_access::core(rows_); }
    // Room for a row: slots of rows that were taken, where these are a quarter; else more slots; else the former; else
    // fewer more slots.
    bool grow(charge_status* why) noexcept {
        if (slide(detail::max(capacity_ / 4, std::size_t{1}))) return true;
        const std::size_t more = capacity_ < max_doubled ? capacity_ : capacity_ / 4;
        return resize(detail::max(capacity_ + more, least_slots), why) || slide(1) ||
               resize(capacity_ + capacity_ / 32 + 1, why) || resize(capacity_ + 1, why);
    }
    // Moves the rows to the start of the slots, where at least that many are free there.
    bool slide(std::size_t least) noexcept {
        const std::unique_lock hold(lock_);
        const std::size_t free = first_.load(std::memory_order_relaxed), end = end_.load(std::memory_order_relaxed);
        if (free < least) return false;
        std::memmove(slots_, slots_ + free, (end - free) * sizeof(void*));
        first_.store(0, std::memory_order_relaxed);
        end_.store(end - free, std::memory_order_relaxed);
        return true;
    }
    bool resize(std::size_t slots, charge_status* why) noexcept {
        detail::memory_request asked{bytes_of(slots)};
        const bool has = climb(asked, [&] { return resize(asked); });
        asked.report(why, has);
        return has;
    }
    template <class Attempt> bool climb(detail::memory_request& asked, Attempt attempt) noexcept {
        const cost_cap cap(growth_cost_);
        grower_.store(detail::sys::thread_token(), std::memory_order_relaxed);
        const bool has = attempt() || core().climb(asked, attempt, [] {});
        grower_.store(0, std::memory_order_relaxed);
        return has;
    }
    // An attempt: slots of the bytes that the request asks for.
    bool resize(detail::memory_request& asked) noexcept {
        if (asked.bytes > static_cast<std::size_t>(PTRDIFF_MAX)) {
            asked.refuse(charge_outcome::misused, SIZE_MAX, "more rows than memory can hold");
            return false;
        }
        const auto adopt = [this](const resized_row& now) {
            slots_ = static_cast<void**>(now.row);
            capacity_ = now.capacity / sizeof(void*);
        };
        if (slots_ != nullptr) {
            const std::size_t used = end_.load(std::memory_order_relaxed) * sizeof(void*);
            return detail::row_access::resize(rows_, asked, slots_, used, [&](auto move) noexcept {
                       const std::unique_lock hold(lock_);
                       adopt(move());
                   }) != nullptr;
        }
        void* const row = rows_.try_allocate(asked, slots_type);
        if (row == nullptr) return false;
        const std::unique_lock hold(lock_);
        adopt({row, rows_.capacity(row)});
        return true;
    }

    row_manager<Set>& rows_;
    const std::uint32_t growth_cost_;
    void** slots_ = nullptr;            // changed by the writer, under the lock
    std::size_t capacity_ = 0;          // the same
    std::atomic<std::size_t> first_{0}; // changed under the lock
    std::atomic<std::size_t> end_{0};
    std::atomic<std::uintptr_t> grower_{0}; // the thread that makes room
    mutable detail::sys::shared_mutex lock_;
    detail::list_hook<row_array> in_compactor_;
    const void* home_ = nullptr; // the compactor that it was added to
    bool is_held_ = false;       // by the compactor
};

namespace detail {

// The rows of an array for a store, which has them alone.
struct array_contents {
    template <class Set> static row_manager<Set>& manager(const row_array<Set>& of) noexcept { return of.rows_; }
    template <class Set> static std::span<void* const> rows(const row_array<Set>& of) noexcept { return of.rows(); }
    template <class Set, class Fill> static row_array<Set> make(row_manager<Set>& of, Fill fill) {
        return row_array<Set>(fill, of);
    }
    // All of `from`, which is empty then, to an array that is new.
    template <class Set> static void move(row_array<Set>& to, row_array<Set>& from) noexcept {
        const std::unique_lock hold(from.lock_);
        to.slots_ = std::exchange(from.slots_, nullptr);
        to.capacity_ = std::exchange(from.capacity_, 0);
        to.first_.store(from.first_.exchange(0, std::memory_order_relaxed), std::memory_order_relaxed);
        to.end_.store(from.end_.exchange(0, std::memory_order_relaxed), std::memory_order_relaxed);
    }
    // The slots, and the number of those in use, of an array from which none was taken.
    template <class Set> static void** slots(row_array<Set>& of) noexcept { return of.slots_; }
    template <class Set> static void set_size(row_array<Set>& of, std::size_t n) noexcept {
        of.end_.store(n, std::memory_order_release);
    }
};

} // namespace detail

// For a set that is refused, as for row_manager: no further error.
template <class Set>
    requires(!well_formed<Set, product::row_manager>)
class row_array<Set> : public detail::refused<Set, product::row_manager> {
    using detail::refused<Set, product::row_manager>::refused;
};

} // namespace allot::inline ALLOT_ABI
