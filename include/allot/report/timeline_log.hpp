// Marks of a timeline from the log of an arbiter: waits, rollbacks, splits and refusals, as they happen.
//
//     allot::memory_timeline line;
//     allot::timeline_log marks{line};
//     allot::oom::arbiter tasks{{}, marks.sink()};
//
// An entry of the log goes on to a second sink, where one is given, so an event_log or a trace sees it as well.
// Cost: a comparison per entry; a clock and a mark for those that are marked. Allocates nothing.
// Threads: the arbiter calls it in its lock.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>
#include <allot/oom/event_log.hpp>
#include <allot/report/memory_timeline.hpp>
#include <allot/sys/clock.hpp>

#include <cstdint>

namespace allot::inline ALLOT_ABI {

/// Marks what a log says, at times of sys::fine_clock: give samples the same clock.
class timeline_log {
  public:
    /// Requires: `to`, and what `next` needs, outlive this object.
    explicit timeline_log(memory_timeline& to, oom::log_sink next = {}) noexcept : to_(to), next_(next) {}

    oom::log_sink sink() noexcept {
        return {[](void* self, const oom::log_entry& e) noexcept { static_cast<timeline_log*>(self)->add(e); }, this};
    }

  private:
    void add(const oom::log_entry& e) noexcept {
        if (e.is_change) {
            if (e.became.to == oom::thread_state::bufn_throw) mark(timeline_event::rollback, e);
            else if (e.became.to == oom::thread_state::split_throw) mark(timeline_event::split, e);
            else if (e.became.to == oom::thread_state::blocked) mark(timeline_event::wait, e);
            else if (e.became.by == oom::event::refused) mark(timeline_event::refusal, e);
        }
        if (next_.write != nullptr) next_.write(next_.context, e);
    }
    void mark(timeline_event kind, const oom::log_entry& e) noexcept {
        char text[32];
        text_writer out{text};
        out.put("thread ").number(e.became.thread);
        to_.mark(sys::fine_clock::now(), kind, out.view());
    }

    memory_timeline& to_;
    oom::log_sink next_;
};

} // namespace allot::inline ALLOT_ABI
