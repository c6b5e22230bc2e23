// A list that may change while it is walked. No lock is held during a visit, so that a visit may call other code, and
// may add and remove objects, the visited one too.
//
// A walk keeps its position in an object on its caller's stack. remove() corrects walks that would go on at the removed
// object.
// Invariant: a walk visits each object once that is on the list all the time, and none that is added meanwhile. An
// object may be removed during a visit of it: its owner lets it live until is_visited_elsewhere() is false.
// Cost: 24 bytes and 16 per object; a lock per visit. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/spin_lock.hpp>
#include <allot/sys/thread.hpp>

#include <cstdint>

namespace allot::inline ALLOT_ABI {

template <class Node, list_hook<Node> Node::* Place> class walked_list {
  public:
    walked_list() = default;
    walked_list(const walked_list&) = delete;
    walked_list& operator=(const walked_list&) = delete;

    // Inserts at the front, where no walk comes by any more.
    void add(Node& node) noexcept {
        const detail::lock_guard hold(lock_);
        nodes_.add(node);
    }
    void remove(Node& node) noexcept {
        const detail::lock_guard hold(lock_);
        for (walk* w = walks_; w != nullptr; w = w->next)
            if (w->following == &node) w->following = nodes_.after(node);
        nodes_.remove(node);
    }
    // Whether another thread visits the object.
    bool is_visited_elsewhere(const Node& node) const noexcept {
        const detail::lock_guard hold(lock_);
        for (const walk* w = walks_; w != nullptr; w = w->next)
            if (w->current == &node && w->thread != sys::thread_token()) return true;
        return false;
    }
    bool empty() const noexcept {
        const detail::lock_guard hold(lock_);
        return nodes_.empty();
    }
    // A visit may also destroy the object without remove(), if no other thread walks.
    template <class Visit> void for_each(Visit visit) const {
        walk here(*this);
        while (Node* const node = here.step()) visit(*node);
    }

  private:
    struct walk {
        explicit walk(const walked_list& list) noexcept : all(list) {
            const detail::lock_guard hold(all.lock_);
            following = all.nodes_.first();
            next = all.walks_;
            all.walks_ = this;
        }
        walk(const walk&) = delete;
        walk& operator=(const walk&) = delete;
        ~walk() {
            const detail::lock_guard hold(all.lock_);
            walk** at = &all.walks_;
            while (*at != this) at = &(*at)->next;
            *at = next;
        }
        Node* step() noexcept {
            const detail::lock_guard hold(all.lock_);
            current = following;
            if (current != nullptr) following = all.nodes_.after(*current);
            return current;
        }
        const walked_list& all;
        const std::uintptr_t thread = sys::thread_token();
        Node* current = nullptr;
        Node* following = nullptr;
        walk* next = nullptr;
    };

    mutable spin_lock lock_;
    intrusive_list<Node, Place> nodes_;
    mutable walk* walks_ = nullptr;
};

} // namespace allot::inline ALLOT_ABI
