// Entries in the order of their priorities: a heap that knows where each entry is, so that one can be moved or taken
// out of the middle.
//
//     struct work { allot::queue_place place; ... };
//     allot::ready_queue<work, &work::place> ready;
//     ready.push(a), ready.update(a, {.number = 7, .order = 1}), ready.remove(b);
//     if (work* const w = ready.first()) ready.remove(*w);
//
// Invariant: an entry is in one queue at most; its place says where. Cost: 24 bytes an entry, and 8 in the queue;
// O(log n) per change. Threads: one at a time.
// Source: d-ary heaps, Johnson 1975; Mars' queue of operands, 2018, which left an outdated copy of an entry behind.
#pragma once

#include <allot/config.hpp>
#include <allot/request/priority.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace allot::inline ALLOT_ABI {
namespace detail {

struct queue_place {
    static constexpr std::size_t none = SIZE_MAX;
    oom::priority at;
    std::size_t index = none; // in the heap
    bool is_queued() const noexcept { return index != none; }
};

template <class Entry, queue_place Entry::* Place> class ready_queue {
  public:
    bool empty() const noexcept { return heap_.empty(); }
    std::size_t size() const noexcept { return heap_.size(); }
    Entry* first() const noexcept { return heap_.empty() ? nullptr : heap_.front(); }

    /// Makes room for `n` entries, so that push() allocates nothing. Throws: std::bad_alloc.
    void reserve(std::size_t n) {
        if (n > heap_.capacity()) heap_.reserve(n + n / 2);
    }
    /// Requires: it is in no queue. Throws: std::bad_alloc.
    void push(Entry& e) {
        heap_.push_back(&e);
        (e.*Place).index = heap_.size() - 1;
        up(e);
    }
    /// Another priority. Requires: it is in this queue.
    void update(Entry& e, const oom::priority& at) noexcept {
        (e.*Place).at = at;
        up(e), down(e);
    }
    /// Requires: it is in this queue.
    void remove(Entry& e) noexcept {
        const std::size_t at = (e.*Place).index;
        Entry& last = *heap_.back();
        heap_.pop_back();
        (e.*Place).index = queue_place::none;
        if (&last == &e) return;
        put(last, at);
        up(last), down(last);
    }
    /// Visits entries in order, until visit() returns false; at most `most`, 32 or fewer.
    template <class Visit> void visit_first(std::size_t most, Visit visit) const {
        std::size_t next[children * 32 + 1], n = 0; // whose parents were visited
        if (!heap_.empty()) next[n++] = 0;
        for (; n != 0 && most != 0; --most) {
            std::size_t best = 0;
            for (std::size_t i = 1; i != n; ++i)
                if (is_before(place(next[i]), place(next[best]))) best = i;
            const std::size_t at = next[best];
            next[best] = next[--n];
            if (!visit(*heap_[at])) return;
            for (std::size_t c = at * children + 1; c <= at * children + children && c < heap_.size(); ++c)
                next[n++] = c;
        }
    }
    template <class Visit> void visit_all(Visit visit) const {
        for (Entry* const e : heap_) visit(*e);
    }
    bool valid() const noexcept {
        for (std::size_t i = 0; i != heap_.size(); ++i)
            if ((heap_[i]->*Place).index != i || (i != 0 && is_before(place(i), place((i - 1) / children))))
                return false;
        return true;
    }

  private:
    static constexpr std::size_t children = 4;

    const oom::priority& place(std::size_t i) const noexcept { return (heap_[i]->*Place).at; }
    void put(Entry& e, std::size_t at) noexcept {
        heap_[at] = &e;
        (e.*Place).index = at;
    }
    void up(Entry& e) noexcept {
        std::size_t at = (e.*Place).index;
        for (; at != 0 && is_before((e.*Place).at, place((at - 1) / children)); at = (at - 1) / children)
            put(*heap_[(at - 1) / children], at);
        put(e, at);
    }
    void down(Entry& e) noexcept {
        std::size_t at = (e.*Place).index;
        for (;;) {
            const std::size_t begin = at * children + 1;
            std::size_t best = begin;
            for (std::size_t c = begin + 1; c < begin + children && c < heap_.size(); ++c)
                if (is_before(place(c), place(best))) best = c;
            if (begin >= heap_.size() || !is_before(place(best), (e.*Place).at)) break;
            put(*heap_[best], at);
            at = best;
        }
        put(e, at);
    }

    std::vector<Entry*> heap_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
