// What an account adds to the ladder (ladder.hpp): idle memory of other objects, reclaimers, the wait.
//
// Each function does one thing and keeps its place, so that the request is made in between: what is freed is measured
// by the next attempt, never summed up. Each reclaimer gets what is missing now.
//   idle memory   each object at and below the level once; again while something was freed
//   reclaimers    one sweep of a tree at a time: lowest cost first, the same cost in turn; again while something was
//                 freed; last the critical pass. Threads that fail together cause one sweep: the others wait for it,
//                 and try again. A thread that is inside a call of a user's code never waits for a sweep.
//   wait          account_waiting.hpp
// Invariant: `at_` is what refused the last attempt, and may ever grant it; null: a step here cannot help.
// Cost: 400 bytes of stack, after a refusal. Threads: the request's own.
// Source: HPCC roxiemem's releaseBuffers, 2011: one spill per shortage.
#pragma once

#include <allot/account/account_node.hpp>
#include <allot/account/account_waiting.hpp>
#include <allot/account/ladder.hpp>
#include <allot/account/memory_request.hpp>
#include <allot/account/reclaimers.hpp>
#include <allot/core/min_max.hpp>
#include <allot/reclaim/cost_cap.hpp>
#include <allot/sys/thread_context.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

// Counts a request that the account refused.
ALLOT_COLD inline void count_refused(const account_node& a) noexcept {
    const locked_tree scope(a);
    a.totals().count_refusal();
}

class account_steps {
  public:
    static constexpr bool any = true;

    // `own`: the idle memory of the object that asks, which has returned it already; null: none.
    account_steps(const account_node& by, std::uint32_t most_cost, const reclaimer* own = nullptr) noexcept
        : by_(by), own_(own), most_cost_(min(most_cost, cost_cap::now())) {}
    account_steps(const account_steps&) = delete;
    account_steps& operator=(const account_steps&) = delete;
    ~account_steps() { end_sweep(); }

    // It charges this account alone, and counts where it is refused. Unless it is due, another request must be granted
    // first: then it begins with its wait.
    void counts_refusals(bool is_due) noexcept { counts_ = true, takes_steps_below_ = attempt_made_ = is_due; }
    // Its attempts take the steps below the wait by themselves.
    void waits_only() noexcept { takes_steps_below_ = takes_them_after_a_wait_ = false; }

    // Of an arena that refuses only during a sweep: else the product asks the arena's own tenants (page_steps.hpp).
    climbed ask_tenants(const memory_request& asked) noexcept {
        while (takes_steps_below_ && follow_refuser(asked, sweeps_ != nullptr)) {
            if (!idle_) begin(idle_, idle_pass_);
            reclaimer* const it = idle_->next([&](const reclaimer& r) { return wanted(r, asked, reclaimer::idle); });
            if (it != nullptr) {
                if (call(*it, asked, idle_pass_)) return climbed::served;
            } else if (!begins_again(idle_, idle_pass_)) {
                break;
            }
        }
        return climbed::moved_on;
    }
    climbed call_reclaimers(memory_request& asked) noexcept {
        credit_called(asked);
        if (!may_sweep(asked)) return end_sweep(), climbed::moved_on;
        if (sweeps_ == nullptr) {
            bool waited = false;
            if (!at_->tree().reclaimers.begin_sweep(waited)) return climbed::moved_on;
            sweeps_ = &at_->tree();
            if (waited) return climbed::served; // another thread's sweep, which may have freed enough
        }
        while (follow_refuser(asked, true)) {
            if (!costly_) begin(costly_, costly_pass_);
            called_ = costly_->next([&](const reclaimer& r) { return wanted(r, asked, most_cost_); });
            if (called_ != nullptr) {
                if (call(*called_, asked, costly_pass_)) return climbed::served;
            } else if (!begins_again(costly_, costly_pass_) || critical_) {
                if (std::exchange(critical_, true)) break; // else one pass more, the last
            }
        }
        end_sweep();
        return climbed::moved_on;
    }
    climbed wait(memory_request& asked) noexcept {
        end_sweep();
        levels_ = 0;
        if (counts_ && std::exchange(attempt_made_, true) && asked.why.outcome == charge_outcome::over_limit)
            count_refused(*refuser_in(asked.why));
        takes_steps_below_ = takes_them_after_a_wait_;
        return waits_.wait(by_, asked);
    }
    void granted(memory_request& asked) noexcept {
        credit_called(asked);
        if (called_ != nullptr) at_->tree().reclaimers.put_behind_equals(*called_, at_->shape());
        waits_.granted();
    }

  private:
    bool may_sweep(const memory_request& asked) noexcept {
        return takes_steps_below_ && most_cost_ != reclaimer::idle && follow_refuser(asked, true) &&
               at_->tree().reclaimers.any_costly();
    }
    // The calls of all that may help, in order, until one of them ends the shortage.
    struct pass {
        std::size_t used_before = 0;
        bool freed = false;
        unsigned in_vain = 0; // passes after which others had taken what was freed
    };
    static constexpr unsigned most_in_vain = 8, most_levels = 16;
    using walk = std::optional<reclaimers::walk>;

    // Begins at what refused now, if that is another level than before. False: memory of accounts cannot help.
    // `with_arena`: also where an arena refuses, by that of the whole tree.
    // A request takes these steps at no more than 16 levels before it waits or is refused: two levels whose memory
    // others take again could refuse it in turn for ever.
    bool follow_refuser(const memory_request& asked, bool with_arena) noexcept {
        const account_node* const now = helped_by(asked.why, with_arena);
        if (now != at_) {
            end_sweep();
            idle_.reset();
            idle_pass_ = {};
            at_ = now;
            levels_ += now != nullptr;
        }
        return now != nullptr && levels_ <= most_levels;
    }
    // The level whose tenants and reclaimers may help; null: none.
    const account_node* helped_by(const charge_status& why, bool with_arena) const noexcept {
        if (why.outcome != charge_outcome::over_limit) return nullptr;
        if (why.by == refuser::arena) return with_arena && why.requested <= why.limit ? &by_.root() : nullptr;
        if (why.by != refuser::account || refuser_in(why)->tree().reclaimers.empty()) return nullptr;
        const account_node& at = *refuser_in(why);
        const locked_tree scope(at, leave_drained);
        return at.can_ever_fit(why.requested) ? &at : nullptr;
    }
    // Under the mutex of the tree's shape.
    walk_step wanted(const reclaimer& r, const memory_request& asked, std::uint32_t most) const noexcept {
        const bool idle = most == reclaimer::idle;
        if (r.cost() > most) return walk_step::end;
        const bool is_asked =
            (r.cost() == reclaimer::idle) == idle && &r != own_ && node_of(reclaimers::home_of(r)).is_below(*at_);
        return is_asked && r.helps(shortage_of(asked)) ? walk_step::call : walk_step::skip;
    }
    shortage shortage_of(const memory_request& asked) const noexcept {
        return {.why = asked.why,
                .most_cost = most_cost_,
                .critical = critical_,
                .waits = of_this_thread.trying != nullptr};
    }
    void begin(walk& w, pass& p) const noexcept {
        w.emplace(at_->tree().reclaimers, at_->shape());
        p.used_before = used(*at_);
        p.freed = false;
    }
    // Ends the pass. Whether to make another: something was freed, and others have not taken all of it, too often.
    bool begins_again(walk& w, pass& p) const noexcept {
        w.reset();
        return p.freed && (used(*at_) < p.used_before || ++p.in_vain < most_in_vain);
    }
    // Whether it freed something. What idle memory returns after a costlier call counts for that call.
    bool call(reclaimer& it, const memory_request& asked, pass& p) const noexcept {
        const std::size_t before = used(*at_);
        const bool some = reclaimers::call(it, shortage_of(asked));
        const std::size_t after = used(*at_);
        if (after < before) reclaimers::credit(called_ != nullptr ? *called_ : it, before - after);
        p.freed = p.freed || some || after < before;
        return some || after < before;
    }
    // What it left idle in the object that asks has returned to the system in an attempt.
    void credit_called(memory_request& asked) const noexcept {
        const std::size_t bytes = std::exchange(asked.returned, 0);
        if (called_ != nullptr && bytes != 0) reclaimers::credit(*called_, bytes);
    }
    void end_sweep() noexcept {
        costly_.reset();
        called_ = nullptr;
        costly_pass_ = {};
        critical_ = false;
        if (account_tree* const swept = std::exchange(sweeps_, nullptr)) swept->reclaimers.end_sweep();
    }

    const account_node& by_;
    const reclaimer* const own_;
    const std::uint32_t most_cost_;
    const account_node* at_ = nullptr;
    unsigned levels_ = 0; // that refused since the last wait
    walk idle_, costly_;
    pass idle_pass_, costly_pass_;
    reclaimer* called_ = nullptr; // of a cost, whose call lasts until the next one
    bool critical_ = false;
    bool takes_steps_below_ = true; // those below the wait, now; after each wait:
    bool takes_them_after_a_wait_ = true;
    bool counts_ = false;      // refusals, at the account that refused last
    bool attempt_made_ = true; // since the last wait; unless a request that is due came first
    account_tree* sweeps_ = nullptr;
    wait_step waits_;
};

// Makes a request again that was refused, as `asked.why` says, step by step; attempt() sets `asked.why`. Returns:
// whether it was granted. Requires: the thread holds no lock of allot.
template <class Attempt> bool request_again(const account_node& by, memory_request& asked, Attempt attempt) noexcept {
    no_own_steps none;
    account_steps level{by, reclaimer::any};
    return climb(asked, none, level, attempt);
}
// The same for a charge: counts its refusals. Unless it `is_due`, another request must be granted first.
template <class Attempt>
void charge_again(const account_node& by, memory_request& asked, Attempt attempt, bool is_due = true) noexcept {
    no_own_steps none;
    account_steps level{by, reclaimer::any};
    level.counts_refusals(is_due);
    static_cast<void>(climb(asked, none, level, attempt));
}
// The same for a request whose attempts climb by themselves: it only waits between them.
template <class Attempt> bool wait_for(const account_node& by, memory_request& asked, Attempt attempt) noexcept {
    no_own_steps none;
    account_steps level{by, reclaimer::idle};
    level.waits_only();
    return climb(asked, none, level, attempt);
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
