// An intrusive lock-free stack: anybody pushes, one consumer takes everything.
//
//     mpsc_stack<page, &page::link> space;    space.push(&p);    for (page* p = space.take_all(); ...)
//
// Because nodes leave only all together, by one exchange, there is no ABA problem, and a push never waits.
// Invariant: a node is on at most one stack through the same link. Cost: 8 bytes, and a link a node.
// Threads: push by any; several may take_all too, each gets what was there.
// Source: Treiber 1986; take-all as in mimalloc's thread free lists, 2019.
#pragma once

#include <allot/config.hpp>

#include <atomic>

namespace allot::inline ALLOT_ABI {

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
    // The last one pushed first; follow the links. Null when it was empty.
    Node* take_all() noexcept { return empty() ? nullptr : head_.exchange(nullptr, std::memory_order_acquire); }
    bool empty() const noexcept { return head_.load(std::memory_order_relaxed) == nullptr; }

  private:
    std::atomic<Node*> head_{nullptr};
};

} // namespace allot::inline ALLOT_ABI
