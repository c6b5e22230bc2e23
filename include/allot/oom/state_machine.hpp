// oom::state_machine: a request that an account refuses waits, and may be rolled back, by the arbiter of its root.
//
// A product reads `waits`, and climbs the ladder (request/ladder.hpp).
// Source: Spark-RAPIDS' SparkResourceAdaptor, 2022.
#pragma once

#include <allot/core/category/oom.hpp>
#include <allot/core/property.hpp>
#include <allot/oom/arbiter.hpp>
#include <allot/oom/task.hpp>

#include <string_view>

namespace allot::inline ALLOT_ABI {

namespace oom {

/// On a thread of a task, a request waits for memory; it throws retry_out_of_memory, split_and_retry_out_of_memory or
/// task_removed as the arbiter decides. On other threads, and without an arbiter, it throws out_of_memory.
struct state_machine {
    using category = category::oom;
    using needs = types<property::accounts>;
    using provides = types<>;
    static constexpr bool raises = true;
    static constexpr bool waits = true;
    static constexpr std::string_view about =
        "the request waits, and is rolled back or split by the arbiter (docs/oom.md)";
    static constexpr std::string_view cost = "0 until then";
};

static_assert(category::oom::takes<state_machine>);

} // namespace oom

} // namespace allot::inline ALLOT_ABI
