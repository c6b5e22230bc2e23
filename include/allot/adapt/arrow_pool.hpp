// An arrow::MemoryPool over a chunk arena: Arrow's buffers are charged to the account of the arena.
//
// Nothing is thrown through Arrow. A request that fails, or that gets a verdict of an arbiter, returns
// Status::OutOfMemory, whose detail has the exception. The caller that sees a failed Status, or an exception of Parquet
// with one, passes it to rethrow_refusal(): then the exception goes on as if Arrow had thrown it.
// Invariant: bytes_allocated() is the sum of the sizes that Arrow asked for; the arena charges its pages.
// Cost: 120 bytes; a request is that of the arena and three atomic additions. Threads: any; a verdict is kept for the
// thread that got it.
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
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace allot::inline ALLOT_ABI {
namespace adapt {
namespace detail {

// Of the status of a refused request, of any pool.
struct arrow_refusal final : arrow::StatusDetail {
    static std::string_view id() noexcept { return "allot::refusal"; }
    explicit arrow_refusal(std::exception_ptr thrown) noexcept : what(std::move(thrown)) {}
    const char* type_id() const override { return id().data(); }
    std::string ToString() const override { return "allot::out_of_memory"; }
    std::exception_ptr what;
};

} // namespace detail

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
        bytes_.fetch_sub(size, std::memory_order_relaxed); // before others have the memory: the peak counts none twice
        deallocate(buffer);
    }
    /// Returns free pages of the arena to the system.
    void ReleaseUnused() override { memory_->trim(); }

    std::int64_t bytes_allocated() const override { return bytes_.load(std::memory_order_relaxed); }
    std::int64_t max_memory() const override { return peak_.load(std::memory_order_relaxed); }
    std::int64_t total_bytes_allocated() const override { return total_.load(std::memory_order_relaxed); }
    std::int64_t num_allocations() const override { return requests_.load(std::memory_order_relaxed); }
    std::string backend_name() const override { return "allot"; }

    /// Effects: throws what made that request fail: the verdict of an arbiter that this thread got and has not thrown
    /// yet, or else the refusal of the request whose failure the status is, on whatever thread it was.
    /// Returns: where there is neither, as for the failure of something else.
    /// Throws: out_of_memory, or a verdict_error, which the caller must not keep from its retry scope.
    void rethrow_refusal(const arrow::Status& of) {
        rethrow_verdict();
        if (of.detail() != nullptr && of.detail()->type_id() == detail::arrow_refusal::id())
            std::rethrow_exception(static_cast<const detail::arrow_refusal&>(*of.detail()).what);
    }
    /// The same for the verdict alone, where Arrow lets a status get lost.
    void rethrow_verdict() {
        if (ALLOT_LIKELY(verdict_count_.load(std::memory_order_relaxed) == 0)) return;
        std::exception_ptr thrown;
        {
            const std::lock_guard hold{lock_};
            const auto at = std::find_if(verdicts_.begin(), verdicts_.end(), of_this_thread);
            if (at == verdicts_.end()) return;
            thrown = std::move(at->what);
            verdicts_.erase(at);
            verdict_count_.store(verdicts_.size(), std::memory_order_relaxed);
        }
        std::rethrow_exception(std::move(thrown));
    }

  private:
    struct verdict {
        std::thread::id by;
        std::exception_ptr what;
    };
    static bool of_this_thread(const verdict& v) noexcept { return v.by == std::this_thread::get_id(); }

    static arrow::Status check(std::int64_t size, std::int64_t alignment) {
        if (size < 0) return arrow::Status::Invalid("allot: a negative number of bytes was requested");
        if (alignment > 0 && static_cast<std::size_t>(alignment) <= Memory::max_align &&
            allot::detail::is_power_of_two(static_cast<std::size_t>(alignment)))
            return arrow::Status::OK();
        return arrow::Status::Invalid("allot: the alignment is no power of two up to ", Memory::max_align);
    }
    static std::size_t align_of(std::int64_t alignment) noexcept {
        return std::max<std::size_t>(static_cast<std::size_t>(alignment), 64);
    }
    arrow::Status take(std::int64_t size, std::int64_t alignment, std::uint8_t** out) try {
        try {
            *out = static_cast<std::uint8_t*>(
                adapt::allocate(*memory_, static_cast<std::size_t>(size), align_of(alignment)));
            return arrow::Status::OK();
        } catch (const verdict_error& e) {
            return judged(size, e);
        } catch (const std::exception& e) {
            return refused(size, e, std::make_shared<detail::arrow_refusal>(std::current_exception()));
        }
    } catch (...) { // the host has no memory for the text
        return arrow::Status::OutOfMemory("");
    }
    // Called while the exception is handled.
    ALLOT_COLD arrow::Status judged(std::int64_t size, const verdict_error& e) {
        {
            const std::lock_guard hold{lock_};
            if (std::none_of(verdicts_.begin(), verdicts_.end(), of_this_thread))
                verdicts_.push_back({std::this_thread::get_id(), std::current_exception()});
            verdict_count_.store(verdicts_.size(), std::memory_order_relaxed);
        }
        return refused(size, e, nullptr);
    }
    static arrow::Status refused(std::int64_t size, const std::exception& e,
                                 std::shared_ptr<arrow::StatusDetail> detail) {
        return arrow::Status::FromDetailAndArgs(arrow::StatusCode::OutOfMemory, std::move(detail), e.what(), " (", size,
                                                " bytes for Arrow)");
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
    std::vector<verdict> verdicts_; // at most one of a thread
    std::atomic<std::size_t> verdict_count_{0};
};

} // namespace adapt
} // namespace allot::inline ALLOT_ABI
