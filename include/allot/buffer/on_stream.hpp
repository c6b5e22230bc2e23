// A device allocator at one stream, as a memory source of buffers.
//
//     allot::on_stream uploads{gpu, stream};      allot::buffer_memory memory{uploads};
//
// Work of this stream may use a block at once. The last release frees it at that point of this stream, so order the
// work of other streams and of the host before that point, by events or waits, as with device_allocator::deallocate.
// Let the view that lives longest belong to the code that does so.
// Invariant: the host never accesses a block. Cost: two words. Threads: those of the allocator.
#pragma once

#include <allot/account/forward.hpp>
#include <allot/buffer/block_source.hpp>
#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/request/ladder.hpp>
#include <allot/request/memory_request.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

/// A memory source for buffer_memory. Requires: outlives the buffers, as do the allocator and the stream.
template <class Device> class on_stream {
  public:
    static constexpr bool host_access = false;
    using stream_type = typename Device::stream_type;

    on_stream(Device& device, stream_type stream) noexcept : device_(&device), stream_(stream) {}

    static constexpr std::size_t capacity_for(std::size_t bytes) noexcept {
        return detail::rounded_up(bytes, Device::unit);
    }
    memory_block try_allocate(std::size_t bytes, std::size_t align) noexcept {
        return block(device_->try_allocate(bytes, align, stream_), bytes);
    }
    memory_block try_allocate(std::size_t bytes, std::size_t align, charge_status* why) noexcept
        requires requires(Device& d, std::size_t n, stream_type s) { d.try_allocate(n, n, s, why); }
    {
        return block(device_->try_allocate(bytes, align, stream_, why), bytes);
    }
    // For buffers.
    memory_block try_allocate(detail::memory_request& asked, std::size_t align) noexcept
        requires requires(Device& d, std::size_t n, stream_type s) { d.try_allocate(asked, n, s); }
    {
        return block(device_->try_allocate(asked, align, stream_), asked.bytes);
    }
    bool climb(detail::memory_request& asked, const detail::account_node* by, detail::attempt_ref again) noexcept
        requires requires(Device& d) { d.climb(asked, by, again); }
    {
        return device_->climb(asked, by, again);
    }
    void deallocate(void* p) noexcept { device_->deallocate(p, stream_); }

    account* lender_to(const account& by) const noexcept
        requires requires(const Device& d) { d.lender_to(by); }
    {
        return device_->lender_to(by);
    }

    stream_type stream() const noexcept { return stream_; }

  private:
    static memory_block block(void* p, std::size_t bytes) noexcept {
        return {static_cast<std::byte*>(p), p != nullptr ? capacity_for(bytes) : 0};
    }
    Device* device_;
    stream_type stream_;
};

} // namespace allot::inline ALLOT_ABI
