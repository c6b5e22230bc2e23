// sync/mpsc_stack.hpp: what is pushed is taken exactly once, with what its pusher wrote, also when a taken node is
// pushed again at once.
#include "relacy_common.hpp"

namespace {

struct node {
    rl::atomic<node*> link;
    rl::var<int> payload;
    int taken = 0; // ghost: times taken less times pushed, plus one
};

struct pushes_and_takes : rl::test_suite<pushes_and_takes, 4> {
    stack_model<node, &node::link> stack;
    node nodes[4];
    int pushes, takes;

    void before() {
        stack.reset();
        pushes = takes = 0;
        for (node& n : nodes) n.taken = 1;
    }
    void push(node& n, int value) {
        n.payload($) = value;
        RL_ASSERT(n.taken == 1); // it is nobody else's
        n.taken = 0;
        ++pushes;
        stack.push(&n);
    }
    // Takes all; pushes the first one again if told so.
    void take(bool again) {
        for (node* n = stack.take_all(); n != nullptr;) {
            node* const following = n->link($).load(mo_relaxed);
            RL_ASSERT(n->taken == 0);
            n->taken = 1;
            ++takes;
            RL_ASSERT(n->payload($) > 0);
            if (again) push(*n, 7);
            again = false;
            n = following;
        }
    }
    void thread(unsigned index) {
        if (index < 2) {
            push(nodes[index * 2], 1);
            push(nodes[index * 2 + 1], 2);
        } else {
            take(true);
            take(index == 2);
        }
    }
    void after() {
        take(false);
        RL_ASSERT(pushes == takes);
        for (node& n : nodes) RL_ASSERT(n.taken == 1);
    }
};

} // namespace

int main() { return holds<pushes_and_takes>(400000, 1) ? 0 : 1; }
