// An arena's range on a device: address space is reserved once, and memory mapped into it as pages are taken.
//
// A unit of mapping is the device's granularity (2 MiB), or a page where that is more; small pages share one. Where the
// device has no virtual memory the range is one plain allocation: of the limit, else of half of what is free. Rows of
// such pages have their headers on the host (heap/header_location.hpp): the host touches no byte of the range. Pages
// are given back on call only (and where a request would fail, under retain::on_pressure): units without taken pages,
// after waiting for the device. A row's last release says that no work uses it any more, so a free page has no users;
// the wait is for programs that break this rule.
// Invariant: a unit is mapped and usable by its device exactly where its flag says so; a failing commit maps nothing.
// Cost: some 4 driver calls a unit, a byte of host memory for it. A take that finds its pages mapped: two loads.
// Threads: any; mappings are made one at a time. Failures: as no memory; `why` of a range that could not be made.
// Source: expandable segments as in PyTorch, 2023, without moving pages.
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
    static constexpr std::size_t default_page_bytes = std::size_t{2} << 20;

    template <class... Values>
    explicit device_backing(Values&... values) noexcept
        : api_(api_argument<Api>(values...)), device_(value_or<device_id>({0}, values...)) {}
    // No work uses the pages any more: it is waited for.
    ~device_backing() {
        if (begin_ != nullptr) free_memory();
        delete[] states_;
    }

    // Once. `begin` is null, and `why` says so, where there is no range to be had.
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
    enum unit_state : unsigned char { unmapped, fresh, mapped }; // fresh: by a commit that may still fail

    bool reserve(const range_request& request, const device::properties& facts, arena_range& range) noexcept {
        const auto step = api_.granularity(device_);
        if (!step) return fail(range, step.kind());
        const std::size_t page =
            max(page_size_for(request, default_page_bytes), *step / 64); // a word of the arena's bitmap has whole units
        unit_ = max(page, *step);
        per_unit_ = unit_ / page;
        std::size_t bytes = request.reserve_bytes != 0 ? request.reserve_bytes : facts.total_bytes;
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
        if (bytes == 0)
            if (const auto memory = api_.memory_of(device_)) bytes = memory->free_bytes / 2;
        const std::size_t page = page_size_for(request, default_page_bytes);
        bytes = align_up(max(bytes, page), page);
        const auto got = api_.allocate(device_, bytes + page); // it may start anywhere in a page
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
    // The table of arenas knows 48 bits of address.
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
    void* plain_ = nullptr; // what is all there is, without virtual memory
    std::size_t unit_ = 0;
    std::size_t units_ = 0;
    std::size_t per_unit_ = 1;                     // pages
    std::atomic<unsigned char>* states_ = nullptr; // owned
    std::atomic<std::size_t> committed_{0};
    sys::mutex mapping_;
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
