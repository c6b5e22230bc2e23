// The OOM state machine for tests: tasks of some threads, and what was decided after each event, as text.
#pragma once

#include <support/catch.hpp>

#include <allot/oom/machine.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace support {

using namespace allot::oom;
using allot::memory_kind;

struct tasks_of {
    machine all;
    std::string decisions;
    std::vector<task_id> tasks;

    explicit tasks_of(const rules& r = rules{.rolled_back_wakes = wakes::at_scope_end}) : all(r) {}
    // Tasks of one dedicated thread each, in retry scopes: thread n works for task n.
    explicit tasks_of(unsigned n, const rules& r = rules{.rolled_back_wakes = wakes::at_scope_end}) : all(r) {
        for (unsigned i = 0; i != n; ++i) add_thread(add_task());
    }
    auto sink() {
        return [this](const change& c) {
            if (c.by < event::woken) return;
            decisions += (decisions.empty() ? "" : ", ") + std::to_string(c.thread) + " " + std::string(text_of(c.by));
        };
    }
    task_id add_task(std::int64_t number = 0) {
        tasks.push_back(all.add_task({number, tasks.size()}));
        return tasks.back();
    }
    thread_id add_thread(task_id of, thread_kind kind = thread_kind::dedicated, bool in_scope = true) {
        const thread_id id = all.add_thread(kind, of);
        if (in_scope) all.enter_scope(id);
        return id;
    }
    // What was decided since the last call.
    std::string decided() {
        CHECK(all.valid());
        return std::exchange(decisions, {});
    }
    std::string fails(thread_id t, std::size_t bytes = 1, memory_kind kind = memory_kind::host,
                      std::int64_t share = 0) {
        CHECK(all.announce(t, kind, bytes, sink()));
        CHECK(all.fail(t, 0, sink(), 0, 0, share));
        return decided();
    }
    std::string step(thread_id t, event e) {
        CHECK(all.step(t, e, sink()));
        return decided();
    }
    // It is rolled back: throws, frees, and sleeps.
    std::string sleeps(thread_id t) {
        CHECK(step(t, event::thrown) == "");
        return step(t, event::ready);
    }
    std::string leaves(thread_id t, bool done = true, std::size_t free = SIZE_MAX) {
        all.leave_scope(t, done, free, sink());
        return decided();
    }
    std::string finishes(thread_id t, std::size_t free = SIZE_MAX) {
        const std::string then = leaves(t, true, free);
        all.enter_scope(t);
        return then;
    }
    std::string waits(thread_id t, waits_for what, std::uint32_t on = no_id) {
        all.wait(t, what, on, sink());
        return decided();
    }
    std::string overdue(thread_id t) { return all.overdue(t, sink()), decided(); }
    std::string ends(thread_id t) { // and its task
        const task_id of = all[t].task;
        all.end_thread(t, sink());
        all.end_task(of, sink());
        return decided();
    }
    thread_state operator[](thread_id t) const { return all[t].state; }
};

} // namespace support
