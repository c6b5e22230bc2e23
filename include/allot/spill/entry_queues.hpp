// The entries of a store in the order in which they leave.
//
//   groups   entries of one task in one account; the first to leave first: those of no task, then the last task
//   clean    entries of a group that are not pinned and are at their home, too; the least recently used first
//   dirty    those that must be written
//   marked   the same two of entries whose next use is known to be late; they are behind the others, and the last that
//            was marked leaves first
//
// Invariant: a group has entries; an entry is in a queue while it is in memory, not pinned, not moved, and has bytes.
// Cost: 120 bytes per group; O(groups) for all that one call picks, and 8 entries each. Threads: requires the store's lock, but for bytes().
#pragma once

#include <allot/account/account.hpp>
#include <allot/config.hpp>
#include <allot/core/intrusive_queue.hpp>
#include <allot/request/command.hpp>
#include <allot/request/priority.hpp>
#include <allot/spill/entry.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

struct entry_group {
    account* by;
    oom::task_id task;
    oom::priority place;
    std::size_t entries = 0, bytes = 0;
    using queue = intrusive_queue<store_entry, &store_entry::place>;
    struct queues {
        queue clean{}, dirty{};
        queue& of(const store_entry& e) noexcept { return e.state == spill::entry_state::both ? clean : dirty; }
    };
    queues unmarked{}, marked{};
    entry_group* next = nullptr;
};

// The request that memory is freed for, and how much.
struct freed_for {
    std::size_t bytes = 0;
    const account* at = nullptr; // entries that are charged there or below; null: all
    const account* requester = nullptr;
    oom::task_id task = oom::no_id; // of the requester
};

class entry_queues {
  public:
    // Bytes that could leave; any thread.
    std::size_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
    // Of those that are charged there, or below.
    std::size_t bytes_at(const account& at) const noexcept {
        std::size_t sum = 0;
        for (const entry_group* g = first_; g != nullptr; g = g->next)
            if (is_asked(*g, {.at = &at})) sum += g->bytes;
        return sum;
    }

    // Puts it into the group of this task and account. False: there is none, and no fresh one.
    bool add(store_entry& e, oom::task_id task, const oom::priority& place,
             std::unique_ptr<entry_group>& fresh) noexcept {
        const auto is_it = [&](const entry_group& g) { return g.by == &e.by && g.task == task && g.place == place; };
        entry_group* g = last_used_;
        if (g == nullptr || !is_it(*g))
            for (g = first_; g != nullptr && !is_it(*g);) g = g->next;
        if (g == nullptr) {
            if (fresh == nullptr) return false;
            g = fresh.release();
            for (entry_group* o = first_; o != nullptr; o = o->next)
                if (o->task == task && o->place != place) o->task = oom::no_id; // of a task that has ended
            entry_group** at = &first_;
            while (*at != nullptr && !oom::is_before((*at)->place, place)) at = &(*at)->next;
            g->next = *at;
            *at = g;
        }
        last_used_ = g;
        ++g->entries;
        e.group = g;
        push(e);
        return true;
    }
    // Returns its group, if that is empty now.
    std::unique_ptr<entry_group> take_out(store_entry& e) noexcept {
        pull(e);
        entry_group* const g = e.group;
        if (--g->entries != 0) return nullptr;
        entry_group** at = &first_;
        while (*at != g) at = &(*at)->next;
        *at = g->next;
        if (last_used_ == g) last_used_ = nullptr;
        return std::unique_ptr<entry_group>(g);
    }
    // It was used now. Nothing where it may not leave.
    ALLOT_OUTLINE void push(store_entry& e) noexcept {
        const bool clean = e.state == spill::entry_state::both;
        if (e.pins != 0 || e.bytes == 0 || e.object == nullptr || (!clean && e.state != spill::entry_state::here))
            return;
        if (e.is_marked) e.group->marked.of(e).add_first(e);
        else e.group->unmarked.of(e).add_last(e);
        e.is_queued = true;
        add_bytes(*e.group, e.object->charged);
    }
    void pull(store_entry& e) noexcept {
        if (!e.is_queued) return;
        (e.is_marked ? e.group->marked : e.group->unmarked).of(e).remove(e);
        e.is_queued = false;
        add_bytes(*e.group, 0 - e.object->charged);
    }
    // Picks those that leave, one after the other, in one hold of the lock: each is pulled before the next one.
    class picker {
      public:
        // What must be written is below `too_large` bytes; none that did not leave in this call.
        picker(const entry_queues& of, const freed_for& what, std::uint32_t call, std::size_t too_large) noexcept
            : of_(of), for_(what), call_(call), too_large_(too_large), at_(of.first_) {}
        // The next one where `missing` bytes are missing; null: none.
        ALLOT_OUTLINE store_entry* next(std::size_t missing) noexcept {
            for (;; at_ = at_->next) {
                if (at_ == nullptr && std::exchange(own_, true)) return nullptr;
                if (at_ == nullptr) at_ = of_.first_;
                if (at_ == nullptr) return nullptr;
                if (at_->bytes == 0 || is_own(*at_, for_) != own_ || !is_asked(*at_, for_)) continue;
                const auto may_leave = [&](const store_entry& e) { return e.failed != call_; };
                const auto may_be_written = [&](const store_entry& e) { return may_leave(e) && e.bytes < too_large_; };
                for (const entry_group::queues* const q : {&at_->unmarked, &at_->marked}) {
                    if (store_entry* const e = choose(q->clean, missing, may_leave)) return e;
                    if (store_entry* const e = choose(q->dirty, missing, may_be_written)) return e;
                }
            }
        }

      private:
        const entry_queues& of_;
        const freed_for& for_;
        const std::uint32_t call_;
        const std::size_t too_large_;
        const entry_group* at_;
        bool own_ = false; // the requester's, behind all others
    };

  private:
    static constexpr unsigned most_compared = 8, most_skipped = 256;

    static bool is_own(const entry_group& g, const freed_for& f) noexcept {
        return f.task != oom::no_id ? g.task == f.task : g.task == oom::no_id && g.by == f.requester;
    }
    static bool is_asked(const entry_group& g, const freed_for& f) noexcept {
        const account_node& by = g.by->node();
        return !by.life.is_closed() && (f.at == nullptr || by.is_charged_below(f.at->node()));
    }
    template <class Queue, class May>
    static store_entry* choose(const Queue& from, std::size_t missing, May may) noexcept {
        store_entry *oldest = nullptr, *best = nullptr;
        unsigned compared = 0, skipped = 0;
        for (store_entry* e = from.first(); e != nullptr; e = from.after(*e)) {
            if (!may(*e)) {
                if (++skipped == most_skipped) break;
                continue;
            }
            if (oldest == nullptr) oldest = e;
            const std::size_t bytes = e->object->charged;
            if (bytes >= missing && (best == nullptr || bytes < best->object->charged)) best = e;
            if (++compared == most_compared) break;
        }
        return best != nullptr ? best : oldest;
    }
    void add_bytes(entry_group& g, std::size_t n) noexcept {
        g.bytes += n;
        bytes_.store(bytes_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }

    entry_group* first_ = nullptr;
    entry_group* last_used_ = nullptr;
    std::atomic<std::size_t> bytes_{0};
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
