// How a planned situation of tasks is run, and what its run comes to (model/oom_situation.hpp).
#pragma once

#include <allot/oom/rules.hpp>
#include <allot/oom/task_record.hpp>
#include <allot/oom/thread_state.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>

namespace support {

namespace oom = allot::oom;

struct misbehaved : std::runtime_error {
    using runtime_error::runtime_error;
};
// The run is over, though it has not ended.
struct abandoned : std::exception {};

struct policy {
    oom::rules rules{};
    bool restarts = false; // no rollbacks and splits: a task that is refused begins again when another ends
    std::uint64_t most_steps = UINT64_MAX;
};

// What a run came to.
struct outcome {
    std::string wrong; // the first violation
    std::uint64_t done = 0, lost = 0, steps = 0, trace = 0;
    bool ended = true;
    std::size_t finished = 0, refused = 0, removed = 0, misbehaved = 0; // threads
    oom::task_stats stats;
    std::array<bool, oom::detail::thread_states> killed_in{};
    std::string log;
};

} // namespace support
