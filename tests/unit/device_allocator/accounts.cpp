// Device allocators whose memory is charged to a tree of accounts.
#include <support/device_sets.hpp>
#include <support/rescue.hpp>

#include <allot/account/account.hpp>
#include <allot/ledger/tree.hpp>

#include <string>

using namespace allot::literals;
using allot::account;
using allot::name;

namespace {

struct charged : allot::policies<on_simulated, allot::ledger::tree, allot::oom::null> {};
struct charged_raises : allot::policies<on_simulated, allot::ledger::tree> {};

// Uses the allocator in each call, as a program may: its figures, a report, and blocks that may want more memory.
template <class Set> struct user : allot::account_listener {
    allot::device_allocator<Set>& gpu;
    allocator_machine::stream stream;
    std::size_t more = 0; // to allocate in a call
    int afters = 0, refusals = 0, releases = 0;

    user(allot::device_allocator<Set>& of, allocator_machine::stream s) : gpu{of}, stream{s} {}
    void use() {
        (void)gpu.stats();
        char page[1024];
        allot::text_writer out{page};
        gpu.report(out);
        if (more != 0) gpu.deallocate(gpu.try_allocate(more, stream), stream);
    }
    void after(const account&, std::size_t, const allot::charge_status&) noexcept override { ++afters, use(); }
    void released(const account&, std::size_t) noexcept override { ++releases, use(); }
    void refused(const account&, const allot::charge_status&) noexcept override { ++refusals, use(); }
};

} // namespace

TEST_CASE("device allocator: what it holds of the device is charged to the account that it was given", "[accounts]") {
    allocator_machine m;
    account task{name{"task"}, allot::limit{8_MiB}};
    {
        allot::device_allocator<charged> one{m.api, task, name{"one"}, unheard},
            two{m.api, task, name{"two"}, allot::limit{4_MiB}, unheard};
        void* const p = one.try_allocate(6_MiB, m.a);
        REQUIRE(p != nullptr);
        CHECK(task.used() == one.stats().charged);
        CHECK(one.account().parent() == &task);
        CHECK(two.try_allocate(4_MiB, m.a) == nullptr); // its limit allows it, the task's does not
        CHECK(task.peak() == task.used());              // and nothing is left of it
        void* const q = two.try_allocate(2_MiB, m.a);
        CHECK(q != nullptr);
        CHECK(task.used() == 8_MiB);
        CHECK(one.valid());
        one.deallocate(p, m.a);
        CHECK(one.trim() == 6_MiB);
        CHECK(task.used() == 2_MiB);
        two.deallocate(q, m.a);
    }
    CHECK(task.used() == 0);
    CHECK(task.verify());
}

TEST_CASE("device allocator: its account takes a reservation and grace", "[accounts]") {
    allocator_machine m;
    account task{name{"task"}, allot::limit{8_MiB}};
    {
        const allot::device_allocator<charged> gpu{m.api, task, allot::reservation{6_MiB}, allot::grace{2_MiB},
                                                   unheard};
        CHECK(task.used() == 6_MiB);
        CHECK(gpu.account().stats().grace == 2_MiB);
#if ALLOT_EXCEPTIONS
        using allocator = allot::device_allocator<charged>;
        CHECK_THROWS_AS((allocator{m.api, task, allot::reservation{4_MiB}, unheard}), allot::out_of_memory);
#endif
    }
    CHECK(task.used() == 0);
}

TEST_CASE("device allocator: its own account refuses, after its grace", "[accounts]") {
    allocator_machine m;
    account task{name{"task"}};
    allot::device_allocator<charged> gpu{m.api, name{"gpu"}, task, allot::limit{4_MiB}, allot::grace{4_MiB}};
    void* const p = gpu.try_allocate(4_MiB, m.a);
    void* const beyond = gpu.try_allocate(2_MiB, m.a);
    CHECK(beyond != nullptr);
    allot::charge_status why;
    CHECK(gpu.try_allocate(8_MiB, m.a, &why) == nullptr);
    CHECK(why.at == &gpu.account());
    CHECK(gpu.account().stats().refused == 1);
    gpu.deallocate(p, m.a);
    gpu.deallocate(beyond, m.a);
}

TEST_CASE("device allocator: memory that the device refuses is in no peak", "[accounts]") {
    allocator_machine m{{.total_bytes = std::size_t{16} << 20}};
    account task{name{"task"}};
    allot::device_allocator<charged> gpu{m.api, task, unheard};
    CHECK(gpu.try_allocate(64_MiB, m.a) == nullptr);
    CHECK(task.used() == 0);
    CHECK(task.peak() == 0);
}

TEST_CASE("device allocator: a listener may use the allocator that is charged", "[accounts]") {
    for (const std::size_t more : {0_MiB, 1_MiB, 3_MiB}) {
        const support::rescue guard{"a listener that uses its allocator"};
        allocator_machine m;
        account task{name{"task"}, allot::limit{16_MiB}};
        allot::device_allocator<charged> gpu{m.api, task, unheard};
        user<charged> hears{gpu, m.a};
        hears.more = more;
        task.add(hears);
        void* const p = m.used(gpu, 6_MiB, m.a);
        CHECK(hears.afters != 0);
        CHECK(gpu.try_allocate(64_MiB, m.a) == nullptr);
        CHECK(hears.refusals != 0);
        CHECK(gpu.try_allocate(12_MiB, m.b) == nullptr);
        gpu.deallocate(p, m.a);
        void* const q = m.used(gpu, 11_MiB, m.b); // in place of pieces, beside what the listener takes
        CHECK(hears.releases + hears.refusals != 0);
        gpu.deallocate(q, m.b);
        CHECK(gpu.trim() != 0);
        CHECK(hears.releases != 0);
        CHECK(gpu.valid());
        CHECK(task.used() == gpu.used());
        CHECK(m.sim.hazards() == 0);
        task.remove(hears);
    }
}

#if ALLOT_EXCEPTIONS
TEST_CASE("device allocator: the out-of-memory page names the top holders", "[accounts]") {
    allocator_machine m;
    account task{name{"task"}, allot::limit{8_MiB}};
    account other{task, name{"tables"}};
    REQUIRE(other.try_charge(6_MiB));
    allot::device_allocator<charged_raises> gpu{m.api, task, name{"columns"}, unheard};
    try {
        gpu.allocate(4_MiB, m.a);
        FAIL("it was had");
    } catch (const allot::out_of_memory& e) {
        CHECK(std::string{e.report()}.find("tables: 6 MiB charged") != std::string::npos);
    }
    other.refund(6_MiB);
}
#endif

TEST_CASE("device allocator: what it does not use serves others below its account", "[accounts]") {
    allocator_machine m;
    account task{name{"task"}, allot::limit{64_MiB}};
    allot::device_allocator<charged> idle{m.api, task, name{"idle"}, unheard}, gpu{m.api, task, name{"gpu"}, unheard};
    const auto use = [&] {
        void* const p = idle.try_allocate(48_MiB, m.a);
        REQUIRE(p != nullptr);
        idle.deallocate(p, m.a);
        CHECK(idle.used() >= 48_MiB);
        m.sim.run_all();
    };
    use();
    void* const q = gpu.try_allocate(40_MiB, m.a);
    CHECK(q != nullptr);
    CHECK(idle.used() == 0);
    gpu.deallocate(q, m.a);
    m.sim.run_all();
    use(); // now the other one is at rest
    account leaf{task, name{"leaf"}};
    CHECK(leaf.try_charge(60_MiB));
    CHECK(idle.used() + gpu.used() <= 4_MiB);
    leaf.refund(60_MiB);
    CHECK(idle.valid());
    CHECK(gpu.valid());
}
