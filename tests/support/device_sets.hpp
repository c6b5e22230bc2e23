// Sets of device allocators for tests, and an allocator on a simulated machine of its own.
#pragma once

#include <support/simulated_machine.hpp>

#include <allot/device_allocator.hpp>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

using on_simulated = allot::page::on_device<allot::device::simulated>;
struct task_memory : allot::policies<on_simulated, allot::fit::best, allot::order::stream, allot::oom::null> {};
struct task_memory_raises : allot::policies<on_simulated, allot::order::stream> {};

// Some streams are busy: no query says that they, or the events recorded on them, are done.
struct partly_busy : allot::device::simulated {
    using simulated::simulated;
    static inline std::vector<stream_type> busy;
    static inline std::vector<event_type> behind;
    template <class T> static bool has(const std::vector<T>& all, T one) {
        return std::find(all.begin(), all.end(), one) != all.end();
    }
    allot::device::result<> record(event_type e, stream_type s) const noexcept {
        if (has(busy, s)) behind.push_back(e);
        else std::erase(behind, e);
        return simulated::record(e, s);
    }
    allot::device::result<bool> query(event_type e) const noexcept {
        return has(behind, e) ? allot::device::result<bool>{false} : simulated::query(e);
    }
    allot::device::result<bool> query(stream_type s) const noexcept {
        return has(busy, s) ? allot::device::result<bool>{false} : simulated::query(s);
    }
};
struct partly_busy_memory : allot::policies<allot::page::on_device<partly_busy>, allot::oom::null> {};

// What leaks is not said.
inline constexpr allot::leak_sink unheard{[](void*, std::string_view) noexcept {}};

// A machine, two streams, and an allocator between them that is gone before they are.
struct allocator_machine : simulated_machine {
    explicit allocator_machine(allot::device::simulator_options options = {})
        : simulated_machine{options}, a{make_stream()}, b{make_stream()} {}
    stream a, b;
    using call = allot::device::call;

    /// A kernel of the stream that writes all of the block.
    template <class Gpu> void* used(Gpu& gpu, std::size_t bytes, stream s) {
        void* const p = gpu.try_allocate(bytes, s);
        CHECK_ON_THREAD(p != nullptr);
        writes(s, p, bytes);
        return p;
    }
    /// From now on the device never says that work is done.
    void seem_busy() {
        for (const call c : {call::query_stream, call::query_event}) sim.fail(c, {.times = UINT64_MAX});
    }
    std::uint64_t events() const { return sim.count(call::record); }
    std::uint64_t waits() const { return sim.count(call::wait); }
};
