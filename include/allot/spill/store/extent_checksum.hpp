// The checksum of an extent: XXH3 of 64 bits where xxhash.h is there, else CRC-32C.
//
// Cost for n bytes: XXH3 about n/16 cycles; CRC-32C see core/checksum.hpp. Threads: any.
// Source: Collet, xxHash, 2019.
#pragma once

#include <allot/config.hpp>
#include <allot/core/checksum.hpp>

#include <cstddef>
#include <cstdint>
#if ALLOT_XXHASH
#undef XXH_INLINE_ALL
#define XXH_INLINE_ALL // header only
#include <xxhash.h>
#endif

namespace allot::inline ALLOT_ABI {
namespace detail {
inline namespace ALLOT_STORE_ABI {

inline std::uint64_t extent_checksum(const std::byte* data, std::size_t bytes) noexcept {
#if ALLOT_XXHASH
    return XXH3_64bits(data, bytes);
#else
    return crc32c(data, bytes);
#endif
}

} // namespace ALLOT_STORE_ABI
} // namespace detail
} // namespace allot::inline ALLOT_ABI
