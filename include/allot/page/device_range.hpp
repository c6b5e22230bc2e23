// The range of an arena on a device: address space is reserved once, memory is mapped as pages are taken.
//
// Memory is mapped in units: the device's granularity (2 MiB), or a page where that is larger; small pages share a
// unit. On a device without virtual memory the range is one plain allocation of the limit, else of half the free
// memory. The host touches no byte of the range: rows have their headers on the host (heap/header_location.hpp). Units
// without taken pages are returned on call, and under retain::on_pressure before a request fails; the device is
// synchronized first, for programs that release a row while work still uses it.
// Invariant: a unit is mapped and usable exactly where its state says so; a commit that fails maps nothing.
// Cost: about 4 driver calls and a byte of host memory per unit; a take of mapped pages reads one state per unit.
// Threads: any; one thread maps at a time. Failures: reported as lack of memory, or in `why` of the range.
// Source: PyTorch's expandable segments, 2023, without moving pages.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/min_max.hpp>
#include <allot/core/values.hpp>
#include <allot/device/api_argument.hpp>
#include <allot/device/map_new.hpp>
#include <allot/device/on_device.hpp>
#include <allot/page/page_backing.hpp>
#include <allot/page/page_source.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/mutex.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Api> class device_backing final : public page_backing {
  public:
    template <class... Values>
    explicit device_backing(Values&... values) noexcept
        : api_(api_argument<Api>(values...)), device_(value_or<device_id>({0}, values...)) {}
    // Synchronizes the device, then frees all.
    ~device_backing() {
        if (begin_ != nullptr) free_memory();
        delete[] states_;
    }

    // Call once. Where there is no range, `begin` is null and `why` has the reason.
    arena_range open(const range_request& request) noexcept {
        arena_range range;
        range.backing = this;
        range.headers_out_of_band = true;
        const auto facts = api_.properties_of(device_);
        if (!facts) return range.why = device::text_of(facts.kind()).data(), range;
        const bool ok = facts->virtual_memory ? reserve(request, *facts, range) : allocate(request, range);
        if (ok) begin_ = range.begin;
        return range;
    }

    bool commit(std::size_t first_page, std::size_t pages) noexcept override {
        const std::size_t from = first_page / per_unit_, to = (first_page + pages - 1) / per_unit_ + 1;
        if (are_mapped(from, to)) return true;
        const lock_guard hold(mapping_);
        for (std::size_t u = from; u != to; ++u)
            if (state_of(u) == unmapped && !map(u)) {
                while (u-- != from)
                    if (state_of(u) == fresh) static_cast<void>(unmap(u));
                return false;
            }
        for (std::size_t u = from; u != to; ++u) states_[u].store(mapped, std::memory_order_release);
        return true;
    }
    bool decommit(std::size_t first_page, std::size_t pages) noexcept override {
        if (!api_.synchronize(device_)) return false;
        const lock_guard hold(mapping_);
        bool ok = true;
        for (std::size_t u = first_page / per_unit_; ok && u != (first_page + pages) / per_unit_; ++u)
            ok = state_of(u) == unmapped || unmap(u);
        return ok;
    }
    std::size_t committed_bytes() const noexcept override { return committed_.load(std::memory_order_relaxed); }
    std::size_t pages_per_unit() const noexcept override { return per_unit_; }

  private:
    enum unit_state : unsigned char { unmapped, fresh, mapped }; // fresh: mapped by a commit that may still fail

    bool reserve(const range_request& request, const device::properties& facts, arena_range& range) noexcept {
        const auto step = api_.granularity(device_);
        if (!step) return fail(range, step.kind());
        const std::size_t page = max(page_size_for(request, 0), *step / 64); // no unit crosses a word of the bitmap
        unit_ = max(page, *step);
        per_unit_ = unit_ / page;
        std::size_t bytes =
            request.reserve_bytes != 0 ? request.reserve_bytes : default_reserve(request.limit, facts.total_bytes);
        bytes = align_up(clamp(bytes, unit_, max_reserve_bytes), unit_);
        auto got = api_.reserve(device_, bytes, unit_);
        for (; !got && bytes > unit_; got = api_.reserve(device_, bytes, unit_)) bytes = align_up(bytes / 2, unit_);
        if (!got) return fail(range, got.kind());
        units_ = bytes / unit_;
        states_ = new (std::nothrow) std::atomic<unsigned char>[units_] {};
        if (states_ == nullptr || !fits_arena_table(*got, bytes)) {
            static_cast<void>(api_.free_address(*got, bytes));
            return fail(range, device::failure::out_of_memory);
        }
        range.begin = static_cast<std::byte*>(*got);
        range.bytes = bytes;
        range.page_shift = log2_floor(page);
        range.returns_pages = true;
        range.page_kind = "mapped on a device";
        return true;
    }
    bool allocate(const range_request& request, arena_range& range) noexcept {
        std::size_t bytes = request.limit;
        if (bytes == SIZE_MAX)
            if (const auto memory = api_.memory_of(device_)) bytes = memory->free_bytes / 2;
        const std::size_t page = page_size_for(request, 0);
        bytes = align_up(clamp(bytes, page, max_reserve_bytes), page);
        const auto got = api_.allocate(device_, bytes + page); // a page more, since it may start anywhere in a page
        if (!got) return fail(range, got.kind());
        if (!fits_arena_table(*got, bytes + page)) {
            static_cast<void>(api_.deallocate(device_, *got));
            return fail(range, device::failure::out_of_memory);
        }
        plain_ = *got;
        committed_ = bytes + page;
        const auto start = reinterpret_cast<std::uintptr_t>(plain_);
        range.begin = static_cast<std::byte*>(plain_) + (align_up(start, page) - start);
        range.bytes = bytes;
        range.page_shift = log2_floor(page);
        range.committed = true;
        range.page_kind = "one piece of a device";
        return true;
    }
    void free_memory() noexcept {
        static_cast<void>(api_.synchronize(device_));
        if (plain_ != nullptr) {
            static_cast<void>(api_.deallocate(device_, plain_));
            return;
        }
        for (std::size_t u = 0; u != units_; ++u)
            if (state_of(u) != unmapped) static_cast<void>(unmap(u));
        static_cast<void>(api_.free_address(begin_, units_ * unit_));
    }
    static bool fail(arena_range& range, device::failure kind) noexcept {
        range.why = device::text_of(kind).data();
        return false;
    }
    // The arena table covers 48 bits of address.
    static bool fits_arena_table(const void* p, std::size_t bytes) noexcept {
        return (reinterpret_cast<std::uintptr_t>(p) + bytes) >> 48 == 0;
    }

    void* at(std::size_t unit) const noexcept { return begin_ + unit * unit_; }
    unsigned char state_of(std::size_t unit) const noexcept { return states_[unit].load(std::memory_order_acquire); }
    bool are_mapped(std::size_t from, std::size_t to) const noexcept {
        while (from != to && state_of(from) == mapped) ++from;
        return from == to;
    }
    bool map(std::size_t unit) noexcept {
        if (!map_new(api_, device_, at(unit), unit_)) return false;
        states_[unit].store(fresh, std::memory_order_relaxed);
        committed_.fetch_add(unit_, std::memory_order_relaxed);
        return true;
    }
    bool unmap(std::size_t unit) noexcept {
        if (!api_.unmap(at(unit), unit_)) return false;
        states_[unit].store(unmapped, std::memory_order_relaxed);
        committed_.fetch_sub(unit_, std::memory_order_relaxed);
        return true;
    }

    const Api api_;
    const device_id device_;
    std::byte* begin_ = nullptr;
    void* plain_ = nullptr; // the plain allocation, without virtual memory
    std::size_t unit_ = 0;
    std::size_t units_ = 0;
    std::size_t per_unit_ = 1;                     // pages
    std::atomic<unsigned char>* states_ = nullptr; // owned
    std::atomic<std::size_t> committed_{0};
    sys::mutex mapping_{lock_rank::device_mapping};
};

template <class Api> struct page_source<page::on_device<Api>> {
    static constexpr bool on_device = true;
    using values = types<Api, device_id>;
    using needed = needed_api<Api>;
    using backing = device_backing<Api>;
    static arena_range make(const range_request& request, backing& from) noexcept { return from.open(request); }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
