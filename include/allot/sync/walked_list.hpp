// A list that may change while it is walked. No lock is held during a visit, so that a visit may call other code, and
// may add and remove objects, the visited one too.
//
// A walk keeps its position in an object on its caller's stack. remove() corrects walks that would go on at the removed
// object.
// Invariant: a walk visits each object once that is on the list all the time, and none that is added meanwhile. An
// object that is removed may still be visited: its owner lets it live until then.
// Cost: 24 bytes and 16 per object; a lock per visit. Threads: any.
// Source: the list of an arena's clients (page/arena_client.hpp).
#pragma once

#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/spin_lock.hpp>

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
            Node* const node = following;
            if (node != nullptr) following = all.nodes_.after(*node);
            return node;
        }
        const walked_list& all;
        Node* following = nullptr;
        walk* next = nullptr;
    };

    mutable spin_lock lock_;
    intrusive_list<Node, Place> nodes_;
    mutable walk* walks_ = nullptr;
};

} // namespace allot::inline ALLOT_ABI
