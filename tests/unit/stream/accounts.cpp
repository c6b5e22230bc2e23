// Device allocators whose memory is charged to a tree of accounts.
#include <support/device_sets.hpp>

#include <allot/ledger/account.hpp>

#include <string>

using namespace allot::literals;
using allot::account;
using allot::name;

namespace {

struct charged : allot::policies<on_simulated, allot::ledger::tree, allot::oom::null> {};
struct charged_raises : allot::policies<on_simulated, allot::ledger::tree> {};

} // namespace

TEST_CASE("device allocator: what it holds of the device is charged to the account that it was given", "[accounts]") {
    allocator_machine m;
    account task{name{"task"}, allot::limit{8_MiB}};
    {
        allot::device_allocator<charged> one{m.api, task, name{"one"}, unheard}, two{m.api, task, name{"two"}, allot::limit{4_MiB}, unheard};
        void* const p = one.try_allocate(6_MiB, m.a);
        REQUIRE(p != nullptr);
        CHECK(task.used() == one.figures().reserved);
        CHECK(one.account().parent() == &task);
        CHECK(two.try_allocate(4_MiB, m.a) == nullptr); // its limit allows it, the task's does not
        CHECK(task.peak() == task.used()); // and nothing is left of it
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

TEST_CASE("device allocator: memory that the device refuses is in no peak", "[accounts]") {
    allocator_machine m{{.total_bytes = std::size_t{16} << 20}};
    account task{name{"task"}};
    allot::device_allocator<charged> gpu{m.api, task, unheard};
    CHECK(gpu.try_allocate(64_MiB, m.a) == nullptr);
    CHECK(task.used() == 0);
    CHECK(task.peak() == 0);
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
