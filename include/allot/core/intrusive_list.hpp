// A doubly linked list of objects, through links inside the objects.
//
// Invariant: an object is on at most one list through the same links. Cost: 16 bytes per object and list; O(1) per
// operation. Threads: one at a time.
#pragma once

#include <allot/config.hpp>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Node> struct list_hook {
    Node* next = nullptr;
    Node* prev = nullptr;
};

template <class Node, list_hook<Node> Node::* Place> class intrusive_list {
  public:
    bool empty() const noexcept { return first_ == nullptr; }
    Node* first() const noexcept { return first_; }
    Node* after(const Node& node) const noexcept { return (node.*Place).next; }

    // Inserts at the front.
    void add(Node& node) noexcept {
        (node.*Place) = {first_, nullptr};
        if (first_ != nullptr) (first_->*Place).prev = &node;
        first_ = &node;
    }
    void remove(Node& node) noexcept {
        const list_hook<Node> was = node.*Place;
        (was.prev != nullptr ? (was.prev->*Place).next : first_) = was.next;
        if (was.next != nullptr) (was.next->*Place).prev = was.prev;
    }
    void clear() noexcept { first_ = nullptr; }

    bool valid() const noexcept {
        const Node* before = nullptr;
        for (const Node* p = first_; p != nullptr; before = p, p = after(*p))
            if ((p->*Place).prev != before) return false;
        return true;
    }

  private:
    Node* first_ = nullptr;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
