// What programs ask of a device allocator, whatever its set and the device's memory. A new policy joins by a set in
// `sets_of_blocks`.
#include <support/device_sets.hpp>

#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

using namespace allot::literals;
namespace device = allot::device;

namespace {

struct by_default : allot::policies<on_simulated> {};
struct by_the_host : allot::policies<on_simulated, allot::order::host, allot::oom::null> {};
struct uncharged : allot::policies<on_simulated, allot::ledger::none, allot::oom::null> {};
struct uncounted : allot::policies<on_simulated, allot::watch::none, allot::oom::null> {};
struct kept : allot::policies<on_simulated, allot::retain::never, allot::oom::null> {};
struct kept_until_called : allot::policies<on_simulated, allot::retain::on_call, allot::oom::null> {};
struct nothing_at_all : allot::policies<on_simulated, allot::order::host, allot::ledger::none, allot::watch::none> {};
using sets_of_blocks =
    std::tuple<by_default, by_the_host, uncharged, uncounted, kept, kept_until_called, nothing_at_all>;

template <class Set> using answers = allot::detail::resolved<Set, allot::product::device_allocator>;
template <class Set> constexpr bool charges = answers<Set>::template answer<allot::category::ledger>::charges;
template <class Set> constexpr bool counts = answers<Set>::template answer<allot::category::watch>::counts;
template <class Set> constexpr bool when_called = answers<Set>::template answer<allot::category::retain>::when_called;
template <class Set> constexpr bool at_once = answers<Set>::template answer<allot::category::order>::at_once;

constexpr std::size_t most = 24_MiB;

// An allocator of the set, bounded to `most` by its limit or by the device.
template <class Set> struct place {
    allocator_machine m;
    allot::device_allocator<Set> gpu;

    explicit place(device::simulator_options o = {}) : m{bounded(o)}, gpu{make()} {}
    static device::simulator_options bounded(device::simulator_options o) {
        o.total_bytes = charges<Set> ? 1_GiB : most;
        return o;
    }
    allot::device_allocator<Set> make() {
        if constexpr (charges<Set>)
            return allot::device_allocator<Set>{m.api, unheard, allot::limit{most}, allot::name{"suite"}};
        else return allot::device_allocator<Set>{m.api, unheard, allot::name{"suite"}};
    }
    // In the order of the host, who frees has waited.
    void free(void* p, simulated_machine::stream s) {
        if constexpr (at_once<Set>) REQUIRE(m.api.synchronize(s));
        gpu.deallocate(p, s);
    }
    void finish() {
        CHECK(gpu.valid());
        CHECK(gpu.stats().live == 0);
        const std::size_t reserved = gpu.stats().charged;
        CHECK(gpu.trim() == (when_called<Set> ? reserved : 0));
        CHECK(gpu.stats().charged == (when_called<Set> ? 0 : reserved));
        CHECK(m.sim.hazards() == 0);
    }
};

std::uintptr_t number(void* p) { return reinterpret_cast<std::uintptr_t>(p); }

} // namespace

TEMPLATE_LIST_TEST_CASE("blocks of a device never overlap, are what was asked for, and stay within the limit",
                        "[device][conform]", sets_of_blocks) {
    for (const bool virtual_memory : {true, false}) {
        place<TestType> at{{.virtual_memory = virtual_memory, .execution = device::execution::delayed}};
        struct block {
            std::size_t bytes;
            std::size_t stream;
        };
        std::map<std::uintptr_t, block> live;
        std::vector<simulated_machine::stream> streams{at.m.a, at.m.b, at.m.make_stream(),
                                                       device::simulated::legacy_stream()};
        std::mt19937 random{11};
        std::size_t refused = 0;
        for (int step = 0; step != 4000; ++step) {
            const std::size_t s = random() % streams.size();
            if (live.empty() || random() % 100 < (step / 500 % 2 == 0 ? 65U : 35U)) {
                const std::size_t bytes = 1 + random() % (std::size_t{1} << random() % 22),
                                  align = std::size_t{1} << random() % 14;
                void* const p = at.gpu.try_allocate(bytes, align, streams[s]);
                if (p == nullptr) {
                    ++refused;
                    continue;
                }
                REQUIRE(number(p) % align == 0);
                REQUIRE(number(p) % 256 == 0);
                const auto next = live.lower_bound(number(p));
                REQUIRE((next == live.end() || number(p) + bytes <= next->first));
                REQUIRE((next == live.begin() || std::prev(next)->first + std::prev(next)->second.bytes <= number(p)));
                live[number(p)] = {bytes, s};
                at.m.writes(streams[s], p, bytes);
            } else {
                auto some = live.lower_bound(live.begin()->first + random() % most);
                if (some == live.end()) some = live.begin();
                at.free(reinterpret_cast<void*>(some->first), streams[some->second.stream]);
                live.erase(some);
            }
            if (step % 200 == 0) {
                REQUIRE(at.gpu.valid());
                const auto f = at.gpu.stats();
                REQUIRE(f.live_blocks == live.size());
                REQUIRE(f.charged <= most);
                REQUIRE(f.live <= f.charged);
            }
        }
        for (const auto& [address, b] : live) at.free(reinterpret_cast<void*>(address), streams[b.stream]);
        const auto f = at.gpu.stats();
        CHECK(f.refused == (counts<TestType> ? refused : 0));
        CHECK(f.allocations == f.frees);
        CHECK(f.free_for_all + f.free_after_wait + f.captured == f.charged);
        at.finish();
    }
}

TEMPLATE_LIST_TEST_CASE("a device allocator answers what is absurd, and what it refuses changes nothing",
                        "[device][conform]", sets_of_blocks) {
    place<TestType> at;
    void* const p = at.gpu.try_allocate(1000, at.m.a);
    REQUIRE(p != nullptr);
    CHECK(at.gpu.try_allocate(0, at.m.a) == nullptr);
    at.gpu.deallocate(nullptr, at.m.a);
    const auto before = at.gpu.stats();
    for (const std::size_t bytes : {most + 1, std::size_t{1} << 40, SIZE_MAX / 2, SIZE_MAX})
        for (const std::size_t align : {std::size_t{1}, 2_MiB, std::size_t{1} << 63})
            CHECK(at.gpu.try_allocate(bytes, align, at.m.b) == nullptr);
    const auto after = at.gpu.stats();
    CHECK(after.live == before.live);
    CHECK(after.charged == before.charged);
    CHECK(after.peak == before.peak);
    CHECK(after.frees == before.frees);
#if !ALLOT_CHECKED
    int here = 0;
    for (void* const wrong : {static_cast<void*>(&here), static_cast<void*>(static_cast<std::byte*>(p) + 256)})
        at.gpu.deallocate(wrong, at.m.a);
    CHECK(at.gpu.try_allocate(8, 3, at.m.a) == nullptr);
    CHECK(at.gpu.stats().live == before.live);
#endif
    at.free(p, at.m.a);
#if !ALLOT_CHECKED
    at.gpu.deallocate(p, at.m.a);
#endif
    at.finish();
}

TEMPLATE_LIST_TEST_CASE("what a device allocator lends out is lent out whole, again and again", "[device][conform]",
                        sets_of_blocks) {
    place<TestType> at;
    for (int round = 0; round != 5; ++round) {
        const auto s = round % 2 == 0 ? at.m.a : at.m.b;
        std::vector<void*> all;
        while (void* const p = at.gpu.try_allocate(2_MiB, s)) all.push_back(p);
        CHECK(all.size() == most / 2_MiB);
        for (void* p : all) at.m.writes(s, p, 2_MiB);
        for (void* p : all) at.free(p, s);
    }
    at.finish();
}

TEMPLATE_LIST_TEST_CASE("a device allocator leaves nothing on its device, and reports what was not freed",
                        "[device][conform]", sets_of_blocks) {
    std::string said;
    simulated_machine m;
    const auto s = m.make_stream();
    {
        const allot::leak_sink heard{
            [](void* to, std::string_view text) noexcept { static_cast<std::string*>(to)->append(text); }, &said};
        allot::device_allocator<TestType> gpu{m.api, heard};
        (void)gpu.try_allocate(3_MiB, s);
        gpu.deallocate(gpu.try_allocate(5_MiB, s), s);
        gpu.leave(s);
    }
    CHECK_THAT(said, ContainsSubstring("ended with 1 blocks of 3 MiB not freed"));
    REQUIRE(m.api.destroy_stream(s));
    CHECK(m.sim.leaks() == 0);
    CHECK(m.sim.hazards() == 0);
}
