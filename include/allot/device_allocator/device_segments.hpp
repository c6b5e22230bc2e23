// The device memory of a device allocator: pieces mapped into one reserved range of addresses, or plain segments.
//
// Adjacent pieces are one range to the fit, so new memory joins with a free run at the end of the old. Plain segments
// (one allocation each) are used where the device has no virtual memory, refuses it, or the range is full.
// Invariant: pieces are sorted by address and do not overlap; each is mapped and unmapped whole.
// Cost: four driver calls per piece, tens of microseconds; 24 bytes per piece. The range costs addresses only.
// Threads: one at a time. Source: expandable segments of caching device allocators (2023).
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/device/api.hpp>
#include <allot/device/map_new.hpp>
#include <allot/fit/run_array.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

// Bytes: sizes of blocks are rounded up to it, and blocks are aligned to it. Plain segments begin at a multiple of it.
inline constexpr std::size_t device_unit = 256;

struct device_piece {
    std::uintptr_t address = 0;
    std::size_t bytes = 0;
    std::uint32_t segment = 0; // 0: in the reserved range; else the number of a plain segment
};

template <class Api> class device_segments {
  public:
    static constexpr std::size_t usual_granularity = std::size_t{2} << 20;

    // reserve_bytes: of addresses; 0: twice the device's memory. Makes no call to the device.
    device_segments(const Api& api, device_id device, std::size_t reserve_bytes) noexcept
        : api_(api), device_(device), reserve_bytes_(reserve_bytes) {}
    device_segments(const device_segments&) = delete;
    device_segments& operator=(const device_segments&) = delete;
    // Requires all pieces to be returned.
    ~device_segments() {
        if (range_ != 0) (void)api_.free_address(at(range_), range_bytes_);
        pieces_.free(memory_);
    }

    // Bytes: the size of each piece is a multiple of it. The first call queries the device.
    std::size_t granularity() noexcept {
        initialize();
        return granularity_;
    }
    // Of the whole device; SIZE_MAX: it does not say. The first call asks it.
    std::size_t device_bytes() noexcept {
        if (device_bytes_ == 0) {
            const auto memory = api_.memory_of(device_);
            device_bytes_ = memory ? memory->total_bytes : SIZE_MAX;
        }
        return device_bytes_;
    }
    // Whether a piece of this size would be mapped; else it would be a plain segment.
    bool can_map(std::size_t bytes) const noexcept { return find_gap(bytes) != 0; }
    // Whether a piece of this size has the alignment at its start: mapped pieces start at a multiple of the
    // granularity.
    bool can_place(std::size_t bytes, std::size_t align) noexcept {
        return align <= device_unit || (align <= granularity() && can_map(bytes));
    }
    // The bytes of a piece in which a block fits at any address. Their sum must not overflow.
    std::size_t piece_for(std::size_t bytes, std::size_t align) noexcept {
        const std::size_t step = granularity(), need = align_up(bytes, step);
        return can_place(need, align) ? need : align_up(bytes + align, step);
    }
    device_id device() const noexcept { return device_; }
    std::size_t size() const noexcept { return n_; }
    const device_piece& operator[](std::size_t i) const noexcept { return pieces_[i]; }

    // Adds a piece; bytes is a multiple of the granularity.
    device::result<device_piece> grow(std::size_t bytes) noexcept {
        initialize();
        if (!pieces_.reserve(memory_, n_ + 1))
            return device::error{"metadata", device::detail::native_code(device::failure::out_of_memory),
                                 device::failure::out_of_memory};
        const std::uintptr_t address = find_gap(bytes);
        if (address == 0) return add_plain(bytes);
        if (const auto made = map_new(api_, device_, at(address), bytes); !made) return made.error();
        return insert({address, bytes, 0});
    }
    // Removes a piece. Requires a wait for all users of its memory. If the device refuses, the piece is removed from
    // the list nevertheless, and nothing is mapped any more, since its addresses may still be mapped.
    device::result<> shrink(const device_piece& piece) noexcept {
        const std::size_t i = first_above(piece.address);
        for (std::size_t k = i; k < n_; ++k) pieces_[k - 1] = pieces_[k];
        --n_;
        if (piece.segment != 0) return api_.deallocate(device_, at(piece.address));
        const auto done = api_.unmap(at(piece.address), piece.bytes);
        if (!done) mapping_disabled_ = true;
        return done;
    }

  private:
    static void* at(std::uintptr_t address) noexcept { return reinterpret_cast<void*>(address); }

    ALLOT_COLD void query_device() noexcept {
        initialized_ = true;
        const auto step = api_.granularity(device_);
        if (!step || *step == 0) return;
        granularity_ = *step;
        if (reserve_bytes_ == 0) { // twice the device's memory, so that a large piece fits between holes
            const auto all = api_.properties_of(device_);
            if (!all) return;
            reserve_bytes_ = 2 * all->total_bytes;
        }
        const std::size_t bytes = rounded_up(reserve_bytes_, granularity_);
        const auto range = api_.reserve(device_, bytes, granularity_);
        if (!range) return;
        range_ = reinterpret_cast<std::uintptr_t>(*range);
        range_bytes_ = bytes;
    }
    void initialize() noexcept {
        if (ALLOT_UNLIKELY(!initialized_)) query_device();
    }
    // The index of the first piece that begins above the address.
    std::size_t first_above(std::uintptr_t address) const noexcept {
        std::size_t low = 0, high = n_;
        while (low != high) {
            const std::size_t middle = (low + high) / 2;
            if (pieces_[middle].address <= address) low = middle + 1;
            else high = middle;
        }
        return low;
    }
    // The address behind the last mapped piece, else of the first hole that is large enough; 0: none.
    std::uintptr_t find_gap(std::size_t bytes) const noexcept {
        if (range_ == 0 || mapping_disabled_) return 0;
        std::uintptr_t end = range_, hole = 0;
        for (std::size_t i = 0; i != n_; ++i) {
            if (pieces_[i].segment != 0) continue;
            if (hole == 0 && pieces_[i].address - end >= bytes) hole = end;
            end = pieces_[i].address + pieces_[i].bytes;
        }
        return range_ + range_bytes_ - end >= bytes ? end : hole;
    }
    device::result<device_piece> add_plain(std::size_t bytes) noexcept {
        const auto p = api_.allocate(device_, bytes);
        if (!p) return p.error();
        return insert({reinterpret_cast<std::uintptr_t>(*p), bytes, ++last_segment_});
    }
    device_piece insert(const device_piece& piece) noexcept {
        const std::size_t i = first_above(piece.address);
        for (std::size_t k = n_; k != i; --k) pieces_[k] = pieces_[k - 1];
        pieces_[i] = piece;
        ++n_;
        return piece;
    }

    Api api_;
    device_id device_;
    std::size_t reserve_bytes_;
    std::size_t granularity_ = usual_granularity;
    std::uintptr_t range_ = 0;
    std::size_t range_bytes_ = 0;
    std::size_t device_bytes_ = 0; // 0: not asked yet
    host_metadata memory_;
    run_array<device_piece, host_metadata> pieces_;
    std::size_t n_ = 0;
    std::uint32_t last_segment_ = 0;
    bool initialized_ = false;
    bool mapping_disabled_ = false; // an unmap failed
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
