// The configuration of a heap: its name, its row type, the layout of its slots, its sharing rule, and callbacks.
//
// Invariant: constant while the heap is in use; two heaps with equal configs are interchangeable unless `exclusive`.
// Cost: 104 bytes per heap.
#pragma once

#include <allot/config.hpp>
#include <allot/core/row_type.hpp>
#include <allot/heap/heap_base.hpp>
#include <allot/heap/page_header.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

struct heap_config {
    const char* name = "";
    const row_ops* ops = nullptr;
    void* manager = nullptr;
    const row_type* type = nullptr; // the type of all its rows; null: many types
    std::uint32_t type_id = 0;      // of `type`; 0 if that is null
    std::size_t row_bytes = 0;
    std::size_t align = 8;                   // of rows, in bytes
    std::size_t header_bytes = 0;            // in front of each row
    std::size_t out_of_band_count_bytes = 0; // per slot, for link counts out of band
    std::uint32_t index = no_index;          // of the heap among the manager's buckets
    std::uint32_t pages = 1;                 // of the arena, of which each of its pages has as many: a span
    bool exclusive = false;                  // heap::unique: one owner
    std::uint32_t users = 0;                 // heap::shared_by: the most handles; 0: no limit
    const row_type* (*live_type)(page_header& page,
                                 std::byte* row) noexcept = nullptr; // returns null if the slot holds no row
    void (*visit_rows)(heap_base& heap, heap_base::row_visitor visit, void* context) noexcept = nullptr;

    static constexpr std::uint32_t no_index = 127;

    friend bool operator==(const heap_config&, const heap_config&) noexcept = default;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
