// A doubly linked queue of objects, through links inside the objects: added at both ends, taken from anywhere.
//
// Invariant: an object is in at most one queue through the same links. Cost: 16 bytes per object and queue; O(1) per
// operation. Threads: one at a time.
#pragma once

#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Node, list_hook<Node> Node::* Place> class intrusive_queue {
  public:
    bool empty() const noexcept { return first_ == nullptr; }
    Node* first() const noexcept { return first_; }
    Node* after(const Node& node) const noexcept { return (node.*Place).next; }

    void add_first(Node& node) noexcept {
        (node.*Place) = {first_, nullptr};
        (first_ != nullptr ? (first_->*Place).prev : last_) = &node;
        first_ = &node;
    }
    void add_last(Node& node) noexcept {
        (node.*Place) = {nullptr, last_};
        (last_ != nullptr ? (last_->*Place).next : first_) = &node;
        last_ = &node;
    }
    void remove(Node& node) noexcept {
        const list_hook<Node> was = node.*Place;
        (was.prev != nullptr ? (was.prev->*Place).next : first_) = was.next;
        (was.next != nullptr ? (was.next->*Place).prev : last_) = was.prev;
    }

  private:
    Node* first_ = nullptr;
    Node* last_ = nullptr;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
