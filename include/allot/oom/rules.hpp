// The rules by which the machine decides: whose task is first, when a task counts as blocked, who splits, who is woken.
//
// Spark-RAPIDS' document and its code differ in three of them; the values are named after who has the rule. What each
// costs, and where one makes no progress, is in docs/oom.md; tests/model/oom.cpp has the cases.
// Cost: values. Threads: values.
#pragma once

#include <allot/config.hpp>
#include <allot/core/units.hpp>
#include <allot/request/priority.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace allot::inline ALLOT_ABI {
namespace oom {

/// Which of several rolled back threads makes its input smaller.
enum class splits : std::uint8_t {
    highest, // the code's; that task ends first, and all others have its memory then
    lowest,  // the document's
};

/// Which event wakes threads that are rolled back.
enum class wakes : std::uint8_t {
    at_task_end,  // when no thread waits for memory, and a task ends, or, if it has an account, has finished a part of
                  // its work or begins to wait outside: the first that fit, see all_are_woken
    at_scope_end, // also the first that may fit, when another thread has finished a part of its work
    at_free,      // the document's: the first, whenever memory becomes free; makes no progress in some cases
};

/// When a task with several dedicated threads counts as blocked.
enum class blocks : std::uint8_t {
    any, // the document's: one of them is
    all,
};

struct rules {
    splits first_to_split = splits::highest;
    wakes rolled_back_wakes = wakes::at_task_end;
    blocks task_is_blocked = blocks::any;
    /// Whether the last thread that waits tries once more before it is rolled back, and a thread before it splits,
    /// while all others are rolled back. The code has the first; the document neither.
    bool tries_alone = true;
    /// Whether the end of a task wakes all that are rolled back, as in the code: most are rolled back again then, so
    /// the work that N tasks redo grows with their square. Else those that fit beside what the others keep, or had and
    /// requested when they were refused.
    bool all_are_woken = false;
    /// Rollbacks and splits of a thread since it last finished a part of its work, before its request is refused for
    /// good. The code counts them over the thread's whole life.
    std::uint32_t most_attempts = 500;
    /// How long a decision is put off, once until a part of some work is finished, where bytes that no task holds would
    /// serve the first request that waits; 0: not at all. The default is longer than most reads of a disk or network
    /// that such bytes are held for, and shorter than most work that a rollback would redo.
    time_span unknown_holders_wait{100};
};

} // namespace oom
} // namespace allot::inline ALLOT_ABI
