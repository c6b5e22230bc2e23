// The result of a device call: a value, or an error.
//
// Values are small and trivial (pointers, handles, numbers), so value and error are two members, without a union or a
// destructor. result<> has no value and takes 16 bytes. Nothing throws. Threads: a value.
#pragma once

#include <allot/config.hpp>
#include <allot/device/error.hpp>

#include <type_traits>

namespace allot::inline ALLOT_ABI {
namespace device {

/// A value of T, or the error of the call.
template <class T = void> class [[nodiscard]] result {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    constexpr result(const T& value) noexcept : value_{value} {}
    constexpr result(const device::error& e) noexcept : error_{e} {}

    constexpr explicit operator bool() const noexcept { return error_.kind == failure::none; }
    /// Requires: the call succeeded; asserted.
    constexpr const T& operator*() const noexcept {
        ALLOT_ASSERT(error_.kind == failure::none, "a failed call has no value: test the result first");
        return value_;
    }
    constexpr const T* operator->() const noexcept { return &**this; }
    constexpr T value_or(const T& other) const noexcept { return *this ? value_ : other; }
    constexpr const device::error& error() const noexcept { return error_; }
    constexpr failure kind() const noexcept { return error_.kind; }

  private:
    T value_{};
    device::error error_{};
};

template <> class [[nodiscard]] result<void> {
  public:
    constexpr result() noexcept = default;
    constexpr result(const device::error& e) noexcept : error_{e} {}

    constexpr explicit operator bool() const noexcept { return error_.kind == failure::none; }
    constexpr const device::error& error() const noexcept { return error_; }
    constexpr failure kind() const noexcept { return error_.kind; }

  private:
    device::error error_{};
};

} // namespace device
} // namespace allot::inline ALLOT_ABI
