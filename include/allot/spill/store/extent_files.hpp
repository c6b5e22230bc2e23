// The files of a home with all that reads and writes extents in them. It outlives the home while extent_files share it.
//
// Cost: one object. Threads: any, but for open().
#pragma once

#include <allot/account/account.hpp>
#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/spill/home.hpp>
#include <allot/spill/store/extent_checksum.hpp>
#include <allot/spill/store/extent_codec.hpp>
#include <allot/spill/store/extent_list.hpp>
#include <allot/spill/store/file_io.hpp>
#include <allot/spill/store/file_io_uring.hpp>
#include <allot/spill/store/file_space.hpp>
#include <allot/spill/store/spill_file_options.hpp>
#include <allot/spill/store/spill_file_stats.hpp>
#include <allot/spill/store/staging_buffers.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {
inline namespace ALLOT_STORE_ABI {

#if ALLOT_URING
using extent_io = file_io_uring;
#else
using extent_io = file_io;
#endif

class extent_files {
  public:
    static constexpr std::size_t unit = file_space::unit, most_extent = std::size_t{16} << 20;

    extent_files(account& charged, const spill_file_options& o) noexcept
        : by(charged), compression(o.compress), extent_bytes(extent_of(o)), io(counters), wants_uring_(o.uring),
          staging_by_(o.staging_by) {}
    ~extent_files() {
        if (staging_charged_ != 0) staging_by_->refund(staging_charged_);
    }

    /// Makes a file in each directory and the staging buffers. Returns: a failure if that fails for any of them.
    ALLOT_OUTLINE home_status open(std::span<const std::string_view> directories, unsigned staging_count) noexcept {
        const std::size_t n = directories.size();
        if (n == 0 || n > file_space::most_directories)
            return failure(n == 0 ? "open no directory" : "open more than 30 directories", "", EINVAL);
        if (compression == spill_compression::lz4 && !has_lz4) return failure("compress (ALLOT_LZ4 is 0)", "", ENOTSUP);
        if (wants_uring_ && ALLOT_URING == 0) return failure("io_uring (ALLOT_URING is 0)", "", ENOTSUP);
        if (!keep_names(directories)) return failure("open", "", ENOMEM);
        home_status s;
        space.open(names_.get(), n, wants_uring_,
                   [&](const char* directory, int error) { s = failure("open", directory, error); });
        if (s) s = open_staging(staging_count);
#if ALLOT_URING
        if (s && wants_uring_) io.open(sys::processors(), staging.all());
#endif
        return s;
    }
    bool uses_uring() const noexcept {
#if ALLOT_URING
        return io.is_open();
#else
        return false;
#endif
    }

    // ---- shares ---------------------------------------------------------------------------------------------
    void share() noexcept { shares_.fetch_add(1, std::memory_order_relaxed); }
    ALLOT_OUTLINE void release() noexcept {
        if (shares_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    }
    /// A list with room for the extents of an object of that many bytes, whose parts of files have metadata, too. Null:
    /// the host has no memory.
    extent_list* make_list(std::size_t of_bytes) noexcept {
        extent_list* const l = extent_list::make(extents_of(of_bytes));
        if (l == nullptr || space.enter(l->room)) return l;
        extent_list::end(l);
        return nullptr;
    }
    void end_list(extent_list* l) noexcept {
        if (l == nullptr) return;
        space.leave(l->room);
        extent_list::end(l);
    }
    /// Gives all extents of a list back, and refunds them. Requires: it has no other share.
    ALLOT_OUTLINE void give(extent_list& l) noexcept {
        for (std::size_t i = 0; i != l.count; ++i)
            if (l[i].begins_part) space.give(l[i].file, l[i].offset);
        counters.extents(0, l.count);
        l.count = 0, l.bytes = 0;
        by.refund(std::exchange(l.charged, 0));
    }

    // ---- extents --------------------------------------------------------------------------------------------
    std::size_t extents_of(std::size_t bytes) const noexcept { return ceil_div(bytes, extent_bytes); }
    /// The bytes of extent i of an object.
    std::size_t length(const extent_list& l, std::size_t i) const noexcept {
        return std::min(extent_bytes, l.bytes - i * extent_bytes);
    }
    /// Writes bytes of one piece, and zeros to the end of the last unit, so that the system need not read that first.
    /// `staged`: the bytes, where they are in a staging buffer. Counts a failure.
    home_status write(std::uint32_t file, std::uint64_t offset, const std::byte* from, std::size_t bytes,
                      [[maybe_unused]] std::byte* staged) noexcept {
#if ALLOT_URING
        if (staged != nullptr && io.is_open() && space.direct(file).is_open()) {
            std::memset(staged + bytes, 0, align_up(bytes, unit) - bytes);
            if (io.write_staged(space.direct(file), offset, {staged, align_up(bytes, unit)}))
                return space.note_write(file, 0), home_status{};
        } // else by the system's cache
#endif
        static constexpr std::byte zeros[unit]{};
        sys::file_part parts[] = {{const_cast<std::byte*>(from), bytes},
                                  {const_cast<std::byte*>(zeros), align_up(bytes, unit) - bytes}};
        return write(file, offset, {parts, parts[1].iov_len != 0 ? 2u : 1u}, bytes);
    }
    /// The same of several pieces, which together are whole units; `bytes`: of all.
    home_status write(std::uint32_t file, std::uint64_t offset, std::span<sys::file_part> parts,
                      std::size_t bytes) noexcept {
        const io_result r = io.write(space.file(file), offset, parts);
        space.note_write(file, r.error);
        return r ? home_status{} : failed_at("write", file, offset, bytes, r.error);
    }
    /// Reads bytes into one piece. Counts a failure.
    home_status read(std::uint32_t file, std::uint64_t offset, std::byte* to, std::size_t bytes) noexcept {
        sys::file_part part{to, bytes};
        const io_result r = io.read(space.file(file), offset, {&part, 1});
        if (r) return counters.has_read(bytes), home_status{};
        return r.has_ended ? damaged_at(file, offset, bytes) : failed_at("read", file, offset, bytes, r.error);
    }
    /// Whether these are the stored bytes of the extent.
    home_status verify(const extent& e, const std::byte* stored) noexcept {
        if (ALLOT_LIKELY(extent_checksum(stored, e.stored) == e.checksum)) return {};
        return damaged_at(e.file, e.offset, e.stored);
    }
    /// Reads the `length` bytes of an extent, verified. `packed`: a place for them where they are compressed.
    home_status load(const extent& e, std::size_t length, std::byte* to, std::byte* packed) noexcept {
        const bool is_packed = e.compression != spill_compression::none;
        std::byte* const stored = is_packed ? packed : to;
        home_status s = read(e.file, e.offset, stored, e.stored);
        if (s) s = verify(e, stored);
        if (s && is_packed && !unpack(stored, e.stored, to, length)) s = damaged_at(e.file, e.offset, e.stored);
        return s;
    }
    home_status damaged_at(std::uint32_t file, std::uint64_t offset, std::size_t bytes) noexcept {
        return counters.failed({.how = home_status::outcome::damaged,
                                .call = "read",
                                .file = space.directory_of(file),
                                .offset = offset,
                                .bytes = bytes});
    }
    home_status failed_at(const char* call, std::uint32_t file, std::uint64_t offset, std::size_t bytes,
                          int error) noexcept {
        home_status s = failure(call, space.directory_of(file), error);
        s.offset = offset, s.bytes = bytes;
        return counters.failed(s);
    }
    static home_status failure(const char* call, const char* file, int error) noexcept {
        return {.how = home_status::outcome::failed, .error = error, .call = call, .file = file};
    }

    account& by;
    const spill_compression compression;
    const std::size_t extent_bytes;
    spill_counters counters;
    file_space space;
    extent_io io;
    staging_buffers staging;

  private:
    static std::size_t extent_of(const spill_file_options& o) noexcept {
        return align_up(std::clamp(o.extent_bytes, unit, most_extent), unit);
    }
    bool keep_names(std::span<const std::string_view> directories) noexcept {
        std::size_t bytes = 0;
        for (const std::string_view d : directories) bytes += d.size() + 1;
        text_.reset(new (std::nothrow) char[bytes]);
        names_.reset(new (std::nothrow) const char*[directories.size()]);
        if (text_ == nullptr || names_ == nullptr) return false;
        char* at = text_.get();
        const char** name = names_.get();
        for (const std::string_view d : directories) {
            *name++ = at;
            at = std::copy(d.begin(), d.end(), at);
            *at++ = '\0';
        }
        return true;
    }
    home_status open_staging(unsigned n) noexcept {
        if (n == 0) n = std::clamp(sys::processors(), 2U, 16U);
        n = std::min(n, staging_buffers::most);
        const bool packs = compression != spill_compression::none;
        const std::size_t bytes = n * extent_bytes * (packs ? 2 : 1);
        if (staging_by_ != nullptr) {
            const charge_status why = staging_by_->try_charge(bytes);
            if (!why) return {.how = home_status::outcome::refused, .why = why};
            staging_charged_ = bytes;
        }
        return staging.open(n, extent_bytes, packs) ? home_status{} : failure("map", "", ENOMEM);
    }

    std::atomic<std::size_t> shares_{1};
    const bool wants_uring_;
    account* const staging_by_;
    std::size_t staging_charged_ = 0;
    std::unique_ptr<char[]> text_;
    std::unique_ptr<const char*[]> names_;
};

} // namespace ALLOT_STORE_ABI
} // namespace detail
} // namespace allot::inline ALLOT_ABI
