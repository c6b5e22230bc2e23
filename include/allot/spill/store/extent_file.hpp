// An extent of an object in a file, as a value: another process that gets the descriptor can read it.
//
// It shares the file and keeps the extent from being used again, so it may outlive the object and the spill_files; the
// extent is charged as long. Cost: 40 bytes. Threads: as any value; reads of one extent at once.
#pragma once

#include <allot/config.hpp>
#include <allot/spill/home.hpp>
#include <allot/spill/store/extent_files.hpp>
#include <allot/spill/store/extent_list.hpp>
#include <allot/spill/store/spill_file_options.hpp>
#include <allot/spill/store/staging_buffers.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace allot::inline ALLOT_ABI {
inline namespace ALLOT_STORE_ABI {

/// Requires: the home's account outlives it.
class extent_file {
  public:
    extent_file(const extent_file& o) noexcept : extent_file(*o.of_, *o.list_, o.number_, o.from_, o.wanted_) {}
    extent_file(extent_file&& o) noexcept
        : of_(std::exchange(o.of_, nullptr)), list_(o.list_), number_(o.number_), from_(o.from_), wanted_(o.wanted_) {}
    extent_file& operator=(extent_file o) noexcept {
        std::swap(of_, o.of_), std::swap(list_, o.list_), std::swap(number_, o.number_);
        std::swap(from_, o.from_), std::swap(wanted_, o.wanted_);
        return *this;
    }
    ~extent_file() {
        if (of_ == nullptr) return;
        if (list_->shares.fetch_sub(1, std::memory_order_acq_rel) == 1) of_->give(*list_), of_->end_list(list_);
        of_->release();
    }

    /// Of the file; it is open as long as this is.
    int descriptor() const noexcept { return of_->space.file(at().file).descriptor(); }
    /// In the file.
    std::uint64_t offset() const noexcept { return at().offset; }
    /// Bytes of the object, and the bytes that they are in the file.
    std::size_t length() const noexcept { return of_->length(*list_, number_); }
    std::size_t stored() const noexcept { return at().stored; }
    /// Of the stored bytes: XXH3 of 64 bits, or CRC-32C where ALLOT_XXHASH is 0.
    std::uint64_t checksum() const noexcept { return at().checksum; }
    spill_compression compression() const noexcept { return at().compression; }
    /// The part of the extent's bytes that belongs to the kept_bytes it was made of.
    std::size_t part_offset() const noexcept { return from_; }
    std::size_t part_bytes() const noexcept { return wanted_; }

    /// Reads the whole extent, verified. Requires: to.size() == length(). Returns: failed or damaged, with the place.
    home_status read(std::span<std::byte> to) const noexcept {
        if (at().compression == spill_compression::none) return of_->load(at(), length(), to.data(), nullptr);
        const detail::staging_buffers::held buffer(of_->staging);
        return of_->load(at(), length(), to.data(), buffer.packed());
    }

  private:
    friend class spill_files;
    extent_file(detail::extent_files& of, detail::extent_list& list, std::size_t number, std::size_t from,
                std::size_t wanted) noexcept
        : of_(&of), list_(&list), number_(number), from_(from), wanted_(wanted) {
        of.share();
        list.shares.fetch_add(1, std::memory_order_relaxed);
    }
    const detail::extent& at() const noexcept { return (*list_)[number_]; }

    detail::extent_files* of_;
    detail::extent_list* list_;
    std::size_t number_, from_, wanted_;
};

} // namespace ALLOT_STORE_ABI
} // namespace allot::inline ALLOT_ABI
