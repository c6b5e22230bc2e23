// heap::per_thread: each thread finds its own local_rows of a manager, made at its first use.
//
// A thread's table holds one entry a manager. When the thread ends its caches are given back; when the manager goes
// first, the entries are cut off by the manager and forgotten by the threads. Entry and manager meet under the
// manager's lock, so neither order of ending touches memory of the other.
// Cost: a thread-local load and a compare; 200 bytes and its caches a thread and manager. A process that unloads a library with
// dlclose must end the threads that ran the library's managers first, or destroy those managers.
// Threads: any. Source: tcmalloc's thread caches, 2005.
#pragma once

#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/row/local_rows.hpp>
#include <allot/sync/spin_lock.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>

namespace allot::inline ALLOT_ABI {
namespace detail {

// The manager that the thread used last, and its rows of it. Constant at first and without a destructor, so that
// reading it is one load, and it can be read to the thread's very end.
template <class Set>
struct last_used {
    const void* home = nullptr;
    local_rows<Set>* rows = nullptr;
    bool ended = false; // the thread's table has gone
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
    struct node {
        thread_rows* home = nullptr;
        entry* rows = nullptr;
        node* next = nullptr;
    };
    // A thread's entries.
    struct table {
        node* nodes = nullptr;

        ~table() {
            last_here<Set> = {.ended = true};
            while (nodes != nullptr) {
                node* const n = nodes;
                nodes = n->next;
                n->home->leave(*n->rows);
                delete n;
            }
        }
    };
    static table& mine() noexcept {
        static thread_local table t;
        return t;
    }

    ALLOT_NOINLINE local_rows<Set>* look() noexcept {
        if (last_here<Set>.ended) return nullptr; // a destructor of a thread-local that runs after the table's
        for (node* n = mine().nodes; n != nullptr; n = n->next)
            if (n->home == this) return remember(*n->rows);
        return nullptr;
    }
    local_rows<Set>* remember(entry& e) noexcept {
        last_here<Set> = {.home = this, .rows = &e.rows};
        return &e.rows;
    }
    ALLOT_NOINLINE local_rows<Set>* find() noexcept {
        if (local_rows<Set>* const found = look()) return found;
        if (last_here<Set>.ended) return nullptr;
        last_here<Set> = {};
        table& t = mine();
        for (node** at = &t.nodes; *at != nullptr;) {
            node& n = **at;
            if (n.home->closed_.load(std::memory_order_acquire)) { // its manager has gone
                node* const gone = *at;
                *at = gone->next;
                gone->home->leave(*gone->rows);
                delete gone;
                continue;
            }
            at = &n.next;
        }
        auto* const n = new (std::nothrow) node;
        auto* const e = n != nullptr ? new (std::nothrow) entry(*manager_) : nullptr;
        if (e == nullptr) {
            delete n;
            return nullptr;
        }
        join(*e);
        *n = {this, e, t.nodes};
        t.nodes = n;
        return remember(*e);
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
