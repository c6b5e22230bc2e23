// An arrow::MemoryPool over a chunk arena: Arrow's buffers are charged to the account of the arena.
//
// Nothing is thrown through Arrow. A request that fails, or that gets a verdict of an arbiter, returns
// Status::OutOfMemory, and the pool keeps the exception. The caller that sees a failed Status, or an exception of
// Parquet, calls rethrow_refusal(): then the exception goes on as if Arrow had thrown it.
// Invariant: bytes_allocated() is the sum of the sizes that Arrow asked for; the arena charges its pages.
// Cost: 120 bytes; a request is that of the arena and three atomic additions. Threads: any; a refusal is kept for the
// thread that was refused.
// Source: Arrow's MemoryPool, 2016.
#pragma once

#include <allot/adapt/bytes.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/retry_error.hpp>

#include <arrow/memory_pool.h>
#include <arrow/status.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace allot::inline ALLOT_ABI {
namespace adapt {

/// An arrow::MemoryPool that refers to a chunk arena, which must outlive it and its buffers.
template <block_source Memory> class arrow_pool final : public arrow::MemoryPool {
  public:
    explicit arrow_pool(Memory& memory) noexcept : memory_(&memory) {}
    arrow_pool(const arrow_pool&) = delete;
    arrow_pool& operator=(const arrow_pool&) = delete;
    Memory& source() const noexcept { return *memory_; }

    using arrow::MemoryPool::Allocate;
    using arrow::MemoryPool::Free;
    using arrow::MemoryPool::Reallocate;

    /// May wait, as the arena's allocate(). 0 bytes are a fixed address that is not null.
    arrow::Status Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t** out) override {
        arrow::Status good = check(size, alignment);
        if (good.ok() && size == 0) *out = no_bytes;
        else if (good.ok()) good = take(size, alignment, out);
        if (good.ok()) count(size);
        return good;
    }
    /// In place where the arena can. Where it fails, the old bytes are as before.
    arrow::Status Reallocate(std::int64_t old_size, std::int64_t new_size, std::int64_t alignment,
                             std::uint8_t** ptr) override {
        arrow::Status good = check(new_size, alignment);
        if (!good.ok()) return good;
        std::uint8_t* const old = *ptr;
        if (new_size == 0) {
            deallocate(old);
            *ptr = no_bytes;
        } else if (old != no_bytes && static_cast<std::size_t>(new_size) <= memory_->capacity(old)) {
            const auto keep = static_cast<std::size_t>(std::min(old_size, new_size));
            *ptr = static_cast<std::uint8_t*>( // it stays where nothing smaller is free
                adapt::try_resize(*memory_, old, keep, static_cast<std::size_t>(new_size), align_of(alignment)));
        } else if (old == no_bytes || !memory_->resize(old, static_cast<std::size_t>(new_size))) {
            std::uint8_t* to = nullptr;
            good = take(new_size, alignment, &to);
            if (!good.ok()) return good;
            std::memcpy(to, old, static_cast<std::size_t>(std::min(old_size, new_size)));
            deallocate(old);
            *ptr = to;
        }
        if (new_size > old_size) count(new_size - old_size);
        else bytes_.fetch_sub(old_size - new_size, std::memory_order_relaxed);
        return good;
    }
    void Free(std::uint8_t* buffer, std::int64_t size, std::int64_t) override {
        deallocate(buffer);
        bytes_.fetch_sub(size, std::memory_order_relaxed);
    }
    /// Returns free pages of the arena to the system.
    void ReleaseUnused() override { memory_->trim(); }

    std::int64_t bytes_allocated() const override { return bytes_.load(std::memory_order_relaxed); }
    std::int64_t max_memory() const override { return peak_.load(std::memory_order_relaxed); }
    std::int64_t total_bytes_allocated() const override { return total_.load(std::memory_order_relaxed); }
    std::int64_t num_allocations() const override { return requests_.load(std::memory_order_relaxed); }
    std::string backend_name() const override { return "allot"; }

    /// Effects: forgets the first refusal that is kept for this thread, or else the first one of another thread that is
    /// no verdict, and throws it.
    /// Returns: where there is none.
    /// Throws: what the arena threw: out_of_memory, or a verdict_error, which the caller must not keep from its retry
    /// scope.
    void rethrow_refusal() {
        if (!has_refusal()) return;
        std::exception_ptr thrown;
        {
            const std::lock_guard hold{lock_};
            auto at = std::find_if(kept_.begin(), kept_.end(),
                                   [](const refusal& r) { return r.by == std::this_thread::get_id(); });
            if (at == kept_.end())
                at = std::find_if(kept_.begin(), kept_.end(), [](const refusal& r) { return !r.is_verdict; });
            if (at == kept_.end()) return;
            thrown = std::move(at->what);
            kept_.erase(at);
            kept_count_.store(kept_.size(), std::memory_order_relaxed);
        }
        std::rethrow_exception(std::move(thrown));
    }
    /// Whether a refusal of any thread is kept.
    bool has_refusal() const noexcept { return kept_count_.load(std::memory_order_relaxed) != 0; }

  private:
    struct refusal {
        std::thread::id by;
        std::exception_ptr what;
        bool is_verdict = false;
    };

    static arrow::Status check(std::int64_t size, std::int64_t alignment) {
        if (size < 0) return arrow::Status::Invalid("allot: a negative number of bytes was requested");
        if (alignment > 0 && static_cast<std::size_t>(alignment) <= Memory::max_align &&
            is_power_of_two(static_cast<std::size_t>(alignment)))
            return arrow::Status::OK();
        return arrow::Status::Invalid("allot: the alignment is no power of two up to ", Memory::max_align);
    }
    static std::size_t align_of(std::int64_t alignment) noexcept {
        return std::max<std::size_t>(static_cast<std::size_t>(alignment), 64);
    }
    arrow::Status take(std::int64_t size, std::int64_t alignment, std::uint8_t** out) {
        try {
            *out = static_cast<std::uint8_t*>(
                adapt::allocate(*memory_, static_cast<std::size_t>(size), align_of(alignment)));
            return arrow::Status::OK();
        } catch (const verdict_error& e) {
            return refused(size, e, true);
        } catch (const std::exception& e) {
            return refused(size, e, false);
        }
    }
    // Called while the exception is handled.
    ALLOT_COLD arrow::Status refused(std::int64_t size, const std::exception& e, bool is_verdict) {
        try {
            const std::lock_guard hold{lock_};
            const auto same = [&](const refusal& r) { return r.by == std::this_thread::get_id(); };
            // A verdict is never lost behind a refusal of the same thread.
            if (auto at = std::find_if(kept_.begin(), kept_.end(), same); at == kept_.end())
                kept_.push_back({std::this_thread::get_id(), std::current_exception(), is_verdict});
            else if (is_verdict && !at->is_verdict) at->what = std::current_exception(), at->is_verdict = true;
            kept_count_.store(kept_.size(), std::memory_order_relaxed);
            return arrow::Status::OutOfMemory(e.what(), " (", size, " bytes for Arrow)");
        } catch (...) { // the host has no memory for the text or the list
            return arrow::Status::OutOfMemory("");
        }
    }
    void deallocate(std::uint8_t* p) noexcept {
        if (p != no_bytes && p != nullptr) memory_->deallocate(p);
    }
    void count(std::int64_t bytes) noexcept {
        const std::int64_t now = bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
        total_.fetch_add(bytes, std::memory_order_relaxed);
        requests_.fetch_add(1, std::memory_order_relaxed);
        std::int64_t most = peak_.load(std::memory_order_relaxed);
        while (most < now && !peak_.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
        }
    }

    alignas(512) static inline std::uint8_t no_bytes[1] = {}; // as Arrow's own pools

    Memory* memory_;
    std::atomic<std::int64_t> bytes_{0}, peak_{0}, total_{0}, requests_{0};
    std::mutex lock_;
    std::vector<refusal> kept_; // at most one of a thread
    std::atomic<std::size_t> kept_count_{0};
};

} // namespace adapt
} // namespace allot::inline ALLOT_ABI
