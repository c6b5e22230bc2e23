// How a store keeps a buffer of a device's memory: its bytes, copied in the order of a stream through staging.
//
//     allot::device_staging through{api, allot::device_id{0}, pinned};
//     allot::on_stream at{gpu, stream};                        allot::buffer_memory memory{at};
//     allot::store inputs{device, far};                        `far`: spill_memory of the host, or spill_files
//     auto batch = inputs.put(allot::device_buffer{memory.allocate(scan, n), at, through});
//     {
//         const auto data = batch.pin();                       copied back on the stream, if it was away
//         kernel<<<.., stream>>>(data->bytes.data());          behind the copy
//     }                                                        may leave: the copy to the host is behind the kernel
//
//   leaves   copy to the host, behind the work that the stream has then; wait for an event; the block is freed in the
//            order of the stream
//   returns  a block for the stream; copy to the device, which later work of the stream is behind
//
// Work of other streams that uses it is ordered before this stream's next work when the pin ends, as for on_stream.
// An error of the device in a copy is the home_status `failed`, with the name of the call; the object is where it was.
// Requires: what storing<buffer> requires, but for host access. Cost: as device_staging.hpp says.
// Threads: as stored.hpp says.
#pragma once

#include <allot/account/account.hpp>
#include <allot/buffer/buffer.hpp>
#include <allot/buffer/buffer_memory.hpp>
#include <allot/buffer/on_stream.hpp>
#include <allot/config.hpp>
#include <allot/device/api.hpp>
#include <allot/spill/device_staging.hpp>
#include <allot/spill/home.hpp>
#include <allot/spill/stored.hpp>
#include <allot/spill/stored_buffer.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

namespace allot::inline ALLOT_ABI {

/// A buffer of device memory, the stream that orders its use, and what it is copied through. Move-only.
template <device::api Api> struct device_buffer {
    /// `at`: where the buffer is from.
    template <class Device>
    device_buffer(buffer b, const on_stream<Device>& at, device_staging<Api>& with) noexcept
        : device_buffer(std::move(b), at.stream(), with) {}
    device_buffer(buffer b, typename Api::stream_type of, device_staging<Api>& with) noexcept
        : bytes(std::move(b)), stream(of), through(&with) {}

    buffer bytes;
    typename Api::stream_type stream;
    device_staging<Api>* through;
};

namespace detail {

// Bytes of a device, copied to the host piece by piece; and back.
template <class Api> class device_source final : public byte_source {
  public:
    explicit device_source(const device_buffer<Api>& of) noexcept : byte_source(of.bytes.size()), of_(of) {}
    bool next(std::span<std::byte> to) noexcept override {
        status = of_.through->to_host(to, of_.bytes.data() + at_, of_.stream);
        at_ += to.size();
        return static_cast<bool>(status);
    }
    home_status status;

  private:
    const device_buffer<Api>& of_;
    std::size_t at_ = 0;
};
template <class Api> class device_sink final : public byte_sink {
  public:
    explicit device_sink(const device_buffer<Api>& of) noexcept : byte_sink(of.bytes.size()), of_(of) {}
    bool next(std::span<const std::byte> from) noexcept override {
        status = of_.through->to_device(of_.bytes.data() + at_, from, of_.stream);
        at_ += from.size();
        return static_cast<bool>(status);
    }
    home_status status;

  private:
    const device_buffer<Api>& of_;
    std::size_t at_ = 0;
};

} // namespace detail

/// Throws: as storing<buffer>, but for host access.
template <device::api Api> struct storing<device_buffer<Api>> {
    using held = device_buffer<Api>;

    storing(const held& b, account& of_store)
        : by(b.bytes ? detail::account_to_store(b.bytes, b.bytes.is_shared(), false) : of_store),
          memory(buffer_memory::of(b.bytes)), stream(b.stream), through(*b.through), bytes(b.bytes.size()) {}

    static held hold(held& b) noexcept { return std::move(b); }
    static std::size_t charged(const held& b) noexcept { return b.bytes.block_bytes(); }
    static bool may_leave(const held& b) noexcept { return !b.bytes.is_shared(); }
    static home_status write(const held& from, kept_bytes& to) noexcept {
        detail::device_source<Api> source{from};
        const home_status s = to.write(source);
        return source.status ? s : source.status;
    }
    held make(const kept_bytes& from, const pin_request& by_pin, home_status& why) const noexcept {
        held made{detail::make_buffer(*memory, by_pin, bytes, why), stream, through};
        if (!made.bytes) return made;
        detail::device_sink<Api> sink{made};
        why = from.read(sink);
        if (!sink.status) why = sink.status;
        return made;
    }
    static void move_to(account& to, held& b) { storing<buffer>::move_to(to, b.bytes); }
    std::size_t count() const noexcept { return bytes; }
    stored_part<held> part(std::size_t from, std::size_t n, const kept_bytes& whole, home_status&) const noexcept {
        stored_part<held> p{*this, whole.slice(from, n)};
        p.how.bytes = n;
        return p;
    }

    account& by;
    std::optional<buffer_memory> memory; // none: it is empty
    typename Api::stream_type stream;
    device_staging<Api>& through;
    std::size_t bytes;
};

} // namespace allot::inline ALLOT_ABI
