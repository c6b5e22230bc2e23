// Whether a stored buffer has these bytes.
#pragma once

#include <allot/spill/stored_buffer.hpp>

#include <cstddef>

namespace support {

inline bool holds(const allot::stored<allot::buffer>& b, int with) {
    const auto data = b.pin();
    for (const std::byte x : data->bytes())
        if (x != static_cast<std::byte>(with)) return false;
    return data->size() == b.bytes();
}

} // namespace support
