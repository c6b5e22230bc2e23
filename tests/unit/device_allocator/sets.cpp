// What a set's answers change: nothing is charged or counted, memory freed on the host's word, which set is described.
#include <support/device_sets.hpp>

#include <allot/core/describe.hpp>

#include <type_traits>

using namespace allot::literals;

struct counts_nothing : allot::policies<on_simulated, allot::oom::null, allot::ledger::none, allot::watch::none> {};
struct by_the_host : allot::policies<on_simulated, allot::oom::null, allot::order::host> {};

static_assert(std::is_empty_v<allot::detail::no_device_counters>);
static_assert(sizeof(allot::device_allocator<counts_nothing>) + sizeof(allot::detail::page_ledger) +
                  sizeof(allot::detail::device_counters) ==
              sizeof(allot::device_allocator<task_memory>));
static_assert(std::is_same_v<allot::detail::resolved<task_memory_raises,
                                                     allot::product::device_allocator>::answer<allot::category::fit>,
                             allot::fit::best>);
struct by_default : allot::policies<on_simulated> {};
static_assert(std::is_same_v<
              allot::detail::resolved<by_default, allot::product::device_allocator>::answer<allot::category::order>,
              allot::order::stream>);

TEST_CASE("device allocator: a set that charges and counts nothing is bounded by the device alone") {
    allocator_machine m{{.total_bytes = 16_MiB}};
    allot::device_allocator<counts_nothing> gpu{m.api, unheard};
    void* const p = m.used(gpu, 10_MiB, m.a);
    CHECK(gpu.try_allocate(10_MiB, m.a) == nullptr);
    const auto f = gpu.stats();
    CHECK(f.limit == SIZE_MAX);
    CHECK(f.allocations == 0);
    CHECK(f.charged == 10_MiB);
    gpu.deallocate(p, m.a);
    CHECK(m.used(gpu, 12_MiB, m.b) != nullptr); // the piece of 10 MiB goes back for it
    CHECK(m.sim.hazards() == 0);
}

TEST_CASE("device allocator: in the order of the host, who frees has waited") {
    allocator_machine m;
    allot::device_allocator<by_the_host> gpu{m.api, unheard, allot::limit{2_MiB}};
    void* const p = m.used(gpu, 2_MiB, m.a);
    REQUIRE(m.api.synchronize(m.a));
    gpu.deallocate(p, m.a);
    CHECK(m.used(gpu, 2_MiB, m.b) == p);
    CHECK(m.waits() == 0);
    CHECK(gpu.try_allocate(1, m.b) == nullptr);
    CHECK(m.sim.hazards() == 0);
    SECTION("and a program that has not is told") {
        gpu.deallocate(p, m.b);
        m.writes(m.a, gpu.try_allocate(2_MiB, m.a), 2_MiB);
        CHECK(m.sim.hazards() != 0);
        m.sim.forget_hazards();
    }
}

TEST_CASE("device allocator: describes its set") {
    char text[2048];
    allot::text_writer out{text};
    allot::describe<task_memory, allot::product::device_allocator>(out);
    for (const char* part : {"device_allocator of task_memory", "page::on_device<device::simulated>", "fit::best",
                             "order::stream", "ledger::counter", "retain::on_pressure"})
        CHECK(out.view().find(part) != std::string_view::npos);
}
