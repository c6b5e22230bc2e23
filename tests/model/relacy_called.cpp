// sync/called_list.hpp, the code itself: walks beside removals.
//
// Held: no call of an object runs once remove() has returned true, and the list touches it no more; a walk calls each
// object once that stays on the list; calls that remove each other's objects end, and one of them is not waited for.
#include "relacy_code.hpp"

#include <allot/sync/spin_lock.hpp>
#include <allot/sys/thread.hpp>

namespace allot::inline ALLOT_ABI {
namespace detail::sys {
inline std::uintptr_t simulated_thread() noexcept { return rl::thread_index() + 1; }
} // namespace detail::sys
} // namespace allot::inline ALLOT_ABI
#define thread_token simulated_thread
#include <allot/sync/called_list.hpp>

namespace {

using allot::detail::walk_step;

struct object {
    allot::detail::called_hook<object> place;
    rl::var<int> uses; // what a call and the end of the object touch
    int running = 0, calls = 0;
    bool alive = true;
};
using list = allot::detail::called_list<object, &object::place>;

struct called {
    allot::detail::spin_lock lock;
    list all;
    object objects[3];

    called() {
        for (object& o : objects) {
            o.uses($) = 0;
            all.add(lock, o);
        }
    }
    void begin_call(object& o) {
        RL_ASSERT(o.alive);
        ++o.running, ++o.calls;
        lock.lock(); // calls of two walks at once
        o.uses($) = o.uses($) + 1;
        lock.unlock();
        RL_ASSERT(o.alive);
        --o.running;
    }
    void walk_over() {
        all.for_each(lock, [&](object& o) { begin_call(o); });
    }
    // The object's bytes are then another's.
    void end(object& o) {
        RL_ASSERT(o.running == 0);
        o.uses($) = -1;
        o.alive = false;
        o.place = garbage();
    }
    void remove(object& o) {
        RL_ASSERT(all.remove(lock, o));
        end(o);
    }
    static allot::detail::called_hook<object> garbage() { return {nullptr, nullptr, 77, 7, true}; }
    // No hook of what has left was touched.
    void check() {
        lock.lock();
        RL_ASSERT(all.valid());
        lock.unlock();
        for (object& o : objects)
            if (!o.alive) RL_ASSERT(o.place.number == 77 && o.place.calls == 7 && o.place.awaited);
    }
};

// Two walks, of which one is given up at its first object, and removals of the first object and of the next one.
struct walks_and_removals : rl::test_suite<walks_and_removals, 4> {
    std::optional<called> c;
    int walked;

    void before() { c.emplace(); }
    void thread(unsigned index) {
        if (index == 0) {
            c->walk_over();
        } else if (index == 1) {
            list::walk<allot::detail::spin_lock> w(c->all, c->lock);
            if (object* const o = w.next([](const object&) { return walk_step::call; })) c->begin_call(*o);
            c->all.move_behind_equals(c->lock, c->objects[2]);
        } else {
            c->remove(c->objects[index - 2]);
        }
    }
    void after() {
        c->check();
        RL_ASSERT(c->objects[2].calls >= 1 && c->objects[2].calls <= 2);
        c.reset();
    }
};

// Two calls remove each other's object: one waits for the other one. A third thread removes one of them, too.
struct calls_remove_each_other : rl::test_suite<calls_remove_each_other, 3> {
    std::optional<called> c;
    int refused;

    void before() {
        c.emplace();
        refused = 0;
    }
    void call_and_remove(object& called_one, object& removed) {
        list::walk<allot::detail::spin_lock> w(c->all, c->lock);
        object* const o =
            w.next([&](const object& it) { return &it == &called_one ? walk_step::call : walk_step::skip; });
        if (o != nullptr) ++o->running;
        if (c->all.remove(c->lock, removed)) RL_ASSERT(removed.running == 0);
        else ++refused;
        if (o != nullptr) --o->running;
    }
    void thread(unsigned index) {
        if (index == 2) c->remove(c->objects[2]);
        else call_and_remove(c->objects[index], c->objects[1 - index]);
    }
    void after() {
        c->check();
        RL_ASSERT(refused <= 1);
        RL_ASSERT(!list::is_listed(c->objects[0]) && !list::is_called(c->objects[0]));
        RL_ASSERT(!list::is_listed(c->objects[1]) && !list::is_called(c->objects[1]));
        c.reset();
    }
};

} // namespace

// Each step of a spin lock is one of the model's: there are too many interleavings for all of a few preemptions.
int main() { return holds<walks_and_removals>(100000, 0) && holds<calls_remove_each_other>(100000, 0) ? 0 : 1; }
