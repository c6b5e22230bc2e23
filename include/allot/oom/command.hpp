// A call of the machine as a value: what a log holds, and what replays it.
//
// Cost: 40 bytes. Threads: values.
#pragma once

#include <allot/config.hpp>
#include <allot/oom/machine.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace allot::inline ALLOT_ABI {
namespace oom {

enum class operation : std::uint8_t {
    add_task, // number, free: its priority
    end_task,
    add_thread, // detail: thread_kind
    forget_thread,
    cover, // detail: 1 while it is covered
    work_on,
    finish,
    add_resource,
    end_resource,
    hold,
    let_go,
    step,        // detail: event
    announce,    // detail: memory_kind
    fail,        // detail: 1 if a limit of its task alone refuses
    wait,        // detail: waits_for
    enter_scope, // detail: 1 if free memory is whole again
    bar,         // detail: 1 while it must not be rolled back
    leave_scope, // detail: 1 if its work is done
    freed,       // detail: memory_kind
    overdue,
    never_fits,
    take_refusal,
};

constexpr std::string_view text_of(operation o) noexcept {
    constexpr std::string_view texts[] = {"add_task",    "end_task",    "add_thread",   "forget_thread", "cover",
                                          "work_on",     "finish",      "add_resource", "end_resource",  "hold",
                                          "let_go",      "step",        "announce",     "fail",          "wait",
                                          "enter_scope", "bar",         "leave_scope",  "freed",         "overdue",
                                          "never_fits",  "take_refusal"};
    static_assert(std::size(texts) == static_cast<std::size_t>(operation::take_refusal) + 1);
    return texts[static_cast<std::size_t>(o)];
}

struct command {
    operation op = operation::step;
    std::uint8_t detail = 0;
    thread_id thread = no_id;
    std::uint32_t on = no_id; // a task or resource
    std::int64_t number = 0;
    std::uint64_t bytes = 0; // requested
    std::uint64_t free = 0;  // bytes that are free, where that is known; SIZE_MAX: not

    friend bool operator==(const command&, const command&) = default;
};

/// Applies a command. Returns: the id that was added; else 1 if something was done, 0 if not.
template <class Sink> std::uint32_t apply(machine& m, const command& c, Sink sink) {
    switch (c.op) {
    case operation::add_task: return m.add_task({c.number, c.free});
    case operation::end_task: return m.end_task(c.on, sink), 1;
    case operation::add_thread: return m.add_thread(static_cast<thread_kind>(c.detail), c.on);
    case operation::forget_thread: return m.forget_thread(c.thread), 1;
    case operation::cover: return m.cover(c.thread, c.detail != 0, sink), 1;
    case operation::work_on: return m.work_on(c.thread, c.on), 1;
    case operation::finish: return m.finish(c.thread, c.on, sink), 1;
    case operation::add_resource: return m.add_resource();
    case operation::end_resource: return m.end_resource(c.on), 1;
    case operation::hold: return m.hold(c.on, static_cast<task_id>(c.number), true, sink), 1;
    case operation::let_go: return m.hold(c.on, static_cast<task_id>(c.number), false, sink), 1;
    case operation::step: return m.step(c.thread, static_cast<event>(c.detail), sink);
    case operation::announce: return m.announce(c.thread, static_cast<memory_kind>(c.detail), c.bytes, sink);
    case operation::fail: return m.fail(c.thread, c.detail != 0, sink);
    case operation::wait: return m.wait(c.thread, static_cast<waits_for>(c.detail), c.on, sink), 1;
    case operation::enter_scope: return m.enter_scope(c.thread, c.detail != 0), 1;
    case operation::bar: return m.bar(c.thread, c.detail != 0), 1;
    case operation::leave_scope: return m.leave_scope(c.thread, c.detail != 0, c.free, sink), 1;
    case operation::freed: return m.freed(static_cast<memory_kind>(c.detail), c.free, sink), 1;
    case operation::overdue: return m.overdue(c.thread, sink), 1;
    case operation::never_fits: return m.never_fits(c.thread, sink), 1;
    case operation::take_refusal: return m.take_refusal(c.thread);
    }
    return 0;
}

} // namespace oom
} // namespace allot::inline ALLOT_ABI
