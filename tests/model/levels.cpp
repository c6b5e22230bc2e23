// Requests that wait for a level that accounts of two trees share: an arena, a pool's own limit, a device, the system.
// The clock is stopped while they wait, so none looks by itself: what gives memory to the level must wake them, or has
// it unused in a cache, of any tree.
#include <support/catch.hpp>
#include <support/death.hpp>
#include <support/device_sets.hpp>
#include <support/rescue.hpp>

#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/row_manager.hpp>
#include <allot/sys/fault.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <linux/futex.h>
#include <optional>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <thread>
#include <type_traits>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::charge_outcome;
using allot::charge_status;
using allot::limit;
using allot::name;
using allot::refuser;

namespace {

using pages = allot::arena<>;
struct of_pages : allot::policies<allot::page::of<pages>, allot::ledger::tree, allot::oom::null> {};
struct of_pages_counted : allot::policies<allot::page::of<pages>, allot::oom::null> {};
struct private_pages : allot::policies<allot::ledger::tree, allot::oom::null> {};
struct counted : allot::policies<allot::oom::null> {}; // a pool with its own limit
struct quiet_on_device : allot::policies<on_simulated, allot::ledger::tree, allot::oom::null> {};
constexpr allot::page_bytes small{64_KiB};

// While it lives the library's time does not pass: a thread that sleeps until then goes on only when it is woken.
class stopped_clock final : allot::detail::sys::fault::stage {
  public:
    stopped_clock() { allot::detail::sys::fault::director = this; }
    stopped_clock(const stopped_clock&) = delete;
    ~stopped_clock() { allot::detail::sys::fault::director = nullptr; }
    void until_asleep(int threads) const {
        while (asleep_ != threads) std::this_thread::yield();
    }

  private:
    std::uint64_t now() noexcept override { return 1'000'000'000; }
    void sleep(const void* at, std::uint64_t) noexcept override {
        ++asleep_;
        ::syscall(SYS_futex, at, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
        --asleep_;
    }
    void wake(const void* at) noexcept override {
        ::syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }

    std::atomic<int> asleep_{0};
};
// Whether `request` is granted, which sleeps until `then` has run on this thread. Never returns where nothing wakes it.
template <class Request, class Then> bool is_woken(const account& waits_in, Request request, Then then) {
    const stopped_clock clock;
    bool got = false;
    std::thread waits{[&] { got = request(); }};
    while (waits_in.stats().waiting == 0) std::this_thread::yield();
    clock.until_asleep(1);
    then();
    waits.join();
    return got;
}

} // namespace

TEMPLATE_TEST_CASE("rows wait for pages of a shared arena that another tree gives", "[model][levels]", of_pages,
                   of_pages_counted) {
    const support::rescue ends{"a row that waits for pages of another tree"};
    for (const bool at_limit : {true, false}) {
        account here{name{"here"}}, there{name{"there"}};
        std::optional<pages> shared;
        if (at_limit) shared.emplace(limit{4_MiB}, small);
        else shared.emplace(allot::reserve_bytes{4_MiB}, small);
        allot::row_manager<of_pages> mine{*shared, here};
        std::optional<allot::row_manager<TestType>> other;
        if constexpr (std::is_same_v<TestType, of_pages>) other.emplace(*shared, there);
        else other.emplace(*shared);
        void *row = nullptr, *held = nullptr;
        const auto fill = [&] { REQUIRE((held = other->try_allocate(3_MiB)) != nullptr); };
        const auto undo = [&] {
            mine.release(std::exchange(row, nullptr));
            mine.trim();
            fill();
        };
        fill();
        charge_status why;
        CHECK(mine.allocate_for(2_MiB, 1_ms, allot::untyped, &why) == nullptr);
        CHECK(why.by == refuser::arena);
        CHECK(why.outcome == (at_limit ? charge_outcome::over_limit : charge_outcome::no_address_space));
        const auto release = [&] { other->release(std::exchange(held, nullptr)); };
        CHECK(is_woken(here, [&] { return (row = mine.allocate_for(2_MiB, allot::forever)) != nullptr; }, release));
        undo();
        CHECK(is_woken(here, [&] { return (row = mine.allocate_for(2_MiB, 2_s)) != nullptr; }, release));
        undo();
        release();
    }
}

TEST_CASE("each tree that waits for an arena is woken, and each request of it that can be served", "[model][levels]") {
    const support::rescue ends{"one of four rows that wait for pages of another tree"};
    account here{name{"here"}}, there{name{"there"}};
    pages shared{limit{4_MiB}, small};
    allot::row_manager<of_pages> a{shared, here}, b{shared, there};
    allot::row_manager<of_pages_counted> other{shared};
    void* const held = other.try_allocate(3'900'000);
    REQUIRE(held != nullptr);
    std::vector<void*> rows(4);
    {
        const stopped_clock clock;
        std::vector<std::jthread> waits;
        for (unsigned i = 0; i != 4; ++i)
            waits.emplace_back([&, i] { rows[i] = (i % 2 == 0 ? a : b).allocate_for(900'000, allot::forever); });
        while (here.stats().waiting + there.stats().waiting != 4) std::this_thread::yield();
        clock.until_asleep(4);
        other.release(held);
    }
    for (unsigned i = 0; i != 4; ++i) (i % 2 == 0 ? a : b).release(rows[i]);
}

TEMPLATE_TEST_CASE("a row that waits for pages is woken by slots that go into caches of another tree",
                   "[model][levels]", of_pages, of_pages_counted) {
    const support::rescue ends{"a row that waits for slots in caches of another tree"};
    account here{name{"here"}}, there{name{"there"}};
    pages shared{limit{1_MiB}, small};
    allot::row_manager<of_pages> mine{shared, here};
    std::optional<allot::row_manager<TestType>> other;
    if constexpr (std::is_same_v<TestType, of_pages>) other.emplace(shared, there);
    else other.emplace(shared);
    const auto page_of = [](const void* row) { return reinterpret_cast<std::uintptr_t>(row) / small.bytes; };
    std::vector<void*> held;
    while (void* const row = other->try_allocate(200)) held.push_back(row);
    const std::uintptr_t page = page_of(held[held.size() / 2]);
    void* row = nullptr;
    const auto release = [&] {
        for (void*& each : held)
            if (page_of(each) == page) other->release(std::exchange(each, nullptr)); // the last ones into a cache
    };
    CHECK(is_woken(here, [&] { return (row = mine.allocate_for(50'000, allot::forever)) != nullptr; }, release));
    mine.release(row);
    for (void* const each : held)
        if (each != nullptr) other->release(each);
}

TEST_CASE("a row that waits for pages is woken by blocks of another tree", "[model][levels]") {
    const support::rescue ends{"a row that waits for blocks of another tree"};
    account here{name{"here"}};
    pages shared{limit{1_MiB}, small};
    allot::row_manager<of_pages> mine{shared, here};
    allot::chunk_arena<of_pages_counted> other{shared, allot::chunk_bytes{256_KiB}};
    std::vector<void*> held;
    while (void* const block = other.try_allocate(3000).address) held.push_back(block);
    void* row = nullptr;
    const auto deallocate = [&] {
        for (void* const each : held) other.deallocate(each);
    };
    CHECK(is_woken(here, [&] { return (row = mine.allocate_for(500'000, allot::forever)) != nullptr; }, deallocate));
    mine.release(row);
}

TEST_CASE("a buffer waits for a pool's own limit, and another tree releases", "[model][levels]") {
    const support::rescue ends{"a buffer that waits for one of another tree"};
    account here{name{"here"}}, there{name{"there"}};
    allot::chunk_arena<counted> pool{limit{4_MiB}, small, allot::chunk_bytes{256_KiB}};
    allot::buffer_memory memory{pool};
    allot::buffer held = memory.allocate(there, 3_MiB), got;
    charge_status why;
    CHECK_FALSE(memory.allocate_for(here, 2_MiB, 1_ms, &why));
    CHECK(why.by == refuser::limit);
    const auto wait = [&] { return bool(got = memory.allocate_for(here, 2_MiB, allot::forever)); };
    CHECK(is_woken(here, wait, [&] { held.release(); }));
    got.release();
    // Small ones, in caches of the pool.
    std::vector<allot::buffer> all;
    while (allot::buffer b = memory.try_allocate(there, 5'000)) all.push_back(std::move(b));
    const auto wait_for_one = [&] { return bool(got = memory.allocate_for(here, 5'000, allot::forever)); };
    CHECK(is_woken(here, wait_for_one, [&] { all.pop_back(); }));
    got.release();
    while (allot::buffer b = memory.try_allocate(there, 5'000)) all.push_back(std::move(b));
    CHECK(is_woken(here, wait, [&] { all.clear(); }));
    // A higher limit.
    got.release();
    held = memory.allocate(there, 3_MiB);
    CHECK(is_woken(here, wait, [&] { pool.set_limit(6_MiB); }));
}

TEST_CASE("device memory waits for what an allocator of another tree frees", "[model][levels][device]") {
    const support::rescue ends{"a device block that waits for ever"};
    allocator_machine m{{.total_bytes = 8_MiB, .poison = false}};
    account here{name{"here"}}, there{name{"there"}};
    allot::device_allocator<quiet_on_device> mine{m.api, here, unheard}, other{m.api, there, unheard};
    void *held = m.used(other, 6_MiB, m.b), *got = nullptr;
    charge_status why;
    CHECK(mine.allocate_for(4_MiB, m.a, 1_ms, 256, &why) == nullptr);
    CHECK(why.by == refuser::device);
    CHECK(mine.allocate_for(9_MiB, m.a, allot::forever, 256, &why) == nullptr); // can never be
    CHECK(why.limit == 8_MiB);
    const auto wait = [&] { return (got = mine.allocate_for(4_MiB, m.a, allot::forever)) != nullptr; };
    CHECK(is_woken(here, wait, [&] { other.deallocate(held, m.b); }));
    mine.deallocate(got, m.a);
}

TEST_CASE("a row waits for memory that the system refuses, until another arena returns some or ends",
          "[model][levels]") {
    if (ALLOT_ASAN || ALLOT_TSAN) SKIP("a sanitizer maps memory of its own");
    // The limit of the process is lifted when the other arena returns its pages, since a returned page counts for it.
    const auto in_child = [](bool ends) {
        const support::rescue late{"a row that waits for memory of the system"};
        rlimit before{};
        static_cast<void>(getrlimit(RLIMIT_DATA, &before));
        const auto set_limit = [&](rlim_t most) {
            const rlimit now{most, before.rlim_max};
            if (setrlimit(RLIMIT_DATA, &now) != 0) std::_Exit(2);
        };
        account here{name{"here"}}, there{name{"there"}};
        allot::row_manager<private_pages> mine{here, small};
        std::optional<allot::row_manager<private_pages>> other;
        void *row = nullptr, *held = nullptr;
        std::size_t bytes = 0;
        const auto wait = [&] {
            mine.release(mine.allocate(1000)); // glibc ends a process where a thread's first destructor finds no memory
            set_limit(1_MiB);                  // less than the process has
            charge_status why;
            bytes += 3_MiB; // pages that were never usable
            if (mine.allocate_for(bytes, 0_ms, allot::untyped, &why) != nullptr) return false;
            if (why.outcome != charge_outcome::no_memory) return false;
            return (row = mine.allocate_for(bytes, allot::forever)) != nullptr;
        };
        const auto then = [&] {
            other->release(held);
            set_limit(before.rlim_cur);
            if (ends) other.reset();
            else other->trim();
        };
        held = other.emplace(there, small).allocate(3_MiB);
        pages unused{limit{1_MiB}, small};
        unused.give(unused.take(4), 4);
        if (!is_woken(here, wait, then) || unused.kept() != 0) std::_Exit(3); // other arenas are asked first
        mine.release(row);
    };
    for (const bool ends : {false, true}) CHECK(death_of([&] { in_child(ends); }).survived());
}
