// The extents of an object in files: what is written of it, shared by its record and by the extent_files of users.
//
//     extent_list (32 bytes) | extent | extent | ...       one piece of the host's heap, 24 bytes per extent
//
// Invariant: extents [0, count) are written; each is in use in its file until the last share ends.
// Cost: O(extents) to give them back. Threads: shares any; the rest one at a time.
#pragma once

#include <allot/config.hpp>
#include <allot/spill/store/spill_file_options.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace allot::inline ALLOT_ABI {
namespace detail {
inline namespace ALLOT_STORE_ABI {

struct extent {
    std::uint64_t offset = 0;   // in the file
    std::uint64_t checksum = 0; // of the stored bytes
    std::uint32_t stored = 0;   // bytes in the file
    std::uint16_t file = 0;
    bool begins_part = false; // of a file that is in use as a whole: the extents up to the next such one
    spill_compression compression = spill_compression::none;
};
static_assert(sizeof(extent) == 24);

class extent_list {
  public:
    /// With room for that many extents. Null: the host has no memory.
    static extent_list* make(std::size_t room) noexcept {
        void* const p = ::operator new(sizeof(extent_list) + room * sizeof(extent), std::nothrow);
        return p == nullptr ? nullptr : ::new (p) extent_list(room);
    }
    static void end(extent_list* l) noexcept { ::operator delete(static_cast<void*>(l)); }

    extent& operator[](std::size_t i) noexcept { return reinterpret_cast<extent*>(this + 1)[i]; }
    const extent& operator[](std::size_t i) const noexcept { return reinterpret_cast<const extent*>(this + 1)[i]; }

    std::atomic<std::uint32_t> shares{1};
    std::uint32_t count = 0;
    std::size_t bytes = 0;   // of the object
    std::size_t charged = 0; // to the home's account

    const std::size_t room; // extents

  private:
    explicit extent_list(std::size_t n) noexcept : room(n) {}
};

static_assert(sizeof(extent_list) == 32);

} // namespace ALLOT_STORE_ABI
} // namespace detail
} // namespace allot::inline ALLOT_ABI
