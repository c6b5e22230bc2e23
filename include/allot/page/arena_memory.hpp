// The memory of an arena that is not its pages: tables beside them, and the mapping in which both are.
//
//   tables:  | page bitmap | dirty bits | an owner per page |
//
// The tables are in front of the range in its mapping, or in the caller's bytes, or else in a mapping of their own.
// Invariant: what was mapped for the arena is unmapped at the end of this object.
// Cost: 32 bytes; one or two system calls. Threads: any may read it.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/page/arena_range.hpp>
#include <allot/page/page_bitmap.hpp>
#include <allot/page/page_map.hpp>
#include <allot/request/shared_level.hpp>
#include <allot/sync/full_fence.hpp>
#include <allot/sys/map.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

// Where the tables of an arena are, in memory that was zeros.
struct arena_tables {
    arena_tables() = default;
    arena_tables(std::byte* at, std::size_t pages) noexcept
        : bitmap(at), dirty(at + page_bitmap::bytes_for(pages)), owners(dirty + dirty_bytes(pages)) {}

    static std::size_t dirty_bytes(std::size_t pages) noexcept {
        return ceil_div(pages, std::size_t{64}) * sizeof(std::uint64_t);
    }
    // In whole OS pages.
    static std::size_t bytes(std::size_t pages) noexcept {
        return align_up(page_bitmap::bytes_for(pages) + dirty_bytes(pages) + pages * sizeof(page_owner),
                        sys::os_page_bytes());
    }
    // In memory at least, once pages of both ends were taken.
    static std::size_t used_bytes() noexcept { return 4 * sys::os_page_bytes(); }

    std::byte *bitmap = nullptr, *dirty = nullptr, *owners = nullptr;
};

class arena_memory {
  public:
    // Owns the mapping of the range from now on. Without memory for the tables it has none.
    explicit arena_memory(const arena_range& range) noexcept {
        if (range.begin == nullptr) return;
        if (range.mapping != 0) begin_ = range.begin - range.front, bytes_ = range.front + range.mapping;
        if (range.out_of_band != nullptr) {
            tables_ = range.out_of_band;
        } else if (range.front != 0) { // all of it, so that the tables and the first pages are one mapping
            if (sys::commit(begin_, range.front)) tables_ = begin_;
        } else {
            const std::size_t bytes = arena_tables::bytes(range.bytes >> range.page_shift);
            std::byte* const at = sys::reserve(bytes, sys::os_page_bytes());
            if (at == nullptr) return;
            if (sys::commit(at, bytes)) tables_ = at, tables_bytes_ = bytes;
            else sys::unmap(at, bytes);
        }
    }
    arena_memory(const arena_memory&) = delete;
    arena_memory& operator=(const arena_memory&) = delete;
    ~arena_memory() {
        if (tables_bytes_ != 0) sys::unmap(tables_, tables_bytes_);
        if (bytes_ == 0) return;
        sys::unmap(begin_, bytes_);
        full_fence();
        the_system().gave();
    }

    // Null: there is no memory for them.
    std::byte* tables() const noexcept { return tables_; }
    // Bytes of the range's mapping from the range's begin on; 0: the range is not the arena's own.
    std::size_t mapped_from(const std::byte* begin) const noexcept {
        return bytes_ == 0 ? 0 : bytes_ - static_cast<std::size_t>(begin - begin_);
    }

  private:
    std::byte* begin_ = nullptr; // of the range's mapping
    std::size_t bytes_ = 0;
    std::byte* tables_ = nullptr;
    std::size_t tables_bytes_ = 0; // of a mapping of their own
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
