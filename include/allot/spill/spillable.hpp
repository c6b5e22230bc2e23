// The concept spillable: an input that can leave its memory while its owner waits, and come back.
//
// Cost: none. Threads: as the type says. Source: Spark-RAPIDS' SpillableHandle, 2024.
#pragma once

#include <allot/config.hpp>

#include <concepts>
#include <cstddef>

namespace allot::inline ALLOT_ABI {

/// - pin() brings the memory back, and returns what keeps it there until it ends. It may throw as an allocation does;
///   then the input is where it was.
/// - bytes(): what it needs while it is pinned.
/// - The destructor frees it, wherever it is.
template <class T>
concept spillable = std::movable<T> && requires(T& t, const T& c) {
    t.pin();
    { c.bytes() } -> std::convertible_to<std::size_t>;
};

} // namespace allot::inline ALLOT_ABI
