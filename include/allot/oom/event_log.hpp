// The log of an arbiter: each command with its sizes, and each change that followed, in one order.
//
//     allot::oom::event_log events{100'000};
//     allot::oom::arbiter tasks{{}, events.sink()};
//     ...
//     assert(events.check(tasks.rules()) == allot::oom::event_log::consistent); // every state again, from the log
//     alone
//
// It keeps the first `most` entries, and counts the others. An entry as a line of text:
//     12 failed 0 thread 3 on - number 0 bytes 4096 free -
//     12 > thread 3 alloc failed blocked
// Cost: 64 bytes an entry. Threads: the sink is called in the arbiter's lock; read when no thread uses the arbiter.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>
#include <allot/oom/machine.hpp>
#include <allot/request/command.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace allot::inline ALLOT_ABI {
namespace oom {

struct log_entry {
    std::uint64_t sequence = 0; // of commands; a change has that of its command
    bool is_change = false;
    command what;    // if it is none
    change became{}; // if it is one
};

ALLOT_OUTLINE void write(text_writer& out, const log_entry& e) noexcept {
    const auto id = [&](const char* name, std::uint64_t n, bool known) {
        out.put(' ').put(name).put(' ');
        if (known) out.number(n);
        else out.put('-');
    };
    out.number(e.sequence).put(' ');
    if (e.is_change) {
        out.put("> thread ").number(e.became.thread).put(' ').put(text_of(e.became.from)).put(' ');
        out.put(text_of(e.became.by)).put(' ').put(text_of(e.became.to));
        return;
    }
    out.put(text_of(e.what.what)).put(' ').number(e.what.detail);
    id("thread", e.what.thread, e.what.thread != no_id);
    id("on", e.what.on, e.what.on != no_id);
    out.put(" number ").put(e.what.number < 0 ? "-" : "");
    out.number(e.what.number < 0 ? -static_cast<std::uint64_t>(e.what.number)
                                 : static_cast<std::uint64_t>(e.what.number));
    id("bytes", e.what.bytes, true);
    id("free", e.what.free, e.what.free != SIZE_MAX);
}

/// Where an arbiter writes its log.
struct log_sink {
    void (*write)(void* context, const log_entry&) noexcept = nullptr;
    void* context = nullptr;
};

class event_log {
  public:
    static constexpr std::size_t consistent = SIZE_MAX;

    explicit event_log(std::size_t most) : most_(most) { entries_.reserve(most); }
    event_log(const event_log&) = delete;
    event_log& operator=(const event_log&) = delete;

    log_sink sink() noexcept {
        return {[](void* self, const log_entry& e) noexcept { static_cast<event_log*>(self)->add(e); }, this};
    }
    const std::vector<log_entry>& entries() const noexcept { return entries_; }
    std::uint64_t dropped() const noexcept { return dropped_; }

    /// Steps a new machine through the commands, and compares each change.
    /// Returns: the index of the first entry that does not follow from those before it; `consistent` if all do.
    std::size_t check(const rules& r) const { return replay(entries_, r, dropped_ != 0); }
    /// `is_cut`: others followed, so changes of the last command may be missing.
    ALLOT_OUTLINE static std::size_t replay(const std::vector<log_entry>& entries, const rules& r,
                                            bool is_cut = false) {
        machine m{r};
        std::vector<change> changes;
        std::size_t seen = 0;
        std::uint64_t last = 0;
        for (std::size_t i = 0; i != entries.size(); ++i) {
            const log_entry& e = entries[i];
            if (!e.is_change) {
                if (seen != changes.size() || e.sequence != last + 1 || !is_possible(m, e.what)) return i;
                last = e.sequence;
                changes.clear();
                seen = 0;
                m.apply(e.what, [&](const change& c) { changes.push_back(c); });
                if (!m.valid()) return i;
            } else if (e.sequence != last || seen == changes.size() || !(changes[seen++] == e.became)) {
                return i;
            }
        }
        return is_cut || seen == changes.size() ? consistent : entries.size() - 1;
    }

  private:
    // Whether a command that was read may come to the machine: its ids are known, and each value is in its range.
    ALLOT_OUTLINE static bool is_possible(const machine& m, const command& c) noexcept {
        const auto is_used = [](const auto& all, std::uint64_t id) { return id < all.size() && all[id].used; };
        const bool has_thread = is_used(m.threads(), c.thread), has_task = is_used(m.tasks(), c.on);
        const bool has_resource = is_used(m.resources(), c.on);
        const bool is_kind = c.detail <= static_cast<std::uint8_t>(memory_kind::device);
        switch (c.what) {
        case event::task_begun:
        case event::resource_begun: return true;
        case event::refunded:
        case event::held_outside: return is_kind;
        case event::returned: return is_kind && m.outside_of(static_cast<memory_kind>(c.detail)).held >= c.bytes;
        case event::started:
            return has_task && c.detail <= static_cast<std::uint8_t>(thread_kind::shuffle) &&
                   (c.number == 0 || is_used(m.threads(), static_cast<std::uint64_t>(c.number) - 1));
        case event::task_ended: return has_task;
        case event::removed: return has_thread || (c.thread == no_id && has_task);
        case event::joined:
        case event::left: return has_thread && has_task;
        case event::let_go:
        case event::resource_ended: return has_resource;
        case event::held:
            return has_resource && (c.thread == no_id || has_thread) &&
                   (c.number == no_id || is_used(m.tasks(), static_cast<std::uint64_t>(c.number)));
        case event::announced:
        case event::never_fits: return has_thread && is_kind;
        case event::waits:
            return has_thread && c.detail <= static_cast<std::uint8_t>(waits_for::resource) &&
                   (c.detail != static_cast<std::uint8_t>(waits_for::resource) || has_resource) &&
                   (c.detail != static_cast<std::uint8_t>(waits_for::task) || has_task);
        case event::scope_ended: return has_thread && m[c.thread].scopes != 0;
        case event::barred: return has_thread && (c.detail != 0 || m.owner_of(m[c.thread]).barred != 0);
        case event::failed:
            return has_thread && c.detail <= (detail::failed_by_own_limit | detail::failed_held_back) &&
                   ((c.detail & detail::failed_by_own_limit) == 0 ||
                    (m[c.thread].task != no_id && m[c.thread].others.empty()));
        default: return has_thread && static_cast<std::size_t>(c.what) < detail::all_events;
        }
    }
    void add(const log_entry& e) noexcept {
        if (entries_.size() == most_) ++dropped_;
        else entries_.push_back(e);
    }

    const std::size_t most_;
    std::uint64_t dropped_ = 0;
    std::vector<log_entry> entries_;
};

} // namespace oom
} // namespace allot::inline ALLOT_ABI
