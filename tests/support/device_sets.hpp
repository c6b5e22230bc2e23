// Sets of device allocators for tests, and an allocator on a simulated machine of its own.
#pragma once

#include <support/simulated_machine.hpp>

#include <allot/device_allocator.hpp>

#include <string_view>

using on_simulated = allot::page::on_device<allot::device::simulated>;
struct task_memory : allot::policies<on_simulated, allot::fit::best, allot::order::stream, allot::oom::null> {};
struct task_memory_raises : allot::policies<on_simulated, allot::order::stream> {};

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
        REQUIRE(p != nullptr);
        writes(s, p, bytes);
        return p;
    }
    std::uint64_t events() const { return sim.count(call::record); }
    std::uint64_t waits() const { return sim.count(call::wait); }
};
