// The states of a thread that requests memory.
//
// Cost: 1 byte. Threads: values.
// Source: Spark-RAPIDS' SparkResourceAdaptor, 2022, whose names these are.
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace allot::inline ALLOT_ABI {
namespace oom {

enum class thread_state : std::uint8_t {
    unknown,      // works for no task
    running,      // has all that it requested
    alloc,        // a request was refused and is made again
    alloc_free,   // the same, and memory may have become free since
    blocked,      // sleeps until its request may fit
    bufn_throw,   // is to be rolled back: its request throws retry_out_of_memory
    bufn_wait,    // has thrown: it frees what it can
    bufn,         // rolled back: sleeps until others have made progress (blocked until further notice)
    split_throw,  // is to make its input smaller: it throws split_and_retry_out_of_memory
    remove_throw, // was removed while it slept: its request is refused for good
};
namespace detail {

inline constexpr std::size_t thread_states = 10;

} // namespace detail

constexpr std::string_view text_of(thread_state s) noexcept {
    constexpr std::string_view texts[] = {"unknown",    "running",   "alloc", "alloc_free",  "blocked",
                                          "bufn_throw", "bufn_wait", "bufn",  "split_throw", "remove_throw"};
    static_assert(std::size(texts) == detail::thread_states);
    return texts[static_cast<std::size_t>(s)];
}

} // namespace oom
} // namespace allot::inline ALLOT_ABI
