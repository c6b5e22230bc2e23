// The out_of_memory of an adapter, with the reason of what it adapts.
//
// Cost: none but where a request fails. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/raise_refused.hpp>
#include <allot/core/text.hpp>

#include <cstddef>
#include <string_view>

namespace allot::inline ALLOT_ABI {
namespace detail {

/// Raises an out_of_memory of one line: "allot: out of memory: 64 MiB refused by std::pmr: over the limit: ..".
[[noreturn]] ALLOT_COLD inline void raise_refused(std::string_view by, std::size_t bytes, const charge_status& why) {
    const auto request = [&](text_writer& out) { out.put("out of memory: ").bytes(bytes); };
    raise_refused(request, by, "", why, bytes, [](text_writer&) {});
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
