// What a recording is replayed against: row managers, chunk arenas, glibc's malloc, a device allocator.
//
// A subject has
//     allocate(n, align, stream), resize(p, had, n, align, stream), deallocate(p, n, stream)    null: refused, as
//     before look()       between operations, if its peak must be looked at (glibc's) peak()       the most bytes
//     charged so far: its pages, or what glibc has of the system
#pragma once

#include <allot/adapt/bytes.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/core/units.hpp>
#include <allot/device/simulated.hpp>
#include <allot/device_allocator.hpp>
#include <allot/row_manager.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <memory>
#include <vector>

namespace replay {

/// What one run of a subject needs to know.
struct conditions {
    std::size_t limit = SIZE_MAX; // bytes
    std::size_t streams = 1;
    std::size_t peak = 0; // bytes asked for
};

/// A row manager or a chunk arena, through the calls that every face of adapt/ makes.
template <class Source> class of_source {
  public:
    explicit of_source(const conditions& c) : source_(allot::limit{c.limit}, allot::name{"replay"}) {}
    template <class... Values>
    of_source(const conditions& c, const Values&... values)
        : source_(allot::limit{c.limit}, allot::name{"replay"}, values...) {}

    void* allocate(std::size_t n, std::size_t align, std::size_t) noexcept {
        return allot::adapt::try_allocate(source_, n, align);
    }
    void* resize(void* p, std::size_t had, std::size_t n, std::size_t align, std::size_t) noexcept {
        return allot::adapt::try_resize(source_, p, std::min(had, n), n, align);
    }
    void deallocate(void* p, std::size_t, std::size_t) noexcept { allot::adapt::release(source_, p); }
    void look() noexcept {}
    std::size_t peak() const noexcept { return source_.peak(); }
    static constexpr bool is_on_device = false;

  private:
    Source source_;
};
template <class Set> struct rows_of : of_source<allot::row_manager<Set>> {
    using of_source<allot::row_manager<Set>>::of_source;
};
template <class Set> struct blocks_of : of_source<allot::chunk_arena<Set>> {
    explicit blocks_of(const conditions& c) : blocks_of(c, chunk_of()) {}

  private:
    blocks_of(const conditions& c, allot::chunk_bytes chunk) : of_source<allot::chunk_arena<Set>>(c, chunk) {}
    static allot::chunk_bytes chunk_of() noexcept {
        if constexpr (requires { Set::chunk; }) return Set::chunk;
        else return {0}; // as the arena chooses
    }
};

/// The process' heap. It has no limit.
class malloc_of_glibc {
  public:
    explicit malloc_of_glibc(const conditions&) noexcept {
        const struct mallinfo2 all = ::mallinfo2();
        used_before_ = all.uordblks + all.hblkhd;
    }

    void* allocate(std::size_t n, std::size_t align, std::size_t) noexcept {
        if (align <= alignof(std::max_align_t)) return std::malloc(n);
        void* p = nullptr;
        return ::posix_memalign(&p, align, n) == 0 ? p : nullptr;
    }
    void* resize(void* p, std::size_t had, std::size_t n, std::size_t align, std::size_t) noexcept {
        if (align <= alignof(std::max_align_t)) return std::realloc(p, n != 0 ? n : 1);
        void* const to = allocate(n, align, 0);
        if (to == nullptr) return nullptr;
        std::memcpy(to, p, std::min(had, n));
        std::free(p);
        return to;
    }
    void deallocate(void* p, std::size_t, std::size_t) noexcept { std::free(p); }
    void look() noexcept {
        const struct mallinfo2 all = ::mallinfo2();
        const std::size_t now = all.arena + all.hblkhd - used_before_;
        std::size_t most = peak_.load();
        while (most < now && !peak_.compare_exchange_weak(most, now)) {
        }
    }
    std::size_t peak() const noexcept { return peak_; }
    static constexpr bool is_on_device = false;

  private:
    std::size_t used_before_ = 0;
    std::atomic<std::size_t> peak_{0};
};

/// Blocks of the simulated device: bytes, not times. Every resize moves.
template <class Set> class device_of {
  public:
    explicit device_of(const conditions& c)
        : device_{{.total_bytes = std::max<std::size_t>(8 * c.peak, std::size_t{1} << 30)}}, api_{device_},
          blocks_(std::make_unique<allot::device_allocator<Set>>(allot::device_id{0}, allot::limit{c.limit},
                                                                 allot::name{"replay"}, api_)) {
        for (std::size_t i = 0; i != c.streams; ++i)
            streams_.push_back(*api_.create_stream({0}, allot::device::stream_kind::non_blocking));
    }
    ~device_of() {
        blocks_.reset();
        for (const auto s : streams_) static_cast<void>(api_.destroy_stream(s));
    }
    device_of(const device_of&) = delete;
    device_of& operator=(const device_of&) = delete;

    void* allocate(std::size_t n, std::size_t align, std::size_t stream) noexcept {
        return blocks_->try_allocate(std::max<std::size_t>(n, 1), align, streams_[stream]);
    }
    void* resize(void* p, std::size_t, std::size_t n, std::size_t align, std::size_t stream) noexcept {
        void* const to = allocate(n, align, stream);
        if (to != nullptr) blocks_->deallocate(p, streams_[stream]);
        return to;
    }
    void deallocate(void* p, std::size_t, std::size_t stream) noexcept { blocks_->deallocate(p, streams_[stream]); }
    void look() noexcept {}
    std::size_t peak() const noexcept { return blocks_->peak(); }
    static constexpr bool is_on_device = true;

  private:
    allot::device::simulator device_;
    allot::device::simulated api_;
    std::unique_ptr<allot::device_allocator<Set>> blocks_;
    std::vector<allot::device::simulated::stream_type> streams_;
};

} // namespace replay
