// What a heap is made for: the slots it cuts, whose rows lie in them, and who looks after them.
//
// Invariant: set once; two heaps of one config are interchangeable unless the config is exclusive.
// Cost: 104 bytes a heap.
#pragma once

#include <allot/config.hpp>
#include <allot/core/row_type.hpp>
#include <allot/heap/heap_base.hpp>
#include <allot/heap/page_header.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

struct heap_config {
    const char* name = "";
    const row_ops* ops = nullptr;
    void* manager = nullptr;
    const row_type* type = nullptr; // the one type of its rows; null: many
    std::uint32_t type_id = 0;      // of that type, or 0
    std::size_t row_bytes = 0;
    std::size_t align = 8;
    std::size_t header_bytes = 0;            // in front of each row
    std::size_t out_of_band_count_bytes = 0; // a slot, out of band
    std::uint32_t index = no_index;          // its place among the manager's buckets
    bool exclusive = false;                  // one owner: heap::unique
    std::uint32_t users = 0;                 // handles it serves at most: heap::shared_by; 0: any number
    const row_type* (*live_type)(page_header& page,
                                 std::byte* row) noexcept = nullptr; // null: no row lives in the slot
    void (*visit_rows)(heap_base& heap, heap_base::row_visitor visit, void* context) noexcept = nullptr;

    static constexpr std::uint32_t no_index = ~std::uint32_t{0};

    friend bool operator==(const heap_config&, const heap_config&) noexcept = default;
};

} // namespace allot::inline ALLOT_ABI
