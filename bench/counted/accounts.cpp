// Accounts and buffers: allocate is a charge or a new view, release a refund or the end of a view.
#include <counted/count.hpp>

#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/oom/arbiter.hpp>

#include <array>
#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

namespace measured {

using namespace allot::literals;

// Tasks: an arbiter, or none.
template <class Tasks, class... Values> struct charge_subject {
    Tasks tasks;
    allot::account root{allot::name{"root"}, allot::limit{4_GiB}, static_cast<allot::judged_by&>(tasks)},
        leaf{root, allot::name{"leaf"}, Values{}...};

    explicit charge_subject(const bench::job&) {}
    struct user {
        explicit user(charge_subject& of) : leaf(of.leaf) {}
        void* allocate(std::size_t bytes) { return leaf.try_charge(bytes) ? row.data() : nullptr; }
        void release(void*, std::size_t bytes) { leaf.refund(bytes); }
        allot::account& leaf;
        std::array<std::byte, 64> row{};
    };
};

// A request that a full account refuses, beside 1,000 leaves with credit elsewhere in the tree.
struct refused_subject {
    allot::account root{allot::name{"root"}, allot::limit{4_GiB}}, full{root, allot::name{"full"}, allot::limit{0}};
    std::deque<allot::account> leaves;

    explicit refused_subject(const bench::job&) {
        for (int i = 0; i != 1000; ++i) {
            allot::account& leaf = leaves.emplace_back(root, allot::name{"leaf"}, allot::credit_step{});
            leaf.refund(leaf.try_charge(64) ? 64 : 0);
        }
    }
    struct user {
        explicit user(refused_subject& of) : full(of.full) {}
        void* allocate(std::size_t bytes) { return full.try_charge(bytes) ? nullptr : row.data(); }
        void release(void*, std::size_t) {}
        allot::account& full;
        std::array<std::byte, 64> row{};
    };
};

struct quiet_reclaimer final : allot::reclaimer {
    explicit quiet_reclaimer(std::uint32_t cost = 1) : reclaimer("quiet", cost) {}
    bool helps(const allot::shortage&) const noexcept override { return false; }
    bool reclaim(const allot::shortage&) noexcept override { return false; }
};
// allocate adds a reclaimer, release removes it; beside those of 16 costs.
struct registration_subject {
    allot::account root{allot::name{"root"}};
    std::deque<quiet_reclaimer> others;
    quiet_reclaimer own{16};

    explicit registration_subject(const bench::job&) {
        for (std::uint32_t cost = 1; cost != 17; ++cost) root.add(others.emplace_back(cost));
    }
    struct user {
        explicit user(registration_subject& s) : of(s) {}
        void* allocate(std::size_t) { return of.root.add(of.own), row.data(); }
        void release(void*, std::size_t) { static_cast<void>(of.root.remove(of.own)); }
        registration_subject& of;
        std::array<std::byte, 64> row{};
    };
};

// Views are kept side by side, the last one goes first.
template <class Make> struct view_subject {
    struct blocks : allot::policies<allot::fit::runs, allot::heap::per_thread, allot::oom::null> {};
    allot::chunk_arena<blocks> arena{allot::limit{4_GiB}};
    allot::buffer_memory memory{arena};
    allot::account root{allot::name{"root"}, allot::limit{4_GiB}},
        leaf{root, allot::name{"leaf"}, allot::credit_step{}};
    allot::buffer one = memory.allocate(leaf, 4096);

    explicit view_subject(const bench::job&) {}
    struct user {
        explicit user(view_subject& s) : of(s), views(counted::rows_of_W2) {}
        void* allocate(std::size_t bytes) {
            views[n] = Make{}(of, bytes);
            return views[n++].data();
        }
        void release(void*, std::size_t) { views[--n].release(); }
        view_subject& of;
        std::vector<allot::buffer> views;
        std::size_t n = 0;
    };
};
struct slices {
    allot::buffer operator()(auto& of, std::size_t bytes) const { return of.one.slice(64, bytes); }
};
struct makes {
    allot::buffer operator()(auto& of, std::size_t bytes) const { return of.memory.try_allocate(of.leaf, bytes); }
};

} // namespace measured

void counted::accounts() {
    using namespace measured;
    using allot::judged_by, allot::credit_step, allot::oom::arbiter;
    count<15, charge_subject<judged_by, credit_step>>("charge_steps");
    count<17, charge_subject<judged_by>>("charge_exact");
    count<55, charge_subject<arbiter, credit_step>>("charge_steps_of_tasks");
    count<56, charge_subject<arbiter>>("charge_exact_of_tasks");
    count<53, refused_subject>("charge_refused");
    count<54, registration_subject>("reclaimer_added");
    count<18, view_subject<slices>>("buffer_slice");
    count<19, view_subject<makes>>("buffer_of_chunks");
}
