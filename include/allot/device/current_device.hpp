// Makes a device the thread's current one while it lives: the default streams are those of the current device.
//
//     const device::current_device here{api, device};
//     if (!here) return here.error();
//
// Invariant: the previous device is current again at its end. Cost: one api call; two more if another device is
// current. Threads: one.
#pragma once

#include <allot/config.hpp>
#include <allot/device/error.hpp>
#include <allot/device/id.hpp>
#include <allot/device/result.hpp>

namespace allot::inline ALLOT_ABI {
namespace device {

template <class Api> class current_device {
  public:
    current_device(const Api& api, device_id device) noexcept : api_{api} {
        const result<device_id> now = api_.current();
        if (!now) made_ = now.error();
        if (!now || *now == device) return;
        made_ = api_.set_current(device);
        if (made_) before_ = *now, changed_ = true;
    }
    current_device(const current_device&) = delete;
    current_device& operator=(const current_device&) = delete;
    ~current_device() {
        if (changed_) (void)api_.set_current(before_);
    }
    explicit operator bool() const noexcept { return static_cast<bool>(made_); }
    const device::error& error() const noexcept { return made_.error(); }

  private:
    ALLOT_NO_UNIQUE_ADDRESS Api api_;
    result<> made_{};
    device_id before_{};
    bool changed_ = false;
};

namespace detail {

/// Whether the handle names another stream where another device is current, or on another thread.
template <class Api> bool is_default_stream(typename Api::stream_type stream) noexcept {
    return stream == typename Api::stream_type{} || stream == Api::legacy_stream() ||
           stream == Api::per_thread_stream();
}

} // namespace detail
} // namespace device
} // namespace allot::inline ALLOT_ABI
