// What others have freed since a request of this thread was refused last: news for a task that ran out of memory, also
// where it comes before the stack of its kernel has unwound, and its pins and its promise have ended.
//
//     detail::since_refusal others{engine, query};   // on the stack of the attempt
//     ... // the kernel throws
//     free = others.then(free);                      // without that
//
// Others: all that is charged and promised below the one account, but not below the other one. Bytes that they take
// count against those that they free; a raised limit counts as freed.
// Cost: 48 bytes; the tree's lock at each refused request of the thread. Threads: its own.
#pragma once

#include <allot/config.hpp>
#include <allot/core/min_max.hpp>
#include <allot/sys/thread_context.hpp>
#include <allot/tree/account_node.hpp>

#include <cstddef>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

class since_refusal {
  public:
    // Requires: `mine` is below `all`, in the same tree.
    since_refusal(const account_node& all, const account_node& mine) noexcept
        : all_(all), mine_(mine), outer_(std::exchange(of_this_thread.refusals, this)) {}
    since_refusal(const since_refusal&) = delete;
    since_refusal& operator=(const since_refusal&) = delete;
    ~since_refusal() { of_this_thread.refusals = outer_; }

    // A request of this thread is refused.
    static void note() noexcept {
        if (since_refusal* const mine = of_this_thread.refusals) mine->then_ = mine->now(), mine->any_ = true;
    }
    // `free`: bytes that the account has free now. Returns: as if others had freed none since.
    std::size_t then(std::size_t free) const noexcept {
        if (!any_) return free;
        const numbers is = now();
        const std::size_t freed = then_.others - min(then_.others, is.others),
                          more = is.limit - min(is.limit, then_.limit);
        return free - min(free, sum_or_max(freed, more));
    }

  private:
    struct numbers {
        std::size_t others = 0, limit = 0;
    };
    numbers now() const noexcept {
        const locked_tree scope(all_);
        const level_totals& all = all_.totals();
        return {all.total() - min(all.total(), mine_.totals().subtree_charge()), all.limit()};
    }

    const account_node &all_, &mine_;
    since_refusal* const outer_;
    numbers then_;
    bool any_ = false;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
