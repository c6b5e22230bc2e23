// The header of a huge row, its entry in the register, and where the parts of the row lie (drawn in huge_rows.hpp).
//
// Cost: 64 bytes in the row's first page; out of band, with the entry, 256 in host memory. Threads: written by who
// allocates, resizes or frees the row; the entry is read by any.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/heap/page_header.hpp>
#include <allot/row/link_count.hpp>
#include <allot/row/row_context.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace allot::inline ALLOT_ABI {
namespace detail {

struct huge_header;

// The entry of a huge row in the register.
struct huge_entry {
    std::atomic<huge_header*> row{nullptr};
    std::atomic<std::uint64_t> type_and_pages{0}; // type number 20 bits, pages 44: readable without its pages
    std::atomic<huge_entry*> free_link{nullptr};
};

struct alignas(64) huge_header : page_header {
    row_context* context = nullptr;
    std::size_t pages = 0;
    std::size_t row_offset = 0;
    huge_entry* entry = nullptr; // in the register
};
// The header beside its entry, in host memory, so that a release frees no memory.
struct huge_header_out_of_band : huge_header {
    std::byte* memory = nullptr;          // first page of the run
    std::uint32_t type_and_count[2] = {}; // in the order as in front of other rows
};
struct alignas(2 * out_of_band_mark) huge_entry_out_of_band : huge_entry { // the header's address has not the mark
    std::atomic<std::byte*> memory{nullptr}; // the same, readable while the header is replaced
    huge_header_out_of_band header;
};

static_assert(sizeof(huge_entry) + sizeof(std::byte*) <= alignof(huge_header) &&
              alignof(huge_header) < out_of_band_mark);

template <class Place> struct huge_layout {
    using entry_type = std::conditional_t<Place::out_of_band, huge_entry_out_of_band, huge_entry>;

    // Of the row in its run.
    static std::size_t offset_for(std::size_t align) noexcept {
        if (Place::out_of_band) return 0;
        return align_up(sizeof(huge_header) + 2 * sizeof(std::uint32_t), align < 16 ? std::size_t{16} : align);
    }
    // The largest alignment that such an offset has; that of the row, or more.
    static std::size_t align_of(std::size_t offset) noexcept { return offset & (~offset + 1); }
    // The first page's word of the page map.
    static const void* word_of(page_header* h) noexcept { return Place::out_of_band ? word_of_header(h) : h; }
    // The first page of the run.
    static std::byte* run_of(huge_header& h) noexcept {
        if constexpr (Place::out_of_band) return static_cast<huge_header_out_of_band&>(h).memory;
        else return reinterpret_cast<std::byte*>(&h);
    }
    static const std::byte* run_at([[maybe_unused]] const entry_type& entry,
                                   [[maybe_unused]] const huge_header* h) noexcept {
        if constexpr (Place::out_of_band) return entry.memory.load(std::memory_order_relaxed);
        else return reinterpret_cast<const std::byte*>(h);
    }
    // A template, because nvcc 13 treats placement new of a known over-aligned type as an allocation.
    template <class Header> static Header* construct_header(void* at) noexcept { return ::new (at) Header; }
    static huge_header* make_header(std::byte* run, [[maybe_unused]] entry_type* entry) noexcept {
        if constexpr (Place::out_of_band) {
            auto* const h = construct_header<huge_header_out_of_band>(&entry->header);
            h->memory = run;
            entry->memory.store(run, std::memory_order_relaxed);
            return h;
        } else {
            return construct_header<huge_header>(run);
        }
    }
    static std::byte* row_of(huge_header& h) noexcept { return run_of(h) + h.row_offset; }
    // The address behind the row's type and count, in the page or in the register.
    static std::byte* behind_count([[maybe_unused]] huge_header& h, std::byte* row) noexcept {
        if constexpr (Place::out_of_band)
            return reinterpret_cast<std::byte*>(static_cast<huge_header_out_of_band&>(h).type_and_count + 2);
        else return row;
    }
    static link_word word(huge_header& h, std::byte* row) noexcept {
        return counting<count::links>::word(behind_count(h, row));
    }
    static number_ref type_number(huge_header& h, std::byte* row) noexcept {
        return counting<count::links>::type_number(h, behind_count(h, row));
    }
    static const row_type* type_of(huge_header& h) noexcept {
        return h.context->types[type_number(h, row_of(h)).load(std::memory_order_relaxed)];
    }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
