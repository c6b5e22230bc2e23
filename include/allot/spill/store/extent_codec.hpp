// How the bytes of an extent become fewer: LZ4, where it is compiled in.
//
// Cost: LZ4's; 16 KiB of stack, no memory. Threads: any. Source: Collet, LZ4, 2011.
#pragma once

#include <allot/config.hpp>
#include <allot/spill/store/spill_file_options.hpp>

#include <cstddef>
#if ALLOT_LZ4
#include <lz4.h>
#endif

namespace allot::inline ALLOT_ABI {
namespace detail {
inline namespace ALLOT_STORE_ABI {

inline constexpr bool has_lz4 = ALLOT_LZ4 != 0;

// The most bytes of an extent that is stored compressed: a 16th fewer than it has.
constexpr std::size_t most_packed(std::size_t raw) noexcept { return raw - (raw + 15) / 16; }

// Returns the bytes at `to`, which has most_packed(raw); 0: they are not few enough.
inline std::size_t pack([[maybe_unused]] const std::byte* from, [[maybe_unused]] std::size_t raw,
                        [[maybe_unused]] std::byte* to) noexcept {
#if ALLOT_LZ4
    if (raw < 16) return 0;
    const int n = ::LZ4_compress_default(reinterpret_cast<const char*>(from), reinterpret_cast<char*>(to),
                                         static_cast<int>(raw), static_cast<int>(most_packed(raw)));
    return n > 0 ? static_cast<std::size_t>(n) : 0;
#else
    return 0;
#endif
}
// False: they are not `raw` bytes that were packed.
inline bool unpack([[maybe_unused]] const std::byte* from, [[maybe_unused]] std::size_t stored,
                   [[maybe_unused]] std::byte* to, [[maybe_unused]] std::size_t raw) noexcept {
#if ALLOT_LZ4
    return ::LZ4_decompress_safe(reinterpret_cast<const char*>(from), reinterpret_cast<char*>(to),
                                 static_cast<int>(stored), static_cast<int>(raw)) == static_cast<int>(raw);
#else
    return false;
#endif
}

} // namespace ALLOT_STORE_ABI
} // namespace detail
} // namespace allot::inline ALLOT_ABI
