// Numbers that a person gives to a long test by environment variables.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace support {

inline std::uint64_t from_environment(const char* variable, std::uint64_t otherwise) {
    const char* const text = std::getenv(variable);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

} // namespace support
