// Checked builds: a thread that takes locks out of order, or calls a user's code with one held, is told.
#include <support/catch.hpp>
#include <support/dies_telling.hpp>

#include <allot/sync/lock_guard.hpp>
#include <allot/sync/spin_lock.hpp>
#include <allot/sys/lock_rank.hpp>
#include <allot/sys/mutex.hpp>

using allot::detail::lock_guard;
using allot::detail::lock_rank;

namespace {

struct nothing {};
template <class Body> void dies(Body body, const char* said) {
    dies_telling<nothing>([&](nothing&) { body(); }, {said});
}

} // namespace

TEST_CASE("locks out of order are reported", "[death]") {
    dies(
        [] {
            allot::detail::basic_spin_lock<lock_rank::tree> tree;
            allot::detail::basic_spin_lock<lock_rank::heap> heap;
            const lock_guard inner(tree);
            const lock_guard outer(heap);
        },
        "waits for the lock of a heap while it holds the lock of a tree of accounts");
    dies(
        [] {
            allot::detail::basic_spin_lock<lock_rank::heap> one;
            allot::detail::basic_spin_lock<lock_rank::heap> two;
            const lock_guard first(one);
            const lock_guard second(two);
        },
        "waits for the lock of a heap while it holds the lock of a heap");
    dies(
        [] {
            allot::detail::basic_spin_lock<lock_rank::tree> tree;
            allot::detail::sys::mutex shape{lock_rank::tree_shape};
            const lock_guard inner(tree);
            const lock_guard outer(shape);
        },
        "waits for the lock of a tree's shape");
    dies(
        [] {
            allot::detail::basic_spin_lock<lock_rank::heap> heap;
            const lock_guard held(heap);
            allot::detail::check_no_lock_is_held("calls a listener");
        },
        "calls a listener while it holds the lock of a heap");
}

TEST_CASE("locks in order, tried, and released are right", "[death]") {
    const death end = death_of([] {
        allot::detail::basic_spin_lock<lock_rank::heap> heap;
        allot::detail::basic_spin_lock<lock_rank::tree> tree;
        allot::detail::spin_lock inner;
        for (int turn = 0; turn != 300; ++turn) {
            {
                const lock_guard first(heap);
                const lock_guard second(tree);
                const lock_guard third(inner);
            }
            const lock_guard held(tree);
            if (heap.try_lock()) heap.unlock(); // who does not wait may take any
        }
        allot::detail::check_no_lock_is_held("calls a listener");
    });
    INFO(end.said);
    CHECK(end.survived());
}
