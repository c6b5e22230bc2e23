// Calls of a device that must succeed: device_error, must.
#pragma once
#include <allot/core/text.hpp>
#include <allot/device/error.hpp>
#include <allot/device/result.hpp>
#include <stdexcept>

namespace shared {

/// There is no such device, or one of its calls failed.
struct device_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Throws: device_error.
inline void must(const allot::device::result<>& done) {
    if (done) return;
    char text[256];
    allot::text_writer out{text};
    write(out, done.error());
    throw device_error(out.c_str());
}
/// Returns: the value of the call. Throws: device_error.
template <class T> T must(const allot::device::result<T>& got) {
    if (!got) must(allot::device::result<>{got.error()});
    return *got;
}

} // namespace shared
