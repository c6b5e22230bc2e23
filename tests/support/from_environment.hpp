// Numbers that a person gives to a long test by environment variables.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace support {

inline std::uint64_t from_environment(const char* variable, std::uint64_t otherwise) {
    const char* const text = std::getenv(variable);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

// Whether ./run test runs it, which tells so: a long walk may take fewer steps there, with all in the full run and by
// hand.
inline bool in_short_run() {
    const char* const extent = std::getenv("ALLOT_TEST_EXTENT");
    return extent != nullptr && std::strcmp(extent, "short") == 0;
}

} // namespace support
