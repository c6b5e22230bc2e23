// The seal of a row: a sum or CRC-32C of its bytes, in the 4 bytes behind them, for row types with a check.
//
//   | row, as far as its capacity | check 4 | (canary 4) |
//
// A bit of the link word says that the row is sealed; the last release then takes the path of rows with a destructor.
// Cost: that of the check, over the row's whole capacity.
// Threads: sealing by the holder of the only link; checking by any holder.
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
    sys::expose(row, bytes); // unwritten bytes are checked, too: memory checkers must not complain
    return kind == row_check::crc32c ? crc32c(row, bytes) : sum16(row, bytes);
}
// `usable`: bytes that the row may use, its checksum included.
inline void write_seal(const row_type& type, std::byte* row, std::size_t usable) noexcept {
    const std::size_t bytes = usable - type.check_bytes();
    const std::uint32_t check = check_of_row(type.check, row, bytes);
    std::memcpy(row + bytes, &check, sizeof check);
}
inline bool seal_fits(const row_type& type, const std::byte* row, std::size_t usable) noexcept {
    const std::size_t bytes = usable - type.check_bytes();
    std::uint32_t found;
    std::memcpy(&found, row + bytes, sizeof found);
    return found == check_of_row(type.check, row, bytes);
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
