// heap::per_thread: each thread finds its own local_rows of a manager, made when it has allocated some rows there.
//
//   a thread's table: 16 groups of 4 places, the group by the manager's address
//   a place:          a manager | how often it was used here | its local_rows, from the 32nd row on
//
// Before its 32nd row, and where its group is full of managers that are used more, a thread goes to the heaps' shared
// caches. So a thread that meets thousands of managers has room for 64 of them, whatever their number, and those are the
// ones that it uses most. When the thread ends its caches are given back; when the manager goes first, its entries are
// cut off and forgotten by the threads. Entry and manager meet under the manager's lock, so neither order of ending
// touches memory of the other.
// Invariant: the manager's part outlives every place that has rows of it; of other places the address is compared, no more.
// Cost: a thread-local load and a compare; 1.5 KiB a thread and set, 250 bytes and its caches for each of 64 managers at
// most, those that have ended included until the thread makes rows again.
// Threads: any. A release never makes rows, nor waits. What a library that is unloaded must do stands in docs/rules.md.
// Source: tcmalloc's thread caches, 2005; who gets a place: Misra and Gries 1982, second chance, Corbato 1968.
#pragma once

#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/row/local_rows.hpp>
#include <allot/sync/spin_lock.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

// The manager that the thread used last, and its rows of it. Constant at first and without a destructor, so that
// reading it is one load, and it can be read to the thread's very end.
template <class Set>
struct last_used {
    const void* home = nullptr;
    local_rows<Set>* rows = nullptr;
    enum : unsigned char { unused, open, ended } table = unused; // the thread's
};
template <class Set>
inline constinit thread_local last_used<Set> last_here{};

// The part of a manager that its threads share; outlives whichever of them ends first.
template <class Set>
class thread_rows {
  public:
    struct entry {
        explicit entry(row_manager<Set>& manager) noexcept : rows(manager) {}
        local_rows<Set> rows;
        list_place<entry> in_home;
    };

    explicit thread_rows(row_manager<Set>& manager) noexcept : manager_(&manager) {}

    // The calling thread's rows; null when there is no memory for them, or the thread is ending.
    ALLOT_ALWAYS_INLINE local_rows<Set>* here() noexcept {
        const last_used<Set>& last = last_here<Set>;
        return ALLOT_LIKELY(last.home == this) ? last.rows : find();
    }
    // The same without making them: null when the thread has none. For release, which must not wait or allocate.
    ALLOT_ALWAYS_INLINE local_rows<Set>* known() noexcept {
        const last_used<Set>& last = last_here<Set>;
        return ALLOT_LIKELY(last.home == this) ? last.rows : look();
    }

    // The manager goes: the caches of its threads are given back.
    static void close(thread_rows* home) noexcept {
        {
            const std::lock_guard hold(home->lock_);
            for (entry* e = home->entries_.first(); e != nullptr; e = home->entries_.after(*e)) e->rows.close();
            home->closed_.store(true, std::memory_order_release);
        }
        home->drop();
    }

  private:
    static constexpr std::uint32_t enough = 32; // rows that make a manager worth caches
    static constexpr std::size_t groups = 16, of_group = 4;

    struct place {
        thread_rows* home = nullptr;
        entry* rows = nullptr;  // null: `home` may be gone
        std::uint32_t uses = 0; // until there are rows
        bool recent = false;    // used since somebody looked for a place
    };
    // A thread's places; none before the first use, and when memory is short.
    struct table {
        place* places = nullptr;

        ~table() {
            last_here<Set> = {.table = last_used<Set>::ended};
            if (places == nullptr) return;
            for (std::size_t i = 0; i < groups * of_group; ++i) clear(places[i]);
            delete[] places;
        }
        place* group_of(const thread_rows* home) noexcept {
            const auto at = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(home));
            return places + (at * 0x9E3779B97F4A7C15u >> 60) * of_group;
        }
    };
    static_assert(groups == 16, "four bits of a hash");
    static table& mine() noexcept {
        static thread_local table t;
        return t;
    }
    static void clear(place& p) noexcept {
        if (p.rows != nullptr) {
            if (last_here<Set>.home == p.home) last_here<Set> = {.table = last_here<Set>.table};
            p.home->leave(*p.rows);
        }
        p = {};
    }

    ALLOT_NOINLINE local_rows<Set>* look() noexcept {
        // Also in a destructor of a thread-local that runs after the table's.
        if (last_here<Set>.table != last_used<Set>::open) return nullptr;
        place* const group = mine().group_of(this);
        for (std::size_t i = 0; i < of_group; ++i)
            if (group[i].home == this) return group[i].rows != nullptr ? remember(group[i]) : nullptr;
        return nullptr;
    }
    local_rows<Set>* remember(place& p) noexcept {
        p.recent = true;
        last_here<Set> = {.home = this, .rows = &p.rows->rows, .table = last_used<Set>::open};
        return &p.rows->rows;
    }
    ALLOT_NOINLINE local_rows<Set>* find() noexcept {
        if (last_here<Set>.table == last_used<Set>::ended) return nullptr;
        table& t = mine();
        if (t.places == nullptr && (t.places = new (std::nothrow) place[groups * of_group]) == nullptr) return nullptr;
        last_here<Set>.table = last_used<Set>::open;
        place* const p = place_in(t.group_of(this));
        if (p == nullptr) return nullptr;
        if (p->rows == nullptr) {
            if (p->uses < enough && ++p->uses < enough) return nullptr;
            forget_closed(t);
            p->rows = new (std::nothrow) entry(*manager_);
            if (p->rows == nullptr) return nullptr;
            join(*p->rows);
        }
        return remember(*p);
    }
    // This manager's place in its group; null while the others are used more.
    place* place_in(place* group) noexcept {
        for (std::size_t i = 0; i < of_group; ++i)
            if (group[i].home == this) return &group[i];
        place* least = nullptr; // of those without rows
        for (std::size_t i = 0; i < of_group; ++i)
            if (group[i].rows == nullptr && (least == nullptr || group[i].uses < least->uses)) least = &group[i];
        if (least != nullptr) {
            if (least->uses > 1) { // worn down by each who comes
                --least->uses;
                return nullptr;
            }
        } else {
            for (std::size_t i = 0; i < of_group; ++i)
                if (!std::exchange(group[i].recent, false)) least = &group[i];
            if (least == nullptr) return nullptr;
        }
        clear(*least);
        least->home = this;
        return least;
    }
    // The places of managers that have gone.
    static void forget_closed(table& t) noexcept {
        for (std::size_t i = 0; i < groups * of_group; ++i)
            if (place& p = t.places[i]; p.rows != nullptr && p.home->closed_.load(std::memory_order_acquire)) clear(p);
    }

    void join(entry& e) noexcept {
        holders_.fetch_add(1, std::memory_order_relaxed);
        const std::lock_guard hold(lock_);
        entries_.add(e);
    }
    void leave(entry& e) noexcept {
        {
            const std::lock_guard hold(lock_);
            entries_.remove(e);
            delete &e; // gives its slots back, if the manager did not make it do so before
        }
        drop();
    }
    void drop() noexcept {
        if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    }

    row_manager<Set>* manager_;
    std::atomic<std::size_t> holders_{1};
    std::atomic<bool> closed_{false};
    intrusive_list<entry, &entry::in_home> entries_;
    spin_lock lock_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
