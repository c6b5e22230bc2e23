// Writes small objects together: each is one extent, and one call writes those that lie behind each other in a file.
//
// What cannot be written so is left to extent_writer, which says why. Invariant and cost: as extent_writer.hpp; 64
// objects at a time. Threads: one writer per object.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/spill/home.hpp>
#include <allot/spill/store/extent_checksum.hpp>
#include <allot/spill/store/extent_files.hpp>
#include <allot/spill/store/extent_list.hpp>
#include <allot/spill/store/file_space.hpp>
#include <allot/sys/file.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace allot::inline ALLOT_ABI {
namespace detail {
inline namespace ALLOT_STORE_ABI {

class extent_batch {
  public:
    static constexpr std::size_t most = 64;

    explicit extent_batch(extent_files& of) noexcept : of_(of) {}

    // Charges the object, and takes its part of a file. False: it is to be written alone. Requires: fewer than `most`
    // so far; the list is empty; the object is not empty.
    bool add(extent_list& to, std::span<const std::byte> bytes) noexcept {
        if (bytes.size() > of_.extent_bytes || of_.compression != spill_compression::none) return false;
        const std::size_t size = align_up(bytes.size(), extent_files::unit);
        if (!of_.by.try_charge(size)) return false;
        const file_space::file_mask others = n_ != 0 ? ~(file_space::file_mask{1} << all_[0].place.file) : 0;
        const file_place place = of_.space.take(size, others, of_.by.limit());
        if (!place) return of_.by.refund(size), false;
        to.bytes = bytes.size();
        to.charged = size;
        all_[n_++] = {&to, bytes, place};
        return true;
    }
    // Calls failed(list) for those that are not written: nothing is kept of them.
    template <class Failed> void write(Failed failed) noexcept {
        for (std::size_t from = 0, to = 0; from != n_; from = to) {
            std::uint64_t end = all_[from].place.offset;
            while (to != n_ && all_[to].place.offset == end) end += all_[to++].place.bytes;
            if (write_run({all_ + from, to - from}, end)) continue;
            for (std::size_t i = from; i != to; ++i) of_.give(*all_[i].to), failed(*all_[i].to);
        }
    }

  private:
    struct one {
        extent_list* to;
        std::span<const std::byte> bytes;
        file_place place;
    };

    bool write_run(std::span<one> run, std::uint64_t end) noexcept {
        static constexpr std::byte zeros[extent_files::unit]{};
        sys::file_part parts[2 * most];
        std::size_t n = 0, sum = 0;
        for (const one& o : run) {
            (*o.to)[0] = {o.place.offset,
                          extent_checksum(o.bytes.data(), o.bytes.size()),
                          static_cast<std::uint32_t>(o.bytes.size()),
                          static_cast<std::uint16_t>(o.place.file),
                          true,
                          spill_compression::none};
            o.to->count = 1; // give() returns its part
            sum += o.bytes.size();
            parts[n++] = {const_cast<std::byte*>(o.bytes.data()), o.bytes.size()};
            if (o.place.bytes != o.bytes.size())
                parts[n++] = {const_cast<std::byte*>(zeros), o.place.bytes - o.bytes.size()};
        }
        of_.counters.extents(run.size());
        const std::uint64_t offset = run.front().place.offset;
        if (!of_.write(run.front().place.file, offset, {parts, n}, end - offset)) return false;
        of_.counters.wrote(sum, sum);
        return true;
    }

    extent_files& of_;
    one all_[most];
    std::size_t n_ = 0;
};

} // namespace ALLOT_STORE_ABI
} // namespace detail
} // namespace allot::inline ALLOT_ABI
