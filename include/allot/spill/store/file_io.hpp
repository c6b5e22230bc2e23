// Reads and writes all of a list of parts of memory at an offset of a file, in as many calls as that needs.
//
// Cost: as a rule one system call. Threads: any. Source: pwritev(2).
#pragma once

#include <allot/config.hpp>
#include <allot/spill/store/spill_file_stats.hpp>
#include <allot/sys/file.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>

namespace allot::inline ALLOT_ABI {
namespace detail {
inline namespace ALLOT_STORE_ABI {

/// How a list was moved: `error` is an errno; `has_ended` where the file ended first.
struct io_result {
    int error = 0;
    bool has_ended = false;
    explicit operator bool() const noexcept { return error == 0 && !has_ended; }
};

class file_io {
  public:
    explicit file_io(spill_counters& counters) noexcept : counters_(counters) {}

    // The list is used up.
    io_result write(const sys::file& to, std::uint64_t offset, std::span<sys::file_part> parts) noexcept {
        return move(offset, parts, [&](const sys::file_part* at, int n, std::uint64_t where) {
            counters_.write_call();
            sys::file::moved m = to.write(at, n, where);
            if (m.bytes == 0 && m.error == 0) m.error = ENOSPC; // it would take no byte for ever
            return m;
        });
    }
    io_result read(const sys::file& from, std::uint64_t offset, std::span<sys::file_part> parts) noexcept {
        return move(offset, parts, [&](const sys::file_part* at, int n, std::uint64_t where) {
            counters_.read_call();
            return from.read(at, n, where);
        });
    }

  private:
    template <class Call>
    static io_result move(std::uint64_t offset, std::span<sys::file_part> parts, Call call) noexcept {
        for (std::size_t at = 0; at != parts.size();) {
            const std::size_t n = parts.size() - at;
            const sys::file::moved m =
                call(&parts[at], n < sys::file::most_parts ? static_cast<int>(n) : sys::file::most_parts, offset);
            if (m.error != 0) return {m.error, false};
            if (m.bytes == 0) return {0, true};
            offset += m.bytes;
            for (std::size_t left = m.bytes; at != parts.size(); ++at) {
                sys::file_part& p = parts[at];
                if (left < p.iov_len) {
                    p.iov_base = static_cast<std::byte*>(p.iov_base) + left;
                    p.iov_len -= left;
                    break;
                }
                left -= p.iov_len;
            }
        }
        return {};
    }

    spill_counters& counters_;
};

} // namespace ALLOT_STORE_ABI
} // namespace detail
} // namespace allot::inline ALLOT_ABI
