// The kind of memory that a request is for.
//
// Cost: 1 byte. Threads: values.
#pragma once

#include <allot/config.hpp>

#include <cstdint>

namespace allot::inline ALLOT_ABI {

enum class memory_kind : std::uint8_t { host, device };

constexpr const char* text_of(memory_kind k) noexcept { return k == memory_kind::host ? "host" : "device"; }

} // namespace allot::inline ALLOT_ABI
