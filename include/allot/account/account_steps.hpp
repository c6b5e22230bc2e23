// What an account adds to the ladder (ladder.hpp): idle memory of other objects, reclaimers, the wait.
//
// Each function does one thing and keeps its place, so that the request is made in between: what is freed is measured
// by the next attempt, never summed up. Each reclaimer gets what is missing now.
//   idle memory   each object at and below the level once; again while something was freed
//   reclaimers    one sweep of a level at a time: lowest cost first, the same cost in turn; again while something was
//                 freed; last the critical pass. Threads that fail together cause one sweep: the others wait for it, as
//                 long as they may, and try again. A thread that is inside a call of a user's code never waits for one.
//   wait          account_waiting.hpp
// What a level has to have returned ahead (free_ahead.hpp) takes the same steps, but waits for nobody.
// Invariant: `at_` is what refused the last attempt, and may ever grant it; null: a step here cannot help.
// Cost: 1,088 bytes of stack, the waiter in it, after a refusal. Threads: the request's own.
// Source: HPCC roxiemem's releaseBuffers, 2011: one spill per shortage.
#pragma once

#include <allot/account/account_waiting.hpp>
#include <allot/account/since_refusal.hpp>
#include <allot/config.hpp>
#include <allot/core/min_max.hpp>
#include <allot/reclaim/cost_cap.hpp>
#include <allot/reclaim/user_call.hpp>
#include <allot/request/judge.hpp>
#include <allot/request/ladder.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/request/reclaimers.hpp>
#include <allot/sys/thread_context.hpp>
#include <allot/tree/account_node.hpp>

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

// What a climb asks for that no request is refused (free_ahead.hpp).
struct ahead_goal {
    bool for_queued = false;     // for a reservation that waits without a thread; false: for a watermark
    std::uint32_t most_cost = 0; // of the reclaimers that are called
    const reclaimer* called_elsewhere = nullptr; // one that may help, by another sweep
};

class account_steps {
  public:
    static constexpr bool any = true;

    // `own`: the idle memory of the object that asks, which has returned it already; null: none.
    ALLOT_OUTLINE_WARM account_steps(const account_node& by, std::uint32_t most_cost,
                                     const reclaimer* own = nullptr) noexcept
        : by_(by), own_(own), most_cost_(min(most_cost, cost_cap::now())) {
        ++of_this_thread.ladders;
    }
    account_steps(const account_steps&) = delete;
    account_steps& operator=(const account_steps&) = delete;
    ALLOT_OUTLINE_WARM ~account_steps() {
        end_sweep();
        idle_.reset();
        --of_this_thread.ladders;
    }

    // For what is asked ahead. False: another sweep runs there.
    bool begin_sweep(const account_node& at, ahead_goal& goal) noexcept {
        at_ = &at;
        ahead_ = &goal;
        return sweeps_ = at.tree().reclaimers.begin_sweep(sweep_, at, at.shape()) == reclaimers::beginning::begun;
    }

    // Of what is no account only during a sweep: else the product asks the arena's own tenants (page_steps.hpp).
    ALLOT_OUTLINE_WARM climbed ask_tenants(const memory_request& asked) noexcept {
        while (follow_refuser(asked, costly_.has_value())) {
            if (!idle_) idle_.emplace(*at_), begin(idle_pass_);
            const shortage s = shortage_of(asked);
            reclaimer* const it = idle_->all.next([&](const reclaimer& r) { return wanted(r, s, reclaimer::idle); });
            if (it != nullptr) {
                if (call(*it, s, idle_pass_)) return climbed::served;
                continue;
            }
            const bool missed = idle_->news.any();
            idle_.reset();
            if (!begins_again(idle_pass_, missed))
                return others_refunded(asked, idle_pass_) ? climbed::served : climbed::moved_on;
        }
        return climbed::moved_on;
    }
    ALLOT_OUTLINE_WARM climbed call_reclaimers(memory_request& asked) noexcept {
        credit_called(asked);
        swept so_far = may_sweep(asked) ? swept::goes_on : swept::done;
        while (so_far == swept::goes_on && !waits_.is_over(asked)) {
            so_far = begin_sweep_or_wait(asked);
            if (so_far == swept::goes_on) so_far = call_next(asked);
        }
        if (so_far == swept::served) return climbed::served;
        return end_sweep(), climbed::moved_on;
    }
    ALLOT_OUTLINE_WARM climbed wait(memory_request& asked) noexcept {
        end_sweep();
        if (ahead_ != nullptr) return climbed::moved_on;
        idle_.reset(); // a call lasts until the next one
        levels_ = 0;
        if (asked.of_charge && asked.why.outcome == charge_outcome::over_limit) count_refused(*refuser_in(asked.why));
        const climbed r = waits_.wait(by_, asked);
        if (r != climbed::served) since_refusal::note();
        return r;
    }
    ALLOT_OUTLINE_WARM void granted(memory_request& asked) noexcept {
        credit_called(asked);
        if (called_ != nullptr && ahead_ == nullptr) at_->tree().reclaimers.put_behind_equals(*called_, at_->shape());
        waits_.granted();
    }

  private:
    bool may_sweep(const memory_request& asked) noexcept {
        return most_cost_ != reclaimer::idle &&
               waiting_request::waits_at(by_, asked.why).tree().reclaimers.any_costly() && follow_refuser(asked, true);
    }
    // What a part of a sweep has done; served: the request is to be made again.
    enum class swept : std::uint8_t { goes_on, served, done };

    // Waits for the end of another thread's sweep, which may have freed enough; not inside a call, of its own one too.
    swept begin_sweep_or_wait(const memory_request& asked) noexcept {
        if (sweeps_) return swept::goes_on;
        if (ahead_ != nullptr) return swept::done; // others have gone on
        reclaimers& all = at_->tree().reclaimers;
        const reclaimers::beginning how = all.begin_sweep(sweep_, *at_, at_->shape());
        sweeps_ = how == reclaimers::beginning::begun;
        if (sweeps_) return swept::goes_on;
        const bool has_ended = how == reclaimers::beginning::other_runs && !user_call::is_inside_any() &&
                               all.wait_for_sweep(*at_, at_->shape(), waits_.end_of(asked), cancelled_by(asked.wait));
        return has_ended ? swept::served : swept::done;
    }
    // Calls the next reclaimer that may help.
    swept call_next(const memory_request& asked) noexcept {
        reclaimers& all = at_->tree().reclaimers;
        if (!costly_) {
            costly_.emplace(all, at_->shape());
            begin(costly_pass_);
            coming_ = may_wait_for_it(asked) ? coming_below() : 0;
        }
        shortage s = shortage_of(asked);
        s.leave = &let_others_go_on, s.sweep = this;
        s.in_vain = costly_pass_.in_vain;
        if (coming_ != 0 && s.missing() == 0) return swept::done; // the next step waits for what is coming
        called_ = costly_->next([&](const reclaimer& r) { return wanted(r, s, s.most_cost); });
        if (called_ == nullptr) return end_pass(asked);
        const std::size_t before = called_->coming();
        const bool some = call(*called_, s, costly_pass_);
        const std::size_t now = called_->coming();
        coming_ += now > before && may_wait_for_it(asked) ? now - before : 0;
        const bool others_go_on = sweep_.at == nullptr; // the call let them
        if (others_go_on) leave_sweep();
        else all.end_call(*called_, at_->shape());
        return some ? swept::served : swept::goes_on;
    }
    // All have been called. Another pass follows one that freed something; the last one is critical.
    swept end_pass(const memory_request& asked) noexcept {
        if (waits_for_call(asked)) return swept::served;
        if (is_for_watermark()) return swept::done; // one pass
        costly_.reset();
        if (begins_again(costly_pass_, false) && !critical_) return swept::goes_on;
        if (!std::exchange(critical_, true)) return swept::goes_on;
        return waits_for_call_beside(asked) ? swept::served : swept::done;
    }
    // The calls of all that may help, in order, until one of them ends the shortage.
    struct pass {
        std::size_t used_before = 0;
        bool freed = false;
        unsigned in_vain = 0; // passes after which others had taken what was freed, or that missed what became idle
    };
    struct idle_walk {
        explicit idle_walk(const account_node& at) noexcept
            : news(at.tree().frees), all(at.tree().reclaimers, at.shape()) {}
        free_news::pass news; // of idle memory that an object has got since it was asked
        reclaimers::walk all;
    };
    static constexpr unsigned most_levels = 16;
    // Ahead, what is freed goes to reservations in the queue, one after the other.
    unsigned most_in_vain() const noexcept { return ahead_ != nullptr ? 64 : 8; }

    // Begins at what refused now, if that is another level than before. False: memory of accounts cannot help.
    // `with_arena`: also where no account refuses, by that of the whole tree: its accounts may hold pages of that
    // arena, blocks of that pool, or memory of that device. A request takes these steps at no more than 16 levels
    // before it waits or is refused: two levels whose memory others take again could refuse it in turn for ever.
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
    const account_node* helped_by(const charge_status& why, bool with_arena) noexcept {
        owed_ = 0;
        if (!waiting_request::may_be_granted_later(why)) return nullptr;
        if (why.by != refuser::account) {
            const bool helps = with_arena || why.outcome == charge_outcome::no_memory;
            return helps && why.requested <= why.limit && !by_.tree().reclaimers.empty() ? &by_.root() : nullptr;
        }
        if (refuser_in(why)->tree().reclaimers.empty()) return nullptr;
        const account_node& at = *refuser_in(why);
        const locked_tree scope(at);
        owed_ = at.tree().owed_below(at);
        return at.can_ever_fit(why.requested) ? &at : nullptr;
    }
    // Under the mutex of the tree's shape.
    walk_step wanted(const reclaimer& r, const shortage& s, std::uint32_t most) noexcept {
        const bool idle = most == reclaimer::idle;
        if (r.cost() > most) return walk_step::end;
        const bool may_help =
            (r.cost() == reclaimer::idle) == idle && &r != own_ && (!idle || r.helps(s)); // it may rest
        if (!may_help || !is_asked_at(*at_, r, reclaimers::home_of(r))) return walk_step::skip;
        if ((!idle && !r.helps(s)) || (&r == claims_ && claimed_ > most_in_vain())) return walk_step::skip;
        if (idle && s.ahead && &reclaimers::home_of(r) == s.requester) return walk_step::skip; // it keeps its own
        if (!idle && !reclaimers::begin_call(r)) return called_elsewhere_ = &r, walk_step::skip;
        return walk_step::call;
    }
    bool is_for_watermark() const noexcept { return ahead_ != nullptr && !ahead_->for_queued; }
    shortage shortage_of(const memory_request& asked) const noexcept {
        const bool for_queued = ahead_ != nullptr && ahead_->for_queued; // whose own account may end
        judged_thread* const mine = for_queued ? nullptr : judged_thread_of(by_);
        return {.why = asked.why,
                .most_cost = ahead_ != nullptr ? ahead_->most_cost : most_cost_,
                .critical = critical_,
                .waits = of_this_thread.trying != nullptr,
                .coming = coming_,
                .owed = owed_,
                .requester = for_queued ? &at_->face : &by_.face,
                .task = mine != nullptr ? mine->now().task : oom::no_id,
                .ahead = is_for_watermark()};
    }
    bool may_wait_for_it(const memory_request& asked) const noexcept {
        return ahead_ != nullptr ||
               (!user_call::is_inside_any() && ((asked.wait != nullptr && asked.wait->most.ms != 0) ||
                                                (asked.judged && judged_thread_of(by_) != nullptr)));
    }
    std::size_t coming_below() const noexcept {
        return at_->tree().reclaimers.coming(
            at_->shape(), [&](const reclaimer& r, const account& home) { return is_asked_at(*at_, r, home); });
    }
    // Another sweep calls a reclaimer that may help. True: it has slept until that call ended. False: there is none, or
    // it is not waited for.
    bool waits_for_call(const memory_request& asked) noexcept {
        const reclaimer* const it = std::exchange(called_elsewhere_, nullptr);
        if (it != nullptr && ahead_ != nullptr) return ahead_->called_elsewhere = it, false;
        if (it == nullptr || user_call::is_inside_any() || ++calls_waited_for_ > most_in_vain()) return false;
        costly_.reset();
        return at_->tree().reclaimers.wait_for_call(*it, at_->shape(), waits_.end_of(asked), cancelled_by(asked.wait));
    }
    // A request that does not wait for memory waits for a call in which bytes are coming, as the last step: it is not
    // refused beside a write that is under way. False: there is none.
    bool waits_for_call_beside(const memory_request& asked) noexcept {
        if (may_wait_for_it(asked) || user_call::is_inside_any() || coming_below() == 0 ||
            ++calls_waited_for_ > most_in_vain())
            return false;
        leave_sweep();
        return at_->tree().reclaimers.wait_for_call_beside(at_->shape(), waits_.end_of(asked),
                                                           cancelled_by(asked.wait));
    }
    void begin(pass& p) const noexcept {
        p.used_before = used_or_owed(*at_);
        p.freed = false;
    }
    // Whether to make another pass: something was freed, and others have not taken all of it, too often. `missed`:
    // memory has become idle behind the pass.
    bool begins_again(pass& p, bool missed) const noexcept {
        if (p.freed && used_or_owed(*at_) < p.used_before) return true;
        return (p.freed || missed) && ++p.in_vain < most_in_vain();
    }
    // Others have refunded bytes since the request was refused, and may do so for ever.
    bool others_refunded(const memory_request& asked, pass& p) const noexcept {
        return asked.why.at != nullptr && used(*at_) < asked.why.used && ++p.in_vain < most_in_vain();
    }
    // Whether it freed something. What idle memory returns after a costlier call counts for that call.
    bool call(reclaimer& it, const shortage& s, pass& p) noexcept {
        const std::size_t before = used_or_owed(*at_), counted = it.freed();
        const bool some = reclaimers::call(it, s);
        const std::size_t after = used_or_owed(*at_), arrived = it.freed() - counted; // meanwhile
        if (after + arrived < before) {
            reclaimers::credit(called_ != nullptr ? *called_ : it, before - after - arrived);
            claims_ = nullptr;
        } else if (some) {
            claimed_ = std::exchange(claims_, &it) == &it ? claimed_ + 1 : 1;
        }
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
        called_elsewhere_ = nullptr;
        calls_waited_for_ = 0;
        coming_ = 0;
        leave_sweep();
    }
    void leave_sweep() noexcept {
        if (std::exchange(sweeps_, false)) at_->tree().reclaimers.end_sweep(sweep_, at_->shape());
    }
    static void let_others_go_on(void* in) noexcept {
        auto& me = *static_cast<account_steps*>(in);
        if (me.sweep_.at != nullptr)
            me.at_->tree().reclaimers.let_others_go_on(me.sweep_, *me.called_, me.at_->shape());
    }

    const account_node& by_;
    const reclaimer* const own_;
    const std::uint32_t most_cost_;
    const account_node* at_ = nullptr;
    unsigned levels_ = 0;         // that refused since the last wait
    ahead_goal* ahead_ = nullptr; // null: bytes that were refused
    std::optional<idle_walk> idle_;
    std::optional<reclaimers::walk> costly_;
    pass idle_pass_, costly_pass_;
    reclaimer* called_ = nullptr; // of a cost, whose call lasts until the next one
    bool critical_ = false;
    bool sweeps_ = false; // at `at_`
    reclaimers::sweep sweep_;
    const reclaimer* called_elsewhere_ = nullptr; // one that may help, by another sweep
    unsigned calls_waited_for_ = 0;
    const reclaimer* claims_ = nullptr; // that said that it freed some, since something was freed; how often in turn
    unsigned claimed_ = 0;
    std::size_t coming_ = 0; // bytes that reclaimers have announced
    std::size_t owed_ = 0;   // that go first where it is refused
    wait_step waits_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
