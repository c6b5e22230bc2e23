// Device staging: pinned host memory through which a store copies a device's memory to its home, and back.
//
//     allot::device_staging through{api, allot::device_id{0}, pinned};       made before memory is short
//
//   device -> host   copy into a half, event; the host waits for the event, and copies on while the other half fills
//   host -> device   copy into a half, once the copy that read it last is done; copy, event; nobody waits for the end
//
// Invariant: a half is written or read by the host only when all copies of it are done. Cost: its bytes, charged to an
// account; two events; a copy of the host each way. Threads: any; one copies at a time, others wait for it.
// Source: double buffering through page-locked memory, CUDA's best practices, 2007.
#pragma once

#include <allot/account/account.hpp>
#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/min_max.hpp>
#include <allot/core/units.hpp>
#include <allot/device/api.hpp>
#include <allot/spill/home.hpp>
#include <allot/spill/spill_error.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <span>

namespace allot::inline ALLOT_ABI {

/// Requires: the account outlives it, and it the objects that use it; their streams are of this device.
template <device::api Api> class device_staging {
  public:
    using stream_type = typename Api::stream_type;

    /// `bytes`: of both halves together. Throws: out_of_memory where the account refuses them; spill_error where the
    /// device has no pinned memory, or no event.
    device_staging(const Api& api, device_id device, account& by, std::size_t bytes = 2_MiB)
        : api_(api), by_(by), half_bytes_(detail::max(bytes / 2, std::size_t{1})) {
        by_.charge(2 * half_bytes_);
        if (const device::error e = open(device); e.kind != device::failure::none) {
            close();
            raise(spill_error("device staging", status_of(e)));
        }
    }
    device_staging(const device_staging&) = delete;
    device_staging& operator=(const device_staging&) = delete;
    ~device_staging() { close(); }

    /// Copies bytes of the device, behind the work that the stream has now, and waits for that.
    home_status to_host(std::span<std::byte> to, const std::byte* from, stream_type stream) noexcept {
        const copying alone{*this};
        const auto fetch = [&](std::size_t at) {
            half& into = half_at(at);
            return copy(into, into.memory, from + at, piece(to.size(), at), stream);
        };
        device::result<> done = to.empty() ? device::result<>{} : fetch(0);
        for (std::size_t at = 0, n = 0; done && at != to.size(); at += n) {
            n = piece(to.size(), at);
            const device::result<> next = at + n != to.size() ? fetch(at + n) : device::result<>{};
            if (done = settle(half_at(at)); !done) break;
            std::memcpy(to.data() + at, half_at(at).memory, n);
            done = next;
        }
        return status_of(done.error());
    }
    /// Copies bytes to the device, in order of the stream: its later work may use them. Returns before that.
    home_status to_device(std::byte* to, std::span<const std::byte> from, stream_type stream) noexcept {
        const copying alone{*this};
        device::result<> done;
        for (std::size_t at = 0, n = 0; done && at != from.size(); at += n) {
            n = piece(from.size(), at);
            half& through = half_at(at);
            if (done = settle(through); !done) break;
            std::memcpy(through.memory, from.data() + at, n);
            done = copy(through, to + at, through.memory, n, stream);
        }
        return status_of(done.error());
    }

  private:
    struct half {
        std::byte* memory = nullptr;
        typename Api::event_type event{};
        typename Api::stream_type stream{}; // of the last copy
        bool has_event = false, is_used = false, is_recorded = false;
    };
    // This thread copies alone. It is no lock, since a device may call a user's code.
    struct copying {
        explicit copying(device_staging& of) noexcept : all(of) {
            while (all.copies_.exchange(true, std::memory_order_acquire))
                all.copies_.wait(true, std::memory_order_relaxed);
        }
        copying(const copying&) = delete;
        copying& operator=(const copying&) = delete;
        ~copying() {
            all.copies_.store(false, std::memory_order_release);
            all.copies_.notify_one();
        }
        device_staging& all;
    };

    half& half_at(std::size_t at) noexcept { return halves_[at / half_bytes_ % 2]; }
    std::size_t piece(std::size_t all, std::size_t at) const noexcept { return detail::min(half_bytes_, all - at); }

    device::result<> copy(half& h, void* to, const void* from, std::size_t n, stream_type stream) noexcept {
        if (const device::result<> free = settle(h); !free) return free;
        if (const device::result<> copied = api_.copy_async(to, from, n, stream); !copied) return copied;
        h.is_used = true;
        h.stream = stream;
        const device::result<> recorded = api_.record(h.event, stream);
        h.is_recorded = static_cast<bool>(recorded);
        return recorded;
    }
    // Waits for the last copy.
    device::result<> settle(half& h) noexcept {
        if (!h.is_used) return {};
        const device::result<> done = h.is_recorded ? api_.synchronize(h.event) : api_.synchronize(h.stream);
        h.is_used = !done;
        return done;
    }
    device::error open(device_id on) noexcept {
        const device::result<void*> all = api_.allocate_pinned(2 * half_bytes_);
        if (!all) return all.error();
        for (half& h : halves_) {
            h.memory = static_cast<std::byte*>(*all) + (&h == &halves_[1] ? half_bytes_ : 0);
            const auto event = api_.create_event(on);
            if (!event) return event.error();
            h.event = *event;
            h.has_event = true;
        }
        return {};
    }
    void close() noexcept {
        for (half& h : halves_) {
            static_cast<void>(settle(h));
            if (h.has_event) static_cast<void>(api_.destroy_event(h.event));
        }
        if (halves_[0].memory != nullptr) static_cast<void>(api_.deallocate_pinned(halves_[0].memory));
        by_.refund(2 * half_bytes_);
    }
    static home_status status_of(const device::error& e) noexcept {
        if (e.kind == device::failure::none) return {};
        return {.how = home_status::outcome::failed, .call = e.call};
    }

    const Api api_;
    account& by_;
    const std::size_t half_bytes_;
    std::array<half, 2> halves_;
    std::atomic<bool> copies_{false};
};

} // namespace allot::inline ALLOT_ABI
