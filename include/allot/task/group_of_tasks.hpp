// A group of tasks, as the executor sees it; and those that are called when it is cancelled, or fails.
//
// Cost: 2 KiB. Threads: the executor's lock guards the members, but for the account and the watches.
#pragma once

#include <allot/account/account.hpp>
#include <allot/config.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/core/min_max.hpp>
#include <allot/oom/arbiter.hpp>
#include <allot/oom/task.hpp>
#include <allot/sync/called_objects.hpp>
#include <allot/task/queued_task.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>

namespace allot::inline ALLOT_ABI {
namespace detail {

// An object that is called when a group was cancelled, or has failed.
class group_watch {
  public:
    virtual void cancelled() noexcept = 0;

  protected:
    ~group_watch() = default;

  private:
    friend struct group_of_tasks;
    called_hook<group_watch> place_;
};

// A group, as the executor sees it.
struct group_of_tasks {
    group_of_tasks(oom::arbiter& tasks, account& parent, allot::name called, std::int64_t order)
        : name(called.text), number(order), memory(parent, called), task(tasks, called.text, order, &memory) {}

    static constexpr unsigned most_doubled = 4, forgets = 32;
    const char* const name;
    const std::int64_t number;
    account memory;
    oom::task task;
    intrusive_list<queued_task, &queued_task::place_in_group> unfinished;
    std::size_t count = 0; // of them
    // Times that estimates are doubled, since tasks ran out of memory; one less after each `forgets` that did not.
    std::atomic<unsigned> doubled{0};
    unsigned ended_well = 0;
    // Since a task of it ended well: the bytes that an attempt alone needed beyond what was free, at least, 0: none ran
    // out; such attempts without news, and all; and when the group has waited for news long enough, 0: it does not
    // wait.
    std::size_t least = 0;
    std::atomic<unsigned> in_vain{0}, alone{0};
    std::uint64_t waits_until = 0;
    // An attempt alone ran out, behind which as many bytes are free.
    void note_in_vain(std::size_t here) noexcept {
        in_vain = least == 0 || here >= least ? 1 : in_vain + 1; // there was news
        least = here + 1;
        ++alone;
    }
    // What its tasks free themselves in accounts of others is taken for news, so these attempts have an end, too.
    static constexpr unsigned for_news = 3;
    bool is_last(unsigned most) const noexcept { return in_vain + 1 == most || (alone + 1) / for_news == most; }
    unsigned attempts(bool may_wait) const noexcept { return max(may_wait ? 0 : in_vain.load(), alone / for_news); }
    void note_ended_well() noexcept { least = 0, in_vain = 0, alone = 0, waits_until = 0; }
    bool is_cancelled = false;
    called_objects<group_watch, &group_watch::place_> watches;
    std::exception_ptr error; // the first one
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
