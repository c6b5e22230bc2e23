// The place of a task among others: for the arbiter, which wakes and rolls back in this order, and for stores.
//
// Cost: 16 bytes. Threads: values.
#pragma once

#include <allot/config.hpp>

#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace oom {

/// The place of a task: a larger number is first, then the task that came first.
struct priority {
    std::int64_t number = 0; // of the query or tenant; the user's
    std::uint64_t order = 0; // of arrival; or of the task's id, by the document's rule

    friend constexpr bool operator==(const priority&, const priority&) = default;
};

/// The only comparator of priorities: whether `a` is first.
constexpr bool is_before(const priority& a, const priority& b) noexcept {
    return a.number != b.number ? a.number > b.number : a.order < b.order;
}

} // namespace oom
} // namespace allot::inline ALLOT_ABI
