// An intrusive lock-free stack: any thread pushes, a consumer takes all nodes at once.
//
//     mpsc_stack<page, &page::link> space;    space.push(&p);    for (page* p = space.take_all(); ...)
//
// There is no ABA problem, because nodes are removed only all together, by one exchange. push() never waits for a
// thread.
// Invariant: a node is on at most one stack through the same link. Cost: 8 bytes, and one link per node.
// Threads: any; concurrent take_all() calls get disjoint nodes.
// Source: Treiber 1986; take-all as in mimalloc's thread free lists, 2019.
#pragma once

#include <allot/config.hpp>

#include <atomic>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Node, std::atomic<Node*> Node::* Link> class mpsc_stack {
  public:
    mpsc_stack() = default;
    mpsc_stack(const mpsc_stack&) = delete;
    mpsc_stack& operator=(const mpsc_stack&) = delete;

    void push(Node* node) noexcept {
        Node* head = head_.load(std::memory_order_relaxed);
        do {
            (node->*Link).store(head, std::memory_order_relaxed);
        } while (!head_.compare_exchange_weak(head, node, std::memory_order_release, std::memory_order_relaxed));
    }
    // Returns the nodes linked, last pushed first; null when the stack was empty.
    Node* take_all() noexcept { return empty() ? nullptr : head_.exchange(nullptr, std::memory_order_acquire); }
    bool empty() const noexcept { return head_.load(std::memory_order_relaxed) == nullptr; }

  private:
    std::atomic<Node*> head_{nullptr};
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
