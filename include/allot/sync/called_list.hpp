// A list of objects whose code is called without a lock, and may change the list: clients of an arena, heaps, idle
// memory, observers, reclaimers.
//
// The lock is the owner's: it guards the list and the objects' hooks, and is passed to each function. A walk is an
// object on its caller's stack that visits one object after the other. Its caller holds no lock during a visit and may
// do anything between two: charge, add, remove, walk again.
//
//     list::walk w(all, lock);
//     while (client* const c = w.next(wants)) c->call();    // the call lasts until the next step, or the walk's end
//
// Invariant: a walk visits each object once that is on the list all the time and is wanted, in the list's order, and
// none that was added after its first step. No call of an object begins or runs after remove() has returned true, and
// none begins after it has returned false. Objects are sorted by the order that add() is given, and by their addition
// among equals.
// Cost: 32 bytes per object, 24 per list; the lock once per step, and once more where a walk stops early. remove()
// sleeps while it waits. Threads: any, several walks at once; the list and its lock outlive each walk.
#pragma once

#include <allot/config.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/lock_rank.hpp>
#include <allot/sys/thread.hpp>

#include <atomic>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Node> struct called_hook {
    Node* next = nullptr;
    Node* prev = nullptr;     // of the first one: the last one
    std::uint64_t number = 0; // of its addition; 0: it is on no list
    std::uint32_t calls = 0;  // that run
    bool awaited = false;     // a remove() sleeps until the last of them ends
};

// What a walk does with an object.
enum class walk_step : std::uint8_t {
    skip,
    call,
    end, // of the walk, without a call
};

// The order in which all objects are equals.
struct by_addition {
    template <class Node> constexpr bool operator()(const Node&, const Node&) const noexcept { return false; }
};

template <class Node, called_hook<Node> Node::* Place> class called_list {
    struct position { // of a walk; requires the lock
        Node* current = nullptr;
        Node* following = nullptr;
        const Node* awaits = nullptr; // by a remove() of its thread
        std::uint64_t began = 0;      // the number of the last addition before its first step
        std::uintptr_t thread = sys::thread_token();
        position* next = nullptr;
    };

  public:
    template <class Lock> class walk;

    constexpr called_list() = default;
    called_list(const called_list&) = delete;
    called_list& operator=(const called_list&) = delete;

    // Without the lock: as it was a moment ago.
    bool empty() const noexcept { return first_.load(std::memory_order_relaxed) == nullptr; }

    // Ignored if it is on the list. One that was removed inside a call of it is on the list again.
    // Complexity: linear in the objects that go behind it.
    template <class Lock, class Before = by_addition> void add(Lock& lock, Node& node, Before before = {}) noexcept {
        const detail::lock_guard hold(lock);
        add_locked(node, before);
    }
    // Waits until no other thread calls the object, which may be destroyed then. False: a call of it runs on this
    // thread, or on one that waits in a remove() for a call on this thread. It is off the list, must live until that
    // call has ended, and is added to no other list before. Requires: the thread holds no lock that a call needs.
    template <class Lock> [[nodiscard]] bool remove(Lock& lock, Node& node) noexcept {
        return remove(lock, node, [&] { return take_off_locked(node); });
    }
    // The same, where take_off() calls take_off_locked() and returns its result: with the lock, and again where another
    // thread has added the object meanwhile.
    template <class Lock, class TakeOff> [[nodiscard]] bool remove(Lock& lock, Node& node, TakeOff take_off) noexcept {
        detail::check_no_lock_is_held("waits for calls of an object");
        const std::uintptr_t me = sys::thread_token();
        for (;;) {
            std::uint64_t seen = 0;
            {
                const detail::lock_guard hold(lock);
                set_awaits(me, nullptr);
                if (take_off()) return true;
                if (ends_after_calls_of(node, me)) return false;
                set_awaits(me, &node);
                (node.*Place).awaited = true;
                seen = changes_.load(std::memory_order_relaxed);
            }
            changes_.wait(seen, std::memory_order_relaxed);
        }
    }
    // Takes the object off the list, and waits for no call: it lives until they have ended.
    template <class Lock> void take_off(Lock& lock, Node& node) noexcept {
        const detail::lock_guard hold(lock);
        static_cast<void>(take_off_locked(node));
    }
    // Takes the first object off the list; null if it is empty. Requires that no call runs.
    template <class Lock> Node* pop(Lock& lock) noexcept {
        const detail::lock_guard hold(lock);
        Node* const node = first();
        if (node != nullptr) static_cast<void>(take_off_locked(*node));
        return node;
    }
    // Puts the object behind its equals. False: it is on no list, or stays, since a walk that has not come to it would
    // miss it.
    // Complexity: linear in the objects that go behind it.
    template <class Lock, class Before = by_addition>
    bool move_behind_equals(Lock& lock, Node& node, Before before = {}) noexcept {
        const detail::lock_guard hold(lock);
        if (!is_listed(node)) return false;
        for (const position* w = walks_; w != nullptr; w = w->next)
            if (hook(node).number <= w->began && !is_past(*w, node, before)) return false;
        const Node* const behind = hook(node).next;
        if (behind == nullptr || before(node, *behind))
            return true; // it is there; and empty() never sees it off the list
        unlink(node);
        add_locked(node, before);
        return true;
    }
    // Calls call(node) for each.
    template <class Lock, class Call> void for_each(Lock& lock, Call call) {
        walk<Lock> all(*this, lock);
        while (Node* const node = all.next()) call(*node);
    }

    // ---- Requires the lock -----------------------------------------------------------------------------------

    template <class Before = by_addition> void add_locked(Node& node, Before before = {}) noexcept {
        if (is_listed(node)) return;
        Node* const head = first();
        Node* at = head != nullptr ? hook(*head).prev : nullptr; // the last one that stays in front of it
        while (at != nullptr && before(node, *at)) at = at != head ? hook(*at).prev : nullptr;
        link(node, at, head);
    }
    // As take_off(). Whether no call of it runs.
    bool take_off_locked(Node& node) noexcept {
        if (is_listed(node)) unlink(node);
        return hook(node).calls == 0;
    }
    static bool is_listed(const Node& node) noexcept { return hook(node).number != 0; }
    static bool is_called(const Node& node) noexcept { return hook(node).calls != 0; }
    // Calls look(const Node&) for each, with the lock held.
    template <class Look> void visit_locked(Look look) const noexcept {
        for (const Node* n = first(); n != nullptr; n = hook(*n).next) look(*n);
    }
    template <class Before = by_addition> bool valid(Before before = {}) const noexcept {
        const Node* last = nullptr;
        for (const Node* n = first(); n != nullptr; last = n, n = hook(*n).next) {
            if (hook(*n).number == 0 || hook(*n).number > changes_.load(std::memory_order_relaxed)) return false;
            if (last != nullptr && (hook(*n).prev != last || before(*n, *last))) return false;
            if (last != nullptr && !before(*last, *n) && hook(*last).number > hook(*n).number) return false;
        }
        return last == nullptr || hook(*first()).prev == last;
    }

  private:
    static called_hook<Node>& hook(Node& node) noexcept { return node.*Place; }
    static const called_hook<Node>& hook(const Node& node) noexcept { return node.*Place; }
    Node* first() const noexcept { return first_.load(std::memory_order_relaxed); }
    void set_first(Node* node) noexcept { first_.store(node, std::memory_order_relaxed); }
    std::uint64_t count_change() noexcept {
        const std::uint64_t now = changes_.load(std::memory_order_relaxed) + 1;
        changes_.store(now, std::memory_order_relaxed);
        return now;
    }

    // Behind `at`; null: in front of all.
    void link(Node& node, Node* at, Node* head) noexcept { // `head`: the first one, before it
        called_hook<Node>& h = hook(node);
        h.number = count_change();
        h.next = at != nullptr ? hook(*at).next : head;
        h.prev = at != nullptr ? at : head != nullptr ? hook(*head).prev : &node;
        if (at != nullptr) hook(*at).next = &node;
        else set_first(&node);
        if (Node* const behind = h.next != nullptr ? h.next : head; behind != nullptr) hook(*behind).prev = &node;
    }
    // Walks that would go on at the object go on behind it.
    void unlink(Node& node) noexcept {
        called_hook<Node>& h = hook(node);
        for (position* w = walks_; w != nullptr; w = w->next)
            if (w->following == &node) w->following = h.next;
        Node *const head = first(), *const next = h.next;
        if (head == &node) set_first(next);
        else hook(*h.prev).next = next;
        if (Node* const behind = next != nullptr || head == &node ? next : head; behind != nullptr)
            hook(*behind).prev = h.prev;
        h.number = 0;
    }
    template <class Before> static bool is_past(const position& w, const Node& node, Before before) noexcept {
        if (w.following == nullptr || before(node, *w.following)) return true;
        return !before(*w.following, node) && hook(node).number < hook(*w.following).number;
    }
    // Whether a call of the object ends only after one that runs on this thread. It ends: no thread waits for itself,
    // since remove() asks this before it waits.
    bool ends_after_calls_of(const Node& node, std::uintptr_t thread) const noexcept {
        for (const position* w = walks_; w != nullptr; w = w->next) {
            if (w->current != &node) continue;
            if (w->thread == thread) return true;
            if (w->awaits != nullptr && ends_after_calls_of(*w->awaits, thread)) return true;
        }
        return false;
    }
    void set_awaits(std::uintptr_t thread, const Node* node) noexcept {
        for (position* w = walks_; w != nullptr; w = w->next)
            if (w->thread == thread) w->awaits = node;
    }

    std::atomic<Node*> first_{nullptr};
    position* walks_ = nullptr;
    // Additions, and ends of calls that a remove() waits for: it sleeps on the list's number, since its object may be
    // destroyed once the lock is free.
    std::atomic<std::uint64_t> changes_{0};
};

// Requires: it stays on its thread.
template <class Node, called_hook<Node> Node::* Place> template <class Lock> class called_list<Node, Place>::walk {
  public:
    walk(called_list& list, Lock& lock) noexcept : list_(list), lock_(lock) {}
    walk(const walk&) = delete;
    walk& operator=(const walk&) = delete;
    ~walk() {
        if (stage_ == stage::runs) end();
    }
    // Ends the call of the object before, and begins that of the next one for which wants(const Node&) says so. It is
    // asked with the lock held. Null: there is no other.
    template <class Wants> Node* next(Wants wants) noexcept {
        if (stage_ == stage::over) return nullptr;
        const bool wakes = begin_step();
        walk_step how = walk_step::end;
        Node* node = here_.following;
        for (; node != nullptr; node = hook(*node).next)
            if (hook(*node).number <= here_.began && (how = wants(*node)) != walk_step::skip) break;
        return end_step(how != walk_step::end ? node : nullptr, wakes);
    }
    // The next one of all.
    ALLOT_NOINLINE Node* next() noexcept {
        return next([](const Node&) { return walk_step::call; });
    }

  private:
    enum class stage : std::uint8_t { before, runs, over };

    void begin() noexcept {
        here_.following = list_.first();
        here_.began = list_.changes_.load(std::memory_order_relaxed);
        here_.next = list_.walks_;
        list_.walks_ = &here_;
        stage_ = stage::runs;
    }
    void leave() noexcept {
        if (stage_ != stage::runs) return;
        position** at = &list_.walks_;
        while (*at != &here_) at = &(*at)->next;
        *at = here_.next;
        stage_ = stage::over;
    }
    // Locks, and ends the call before. Returns: whether a remove() waits for that.
    bool begin_step() noexcept {
        lock_.lock();
        if (stage_ == stage::before) begin();
        return end_call();
    }
    Node* end_step(Node* node, bool wakes) noexcept {
        here_.current = node;
        here_.following = node != nullptr ? hook(*node).next : nullptr;
        if (node != nullptr) ++hook(*node).calls;
        else leave();
        unlock(wakes);
        return node;
    }
    ALLOT_NOINLINE void end() noexcept {
        const bool wakes = begin_step();
        leave();
        unlock(wakes);
    }
    // Whether a remove() waits for this end.
    bool end_call() noexcept {
        if (here_.current == nullptr) return false;
        called_hook<Node>& h = hook(*here_.current);
        here_.current = nullptr;
        if (--h.calls != 0 || !h.awaited) return false;
        h.awaited = false;
        list_.count_change();
        return true;
    }
    // The object of the call that ended is not touched any more.
    void unlock(bool wakes) noexcept {
        lock_.unlock();
        if (wakes) list_.changes_.notify_all();
    }

    called_list& list_;
    Lock& lock_;
    position here_;
    stage stage_ = stage::before;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
