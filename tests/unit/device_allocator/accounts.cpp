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

TEST_CASE("device allocator: its account takes a watermark, and reserves a floor", "[accounts]") {
    allocator_machine m;
    account task{name{"task"}, allot::limit{8_MiB}};
    {
        allot::device_allocator<charged> gpu{m.api, task, allot::watermark{2_MiB}, unheard};
        const auto floor = gpu.account().reserve_floor_for(6_MiB, allot::time_span{0});
        CHECK(task.used() == 6_MiB);
        CHECK(gpu.account().stats().watermark == 2_MiB);
    }
    CHECK(task.used() == 0);
}

TEST_CASE("device allocator: its own account refuses", "[accounts]") {
    allocator_machine m;
    account task{name{"task"}};
    allot::device_allocator<charged> gpu{m.api, name{"gpu"}, task, allot::limit{8_MiB}};
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

namespace {

// A device allocator that holds all that its task may use; who else charges the task asks it for what it does not use.
struct asked_one {
    allocator_machine m;
    account task{name{"task"}, allot::limit{16_MiB}}, leaf{task, name{"leaf"}};
    allot::device_allocator<charged> gpu{m.api, task, name{"gpu"}, unheard};

    explicit asked_one(allot::device::simulator_options options) : m{options} {}
    void ask() {
        if (leaf.try_charge(1)) leaf.refund(1);
    }
};

} // namespace

TEST_CASE("device allocator: others get nothing that the device has not done, and wait for nothing", "[accounts]") {
    using call = allocator_machine::call;
    asked_one s{{.execution = allot::device::execution::delayed}};
    s.gpu.deallocate(s.m.used(s.gpu, 16_MiB, s.m.a), s.m.a);
    for (int i = 0; i != 50 && s.gpu.used() != 0; ++i) s.ask();
    CHECK(s.gpu.used() == 0);
    CHECK(s.m.sim.count(call::synchronize_device) + s.m.sim.count(call::synchronize_event) == 0);
    CHECK(s.m.sim.hazards() == 0);
    const auto c = s.m.make_stream();
    s.gpu.deallocate(s.m.used(s.gpu, 16_MiB, c), c);
    REQUIRE(s.m.api.destroy_stream(c)); // untold: nothing can be recorded behind its frees
    for (int i = 0; i != 4; ++i) s.ask();
    CHECK(s.gpu.used() == 16_MiB);
    CHECK(s.gpu.trim() == 16_MiB);
}

TEST_CASE("device allocator: only what an event reports as done is free for all once others ask", "[accounts]") {
    for (std::uint64_t seed = 1; seed != 33; ++seed) { // whether an event is done is drawn
        asked_one s{{.execution = allot::device::execution::none, .seed = seed}};
        s.gpu.deallocate(s.m.used(s.gpu, 16_MiB, s.m.a), s.m.a);
        s.ask();
        s.gpu.deallocate(s.m.used(s.gpu, 16_MiB, s.m.b), s.m.b);
        CHECK(s.m.sim.hazards() == 0);
    }
}

TEST_CASE("device allocator: a stream of another device in a left one's place has no event of that", "[accounts]") {
    asked_one s{{.devices = 2}};
    auto& [m, task, leaf, gpu] = s;
    m.sim.fail(allocator_machine::call::query_stream, {.times = UINT64_MAX});
    void* const p = m.used(gpu, 2_MiB, m.a);
    void* const q = m.used(gpu, 14_MiB, m.b);
    gpu.deallocate(p, m.a);
    CHECK(m.used(gpu, 2_MiB, m.b) == p); // after an event of a
    gpu.leave(m.a);
    const auto other = m.make_stream(allot::device::stream_kind::non_blocking, 1);
    gpu.deallocate(q, other); // in a's place
    const auto asked = m.sim.count(allocator_machine::call::query_event);
    s.ask();
    CHECK(m.sim.count(allocator_machine::call::query_event) == asked + 1); // the one that is recorded now
    CHECK(gpu.used() == 2_MiB);
    gpu.deallocate(p, m.b);
}

TEST_CASE("device allocator: what a stream that is done has freed serves others at once", "[accounts]") {
    for (std::uint64_t seed = 1; seed != 65; ++seed) { // when the device does its work is drawn
        asked_one s{{.execution = allot::device::execution::delayed, .seed = seed}};
        s.gpu.deallocate(s.m.used(s.gpu, 16_MiB, s.m.a), s.m.a);
        s.m.sim.run_all();
        const bool served{s.leaf.try_charge(1)};
        CHECK(served);
        CHECK(s.m.waits() + s.m.events() == 0);
        CHECK(s.m.sim.hazards() == 0);
        if (served) s.leaf.refund(1);
    }
}

TEST_CASE("device allocator: a capture that the account refuses takes what is done in its own allocator",
          "[accounts]") {
    allocator_machine m;
    allot::account task{name{"task"}, allot::limit{2_MiB}};
    allot::device_allocator<charged> gpu{m.api, task, name{"gpu"}, unheard};
    void* const p = m.used(gpu, 2_MiB, m.a);
    gpu.deallocate(p, m.a);
    REQUIRE(m.api.begin_capture(m.b, allot::device::capture_mode::global));
    void* const again = gpu.try_allocate(2_MiB, m.b);
    CHECK(again == p);
    REQUIRE(m.api.destroy_graph(m.got(m.api.end_capture(m.b)))); // no call has invalidated it
    CHECK(m.sim.hazards() == 0);
    gpu.deallocate(again, m.b);
}
