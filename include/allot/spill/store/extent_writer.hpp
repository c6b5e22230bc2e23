// Writes an object as extents: charges the account, takes parts of files, and goes on in another file where one fails.
//
// As many extents as possible are in one part of a file, and one call writes up to 8 MiB of them. Bytes that are not in
// one piece, or are compressed, go through a staging buffer, an extent at a time. The account is charged without a
// buffer: a compressed extent is charged as it is, and what it does not need is refunded.
// Invariant: all extents are written, or none is, nothing is charged and no part is in use.
// Cost: a call per 8 MiB, or per extent. Nothing is allocated. Threads: one writer per object.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/spill/home.hpp>
#include <allot/spill/store/extent_checksum.hpp>
#include <allot/spill/store/extent_codec.hpp>
#include <allot/spill/store/extent_files.hpp>
#include <allot/spill/store/extent_list.hpp>
#include <allot/spill/store/file_space.hpp>
#include <allot/spill/store/staging_buffers.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {
inline namespace ALLOT_STORE_ABI {

class extent_writer {
  public:
    static constexpr std::size_t most_per_call = std::size_t{8} << 20;

    /// Requires: the list is empty and has room.
    extent_writer(extent_files& of, extent_list& to, byte_source& from) noexcept
        : of_(of), to_(to), from_(from), extents_(of.extents_of(from.bytes)) {}

    home_status write() noexcept {
        to_.bytes = from_.bytes;
        const bool packs = of_.compression != spill_compression::none;
        home_status s;
        if (!packs) s = charge(rounded(from_.bytes));
        if (s) s = from_.data != nullptr && !packs ? write_in_place() : write_staged(packs);
        end_part();
        if (s) of_.counters.wrote(from_.bytes, stored_);
        else of_.give(to_);
        return s;
    }

  private:
    static std::size_t rounded(std::size_t bytes) noexcept { return align_up(bytes, extent_files::unit); }
    // Of the extents from the next one on, without gaps.
    std::size_t left() const noexcept { return from_.bytes - to_.count * of_.extent_bytes; }

    home_status charge(std::size_t bytes) noexcept {
        const charge_status why = of_.by.try_charge(bytes);
        if (!why) return {.how = home_status::outcome::refused, .why = why};
        to_.charged += bytes;
        return {};
    }
    home_status write_in_place() noexcept {
        while (to_.count != extents_) {
            if (!has_place(rounded(std::min(left(), of_.extent_bytes)), rounded(left()))) return last_;
            const std::size_t most = std::max(most_per_call / of_.extent_bytes * of_.extent_bytes, of_.extent_bytes);
            const std::size_t bytes = std::min({left(), most, part_.bytes - used_});
            put(from_.data + to_.count * of_.extent_bytes, bytes, spill_compression::none, nullptr);
        }
        return {};
    }
    home_status write_staged(bool packs) noexcept {
        while (to_.count != extents_) {
            const std::size_t raw = std::min(left(), of_.extent_bytes);
            std::size_t spare = 0;
            if (packs)
                if (const home_status s = charge(rounded(raw)); !s) return s;
            {
                const staging_buffers::held buffer(of_.staging);
                std::byte* staged = from_.data == nullptr ? buffer.raw() : nullptr;
                const std::byte* data = staged;
                if (staged == nullptr) data = from_.data + to_.count * of_.extent_bytes;
                else if (!from_.next({staged, raw})) return of_.counters.failed(of_.failure("copy", "", EIO));
                const std::size_t packed = packs ? pack(data, raw, buffer.packed()) : 0;
                const std::size_t stored = packed != 0 ? packed : raw;
                if (packed != 0) data = staged = buffer.packed(), spare = rounded(raw) - rounded(packed);
                const std::size_t before = to_.count;
                while (to_.count == before) {
                    if (!has_place(rounded(stored), packs ? rounded(stored) : rounded(left()))) return last_;
                    put(data, stored, packed != 0 ? spill_compression::lz4 : spill_compression::none, staged);
                }
            }
            to_.charged -= spare;
            of_.by.refund(spare);
        }
        return {};
    }

    // Whether a part has room for `next` bytes; takes one for `all` bytes, or for these, if not.
    bool has_place(std::size_t next, std::size_t all) noexcept {
        if (part_ && part_.bytes - used_ >= next) return true;
        end_part();
        part_ = of_.space.take(all, avoid_, of_.by.limit());
        if (!part_ && all != next) part_ = of_.space.take(next, avoid_, of_.by.limit());
        if (!part_ && last_) last_ = of_.failed_at("write", 0, 0, next, part_.error);
        return static_cast<bool>(part_);
    }
    void end_part() noexcept {
        if (part_ && used_ < part_.bytes) of_.space.cut(part_, used_);
        part_ = {}, used_ = 0;
    }
    // Writes the next extents, which are in one piece: all of `bytes`, or none of them. Where that is for good, notes
    // it in last_ and ends the part.
    void put(const std::byte* data, std::size_t bytes, spill_compression how, std::byte* staged) noexcept {
        const std::uint64_t offset = part_.offset + used_;
        std::size_t n = 0;
        for (std::size_t at = 0; at != bytes; ++n) {
            const std::size_t stored = std::min(bytes - at, of_.extent_bytes);
            to_[to_.count + n] = {offset + at,
                                  extent_checksum(data + at, stored),
                                  static_cast<std::uint32_t>(stored),
                                  static_cast<std::uint16_t>(part_.file),
                                  used_ == 0 && at == 0,
                                  how};
            at += stored;
        }
        if (const home_status s = of_.write(part_.file, offset, data, bytes, staged); !s) {
            const bool is_full = s.error == ENOSPC || s.error == EDQUOT;
            if (is_full && of_.space.punch_stale(part_.file) != 0) return; // and again
            last_ = s;
            avoid_ |= file_space::file_mask{1} << part_.file;
            return end_part();
        }
        to_.count += static_cast<std::uint32_t>(n);
        of_.counters.extents(n);
        used_ += rounded(bytes);
        stored_ += bytes;
    }

    extent_files& of_;
    extent_list& to_;
    byte_source& from_;
    const std::size_t extents_;
    file_place part_{};
    std::size_t used_ = 0, stored_ = 0; // bytes of the part; of all
    file_space::file_mask avoid_ = 0;   // files that failed
    home_status last_{};                // why
};

} // namespace ALLOT_STORE_ABI
} // namespace detail
} // namespace allot::inline ALLOT_ABI
