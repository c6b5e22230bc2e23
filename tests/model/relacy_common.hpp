// Relacy for the models of lock-free parts: each a program that explores interleavings and weak memory.
//
// A model either runs the headers themselves (relacy_code.hpp), or repeats their steps with relacy's types, one for
// one, and names the function that it mirrors. Plain members are ghosts: relacy runs its threads one at a time.
#pragma once

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#endif
#include <relacy/relacy.hpp>

#include <cstdint>
#include <iostream>

using rl::mo_acq_rel;
using rl::mo_acquire;
using rl::mo_relaxed;
using rl::mo_release;
using rl::mo_seq_cst;

// Random interleavings, then every one of at most `preemptions` (0: none of these; a large model has too many).
// False when one breaks the model.
template <class Test> bool holds(unsigned random_runs, unsigned preemptions) {
    rl::test_params random;
    random.search_type = rl::sched_random;
    random.iteration_count = random_runs;
    random.execution_depth_limit = 20'000; // steps; a thread that waits looks often
    if (!rl::simulate<Test>(random)) return false;
    if (preemptions == 0) return true;
    rl::test_params ordered;
    ordered.search_type = rl::sched_bound;
    ordered.context_bound = preemptions;
    return rl::simulate<Test>(ordered);
}

// sync/mpsc_stack.hpp
template <class Node, rl::atomic<Node*> Node::* Link> struct stack_model {
    rl::atomic<Node*> head;

    void reset() { head($).store(nullptr, mo_relaxed); }
    void push(Node* node) { // mpsc_stack::push
        Node* was = head($).load(mo_relaxed);
        do (node->*Link)($).store(was, mo_relaxed);
        while (!head($).compare_exchange_weak(was, node, mo_release, mo_relaxed));
    }
    bool empty() { return head($).load(mo_relaxed) == nullptr; }
    Node* take_all() { return empty() ? nullptr : head($).exchange(nullptr, mo_acquire); } // mpsc_stack::take_all
};
