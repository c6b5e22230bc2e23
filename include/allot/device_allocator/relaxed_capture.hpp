// Sets this thread's capture mode to relaxed while it lives: calls that use no stream are permitted, and invalidate no
// capture. Cost: two api calls. Threads: one.
#pragma once

#include <allot/config.hpp>
#include <allot/device/kinds.hpp>
#include <allot/device/result.hpp>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Api> struct relaxed_capture {
    explicit relaxed_capture(const Api& api) noexcept
        : api_{api}, before_{api.exchange_capture_mode(device::capture_mode::relaxed)} {}
    ~relaxed_capture() {
        if (before_) (void)api_.exchange_capture_mode(*before_);
    }
    relaxed_capture(const relaxed_capture&) = delete;
    relaxed_capture& operator=(const relaxed_capture&) = delete;

  private:
    const Api& api_;
    device::result<device::capture_mode> before_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
