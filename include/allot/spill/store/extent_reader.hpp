// Reads a part of an object from its extents, each verified as a whole.
//
// Extents that the sink holds in one piece are read in place, up to 8 MiB by one call; others go through a staging
// buffer. Cost: as said. Nothing is allocated. Threads: several readers per object.
#pragma once

#include <allot/config.hpp>
#include <allot/spill/home.hpp>
#include <allot/spill/store/extent_files.hpp>
#include <allot/spill/store/extent_list.hpp>
#include <allot/spill/store/extent_writer.hpp>
#include <allot/spill/store/spill_file_options.hpp>
#include <allot/spill/store/staging_buffers.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace allot::inline ALLOT_ABI {
namespace detail {
inline namespace ALLOT_STORE_ABI {

class extent_reader {
  public:
    extent_reader(extent_files& of, const extent_list& from, byte_sink& to) noexcept : of_(of), from_(from), to_(to) {}

    /// Reads [offset, offset + the sink's bytes). Requires: the object has them.
    home_status read(std::size_t offset) noexcept {
        home_status s;
        for (const std::size_t end = offset + to_.bytes; s && offset + done_ != end;) {
            const std::size_t i = (offset + done_) / of_.extent_bytes, skip = (offset + done_) % of_.extent_bytes;
            const std::size_t n = of_.length(from_, i);
            if (to_.data != nullptr && skip == 0 && n <= to_.bytes - done_) s = read_whole(i);
            else s = read_part(i, skip, std::min(n - skip, to_.bytes - done_));
        }
        return s;
    }

  private:
    static bool is_packed(const extent& e) noexcept { return e.compression != spill_compression::none; }

    // In place: extent i, and those after it that follow it in the file and fit.
    ALLOT_OUTLINE home_status read_whole(std::size_t i) noexcept {
        std::byte* at = to_.data + done_;
        if (is_packed(from_[i])) {
            const staging_buffers::held buffer(of_.staging);
            done_ += of_.length(from_, i);
            return of_.load(from_[i], of_.length(from_, i), at, buffer.packed());
        }
        std::size_t bytes = from_[i].stored, last = i + 1;
        for (; last != from_.count && bytes < extent_writer::most_per_call && !from_[last].begins_part; ++last) {
            if (bytes + from_[last].stored > to_.bytes - done_) break;
            bytes += from_[last].stored;
        }
        home_status s = of_.read(from_[i].file, from_[i].offset, at, bytes);
        for (; s && i != last; at += from_[i++].stored) s = of_.verify(from_[i], at);
        done_ += bytes;
        return s;
    }
    ALLOT_OUTLINE home_status read_part(std::size_t i, std::size_t skip, std::size_t bytes) noexcept {
        const staging_buffers::held buffer(of_.staging);
        std::byte* const all = buffer.raw();
        if (const home_status s = of_.load(from_[i], of_.length(from_, i), all, buffer.packed()); !s) return s;
        if (to_.data != nullptr) std::memcpy(to_.data + done_, all + skip, bytes);
        else if (!to_.next({all + skip, bytes})) return of_.counters.failed(of_.failure("copy", "", EIO));
        done_ += bytes;
        return {};
    }

    extent_files& of_;
    const extent_list& from_;
    byte_sink& to_;
    std::size_t done_ = 0;
};

} // namespace ALLOT_STORE_ABI
} // namespace detail
} // namespace allot::inline ALLOT_ABI
