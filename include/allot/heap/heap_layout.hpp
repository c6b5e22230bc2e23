// What the slots of a heap are: its config, the cut of its pages, and where they come from.
//
// Invariant: the config and the cut change only while the heap is unused. Cost: 136 bytes per heap. Threads: any.
#pragma once

#include <allot/heap/heap_config.hpp>
#include <allot/heap/page_provider.hpp>
#include <allot/slots/geometry.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

struct heap_layout {
    heap_config config;
    page_provider& provider;
    slot_geometry cut;

    // Of a page of the heap, or of a span.
    std::size_t page_bytes() const noexcept { return provider.page_bytes() * config.pages; }
    // Bytes from a row's start to its slot's end.
    std::size_t room() const noexcept { return cut.stride - cut.header; }
    std::size_t in_arena(const std::byte* row) const noexcept {
        return static_cast<std::size_t>(row - provider.arena().begin());
    }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
