// Why an arena refused pages: its limit, its address space, or the system's memory.
//
// Cost: set where a request is refused, nowhere else. Threads: a value.
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <string_view>

namespace allot::inline ALLOT_ABI {

/// The reason that an arena has no pages for a request.
enum class page_refusal : unsigned char {
    none,          // nothing was refused
    limit,         // the arena's own limit
    address_space, // no such run of free pages in the arena's range
    memory,        // the system refuses memory, or another mapping (vm.max_map_count)
};

/// The text for a reason, as in reports.
constexpr std::string_view text_of(page_refusal why) noexcept {
    constexpr std::string_view texts[] = {
        "nothing was refused",
        "the arena's limit",
        "address space, not memory: pass reserve_bytes for more",
        "memory of the system",
    };
    static_assert(std::size(texts) == static_cast<std::size_t>(page_refusal::memory) + 1);
    return texts[static_cast<std::size_t>(why)];
}

} // namespace allot::inline ALLOT_ABI
