// A row's seal: the check of its bytes in the last 4 of them, for types that have one.
//
//   | row: what it may use .............. | check 4 | (canary 4) |
//
// Sealed rows carry bit 30 in their link word, so that their last release takes the way of rows with a destructor,
// and others see nothing of it. Cost: that of the check, over all that a row may use.
// Threads: sealing by the row's only holder; checking by any holder.
// Source: thorhelper's row checking (HPCC), 2007.
#pragma once

#include <allot/config.hpp>
#include <allot/core/checksum.hpp>
#include <allot/core/row_type.hpp>
#include <allot/sys/poison.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace allot::inline ALLOT_ABI {
namespace detail {

inline std::uint32_t check_of_row(row_check kind, const std::byte* row, std::size_t bytes) noexcept {
    sys::expose(row, bytes); // what its user left unwritten is a part of it, too
    return kind == row_check::crc32c ? crc32c(row, bytes) : sum16(row, bytes);
}
// `room`: what the row may use, its check included.
inline void write_seal(const row_type& type, std::byte* row, std::size_t room) noexcept {
    const std::size_t bytes = room - type.check_bytes();
    const std::uint32_t check = check_of_row(type.check, row, bytes);
    std::memcpy(row + bytes, &check, sizeof check);
}
inline bool seal_fits(const row_type& type, const std::byte* row, std::size_t room) noexcept {
    const std::size_t bytes = room - type.check_bytes();
    std::uint32_t found;
    std::memcpy(&found, row + bytes, sizeof found);
    return found == check_of_row(type.check, row, bytes);
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
