// A moment of a run of a small program over oom::machine, and the steps that lead to the next: the machine is the value
// itself, no copy of its rules.
//
// Threads of some tasks take units of one limit, one at a time or all at once, in retry scopes; a scope that is rolled
// back frees what it took. Requests that wait are woken in the order of their begin, and the first one is passed by no
// more than `most_passed` others: then they go behind it, as account_waiting.hpp says. A wait for another thread is
// over when that has done its part: its thread goes on some time later, whenever the machine hears of it. Workers that
// join a scope begin some time after its thread waits for them; an error of one ends the attempt of all.
#pragma once

#include <model/oom_actor.hpp>

#include <allot/core/memory_kind.hpp>
#include <allot/oom/machine.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace support {

class moment {
  public:
    // Of one step.
    struct decisions {
        std::size_t rollbacks = 0, splits = 0, refusals = 0;
        std::string wrong; // the first violation
    };
    decisions made;

    explicit moment(const cast& c)
        : cast_(&c), all_(c.what.rules), actors_(c.roles.size()),
          free_(static_cast<std::uint8_t>(c.what.units - c.what.outside)),
          permits_left_(static_cast<std::uint8_t>(c.what.permits)), outside_(static_cast<std::uint8_t>(c.what.outside)),
          early_(static_cast<std::uint8_t>(c.what.early)) {
        const auto unheard = [](const change&) {};
        if (c.what.announced) all_.apply({.what = event::held_outside, .bytes = outside_}, unheard);
        for (unsigned r = 0; r != c.resources; ++r) all_.add_resource(r == permits ? c.what.permits : 1);
        for (const role& r : c.roles)
            for (const resource_id latch : r.latches)
                if (latch != no_id) all_.hold(latch, no_id, true, unheard);
        for (unsigned t = 0; t != tasks(); ++t) all_.add_task({0, t});
        for (unsigned who = 0; who != threads(); ++who)
            if (!role_of(who).is_worker() && (role_of(who).of_pool || !now(who).after.is_unmarked()))
                begin_thread(who), actors_[who].at = phase::runs;
        for (unsigned who = 0; who != threads(); ++who)
            if (!role_of(who).is_worker()) begin_part(who);
        made = {};
    }

    unsigned tasks() const { return static_cast<unsigned>(what().tasks.size()); }
    unsigned threads() const { return static_cast<unsigned>(actors_.size()); }
    bool is_over() const {
        return !any([&](unsigned o) { return actors_[o].at != phase::over && actors_[o].at != phase::off; });
    }
    bool is_valid() const { return all_.valid(); }
    bool is_killed() const { return killed_ != none; }
    bool may_be_early() const { return early_ != 0; }
    // The states that differ in nothing but counters of attempts are one.
    std::string key() const {
        std::string k;
        k.reserve(threads() * 20U + 8);
        for (unsigned i = 0; i != threads(); ++i)
            actors_[i].add_to(k, at(i), actors_[i].id != none ? all_.attempts_alone(actors_[i].id) : 0);
        for (const unsigned v :
             {unsigned{free_}, unsigned{killed_}, unsigned{outside_}, unsigned{waited_}, unsigned{early_},
              static_cast<unsigned>(all_.delay_now()), static_cast<unsigned>(all_.outside_of(memory_kind::host).stays)})
            k += static_cast<char>(v);
        return k;
    }
    std::string text() const {
        std::string out;
        for (unsigned i = 0; i != threads(); ++i) out += std::to_string(i) + ": " + actors_[i].text(at(i)) + "; ";
        return out + "free " + std::to_string(free_) + "\n";
    }

    // ---- steps; false: not possible now ------------------------------------------------------------------------

    bool move(unsigned who) {
        actor& w = actors_[who];
        switch (w.at) {
        case phase::off:
        case phase::over: return false;
        case phase::begins:
            if (!role_of(who).is_worker() && !is_done(now(who).after)) return false;
            return begin(who), true;
        case phase::runs: return run(who);
        case phase::waits:
            if (!is_done(now(who).after)) return false;
            return end_wait(who), true;
        case phase::queues:
            if (permits_left_ == 0) return false;
            --permits_left_;
            w.permit = permit_state::has;
            return end_wait(who), true;
        case phase::joins:
            if (any([&](unsigned o) { return is_worker_of(o, who) && actors_[o].at != phase::over; })) return false;
            return note_work_of_others(who), true;
        case phase::requests: return request(who);
        case phase::sleeps:
            if (at(who).state == thread_state::blocked) return false;
            return go_on(who), true;
        case phase::frees:
            free(who, std::exchange(w.got, 0));
            if (at(who).state == thread_state::remove_throw) return go_on(who), true;
            if (role_of(who).is_worker()) return give_up(who), true;
            w.at = phase::rolled_back;
            all_.step(w.id, event::ready, sink());
            return true;
        case phase::rolled_back:
            if (at(who).state == thread_state::bufn) return false;
            return go_on(who), true;
        }
        return false;
    }
    // Who holds units without a task returns them.
    bool give_back() {
        if (outside_ == 0) return false;
        free_ = static_cast<std::uint8_t>(free_ + outside_);
        outside_ = 0;
        note_free(none);
        if (what().announced) all_.apply({.what = event::returned, .bytes = what().outside}, sink());
        return true;
    }
    // The thread has kept the time of a decision that is put off. `is_early`: others can go on.
    bool wait_long(unsigned who, bool is_early) {
        if (!at(who).delayed) return false;
        if (is_early && early_ != 255) --early_;
        waited_ = waited_ || all_.is_deadlocked();
        const bool done = all_.waited_long(actors_[who].id, sink());
        return done && !any([&](unsigned o) { return at(o).runs_on != 0; }); // a thread that runs goes on before
    }
    bool kill(unsigned task) {
        if (!all_.tasks()[task].used) return false;
        killed_ = static_cast<std::uint8_t>(task);
        all_.remove_task(task, sink());
        return true;
    }

  private:
    static constexpr resource_id permits = 0;

    const program& what() const { return cast_->what; }
    const role& role_of(unsigned who) const { return cast_->roles[who]; }
    const std::vector<part>& parts(unsigned who) const { return role_of(who).parts; }
    const part& now(unsigned who) const { return parts(who)[actors_[who].part]; }
    unsigned task_of(unsigned who) const {
        const role& r = role_of(who);
        return r.of_pool && actors_[who].part < r.parts.size() ? now(who).of : r.task;
    }
    const machine::thread& at(unsigned who) const {
        static const machine::thread nobody{};
        return actors_[who].id != none ? all_[actors_[who].id] : nobody;
    }
    // The one whose attempt this one's is a part of.
    unsigned owner_of(unsigned who) const { return role_of(who).is_worker() ? role_of(who).owner : who; }
    bool is_worker_of(unsigned o, unsigned owner) const {
        return role_of(o).owner == owner && role_of(o).owners_part == actors_[owner].part;
    }
    bool is_done(const behind& b) const {
        return b.thread == none || actors_[b.thread].part >= b.parts || actors_[b.thread].at == phase::over;
    }
    template <class Holds> bool any(Holds holds) const {
        for (unsigned o = 0; o != threads(); ++o)
            if (holds(o)) return true;
        return false;
    }
    void report(std::string_view wrong) {
        if (made.wrong.empty()) made.wrong = wrong;
    }

    // ---- the sink of the machine -------------------------------------------------------------------------------

    struct to_note {
        moment* in;
        void operator()(const change& c) const { in->note(c); }
    };
    to_note sink() { return {this}; }
    void note(const change& c) {
        if (c.by < event::tries_alone || c.by > event::refused) return;
        unsigned who = 0;
        while (actors_[who].id != c.thread) ++who;
        actor& w = actors_[who];
        const bool sleeps = c.from == thread_state::blocked || c.from == thread_state::bufn;
        if (sleeps) check_that_none_goes_on(who);
        if (c.by == event::tries_alone) return;
        const auto waits = [&](unsigned o) { return at(o).state == thread_state::blocked; };
        if (!w.own && any([&](unsigned o) { return waits(o) && at(o).held_back; }))
            report("a decision against one while another could pass");
        if (!w.own && outside_ != 0 && (what().announced || (what().rules.unknown_holders_wait.ms != 0 && !waited_)))
            report("a decision that was not put off");
        if (c.by == event::split) {
            ++made.splits;
            if (early_ == what().early && !(w.own ? w.failed_of_own : w.failed_alone))
                report("a split before an attempt while all others were rolled back");
            if (!can_split(who) && early_ == what().early) report("a split of what cannot be split");
        }
        if (c.by == event::refused) {
            ++made.refusals;
            if (now(who).in_scope || role_of(who).is_worker()) report("a request is refused that could be rolled back");
        }
        if (c.by == event::rolled_back && !role_of(who).is_worker()) ++made.rollbacks;
        const bool shares = role_of(who).is_worker() || role_of(who).joined != no_id; // its attempt
        if (c.by == event::rolled_back && sleeps && !shares && any([&](unsigned o) {
                return waits(o) && at(o).scopes != 0 && (!w.own || task_of(o) == task_of(who)) &&
                       all_.goes_before(c.thread, actors_[o].id);
            }))
            report("a rollback of one that goes before another that waits");
    }
    // Whether only others can let it run on, for all that the machine was told.
    bool is_stuck(unsigned who) const {
        const auto is_open = [&](resource_id r) { return all_.holders(r).size() < all_.resources()[r].permits; };
        const machine::thread& t = at(who);
        if (t.state == thread_state::blocked || t.state == thread_state::bufn) return true;
        if (t.waits == waits_for::resource) return !is_open(t.on);
        if (t.lasts) return true;
        if (actors_[who].at == phase::joins)
            return any([&](unsigned o) {
                return is_worker_of(o, who) && (actors_[o].at != phase::over || actors_[o].id != none);
            });
        if (actors_[who].at != phase::waits) return false;
        const behind& b = now(who).after;
        const bool is_ending = b.how == waits_for::task || actors_[b.thread].at == phase::over;
        return !is_done(b) || (is_ending && actors_[b.thread].id != none);
    }
    // A decision over this thread is wrong while a task has threads, and none of them is stuck.
    void check_that_none_goes_on(unsigned who) {
        for (unsigned t = 0; t != tasks(); ++t) {
            if (actors_[who].own && t != task_of(who)) continue;
            bool has = false, stuck = false;
            for (unsigned o = 0; o != threads(); ++o) {
                const auto& others = at(o).others;
                if (at(o).state == thread_state::unknown) continue;
                if (at(o).task != t && std::find(others.begin(), others.end(), t) == others.end()) continue;
                const bool waits = owner_of(o) == owner_of(who) || is_stuck(o);
                if (role_of(o).of_pool && !waits) report("a decision while a thread of a pool goes on");
                has = true, stuck = stuck || waits;
            }
            if (has && !stuck) report("a decision while a task goes on");
        }
    }

    // ---- parts, pieces, attempts -------------------------------------------------------------------------------

    // Of the parts into which its input is cut, or its owner's, this one.
    unsigned needs(unsigned who) const {
        const actor& o = actors_[owner_of(who)];
        return now(who).needs * (o.done + 1U) / o.pieces - now(who).needs * o.done / o.pieces;
    }
    bool can_split(unsigned who) const {
        return any([&](unsigned o) { return (o == who || is_worker_of(o, who)) && needs(o) > 1; });
    }
    void begin_thread(unsigned who) {
        const role& r = role_of(who);
        actors_[who].id = static_cast<std::uint8_t>(all_.start(r.of_pool ? thread_kind::pool : thread_kind::dedicated,
                                                               r.of_pool ? no_id : r.task, sink(),
                                                               r.is_worker() ? actors_[r.owner].id : no_id));
        if (r.of_pool && what().queued)
            for (const part& p : r.parts) all_.work_on(actors_[who].id, p.of, sink());
    }
    // The next part, or begins it.
    void begin_part(unsigned who) {
        actors_[who].at = phase::begins;
        if (!role_of(who).of_pool && !now(who).after.is_unmarked()) begin(who);
    }
    void begin(unsigned who) {
        actor& w = actors_[who];
        if (w.id == none) begin_thread(who);
        if (role_of(who).of_pool && !what().queued) all_.work_on(w.id, now(who).of, sink());
        w.at = phase::runs;
        begin_attempt(who);
        if (now(who).in_scope) all_.enter_scope(w.id);
    }
    void begin_attempt(unsigned who) {
        if (role_of(who).is_worker()) return; // in that of its owner
        actors_[who].alone = all_others_are_back(who, false);
        actors_[who].alone_of_own = all_others_are_back(who, true);
    }
    bool all_others_are_back(unsigned who, bool of_task) const {
        return !any([&](unsigned o) {
            return owner_of(o) != owner_of(who) && (!of_task || task_of(o) == task_of(who)) &&
                   !actors_[o].is_out_of_the_way(at(o).state);
        });
    }
    void note_progress() {
        for (actor& w : actors_) w.failed_alone = false;
    }
    void finish_piece(unsigned who) {
        actor& w = actors_[who];
        const part p = now(who);
        const unsigned keeps = w.done + 1 == w.pieces ? p.keeps : 0, returned = w.got - (keeps < w.got ? keeps : w.got);
        w.kept = static_cast<std::uint8_t>(w.kept + w.got - returned);
        w.got = 0;
        w.have_worked = false;
        free(who, returned);
        if (role_of(who).is_worker()) return end(who);
        if (++w.done != w.pieces) return;
        if (p.in_scope) {
            note_progress();
            for (unsigned o = 0; o != threads(); ++o)
                if (task_of(o) == task_of(who)) actors_[o].failed_of_own = false;
            all_.leave_scope(w.id, true, free_, sink());
        }
        end_part(who);
    }
    void end_part(unsigned who) {
        actor& w = actors_[who];
        const unsigned task = task_of(who);
        w.done = 0, w.pieces = 1, ++w.part;
        if (role_of(who).of_pool) all_.finish(w.id, task, sink()), end_task_if_over(task);
        count_down(who);
        w.part == parts(who).size() ? end(who) : begin_part(who);
    }
    // By an error. A thread of a pool goes on with other work.
    void give_up(unsigned who) {
        actor& w = actors_[who];
        if (!role_of(who).of_pool) return w.failed = role_of(who).is_worker(), end(who);
        leave_line(who);
        free(who, std::exchange(w.got, 0));
        while (at(who).scopes != 0) all_.leave_scope(w.id, false, free_, sink());
        end_part(who);
    }
    // The latches that say how much it has done; at its end, all.
    void count_down(unsigned who) {
        for (const role& r : cast_->roles)
            for (unsigned n = 0; n != r.parts.size(); ++n)
                if (const behind& b = r.parts[n].after;
                    b.how == waits_for::resource && b.thread == who &&
                    (actors_[who].at == phase::over ? b.parts > actors_[who].part : b.parts == actors_[who].part))
                    all_.hold(r.latches[n], no_id, false, sink());
    }
    void end(unsigned who) {
        actor& w = actors_[who];
        const role& r = role_of(who);
        leave_line(who);
        w.at = phase::over;
        free(who, unsigned{std::exchange(w.got, 0)} + std::exchange(w.kept, 0));
        while (at(who).scopes > r.is_worker()) all_.leave_scope(w.id, false, free_, sink());
        count_down(who);
        if (r.is_worker() && parts(r.owner)[r.owners_part].joins == waits_for::resource)
            all_.hold(role_of(r.owner).joined, no_id, false, sink());
        all_.end_thread(w.id, sink());
        w.id = none;
        if (!r.of_pool) end_task_if_over(r.task);
    }
    void end_task_if_over(unsigned task) {
        for (unsigned o = 0; o != threads(); ++o) {
            const role& r = role_of(o);
            if (!r.of_pool && r.task == task && actors_[o].at != phase::over) return;
            for (unsigned n = actors_[o].part; r.of_pool && n < r.parts.size(); ++n)
                if (r.parts[n].of == task) return;
        }
        if (!all_.tasks()[task].used) return;
        note_progress();
        all_.end_task(task, sink());
    }

    // ---- one step ----------------------------------------------------------------------------------------------

    bool run(unsigned who) {
        actor& w = actors_[who];
        if (!is_done(now(who).after)) return wait(who, phase::waits, now(who).after.how), true;
        if (now(who).permit && w.permit == permit_state::lacks)
            return wait(who, phase::queues, waits_for::resource), true;
        if (w.permit == permit_state::has)
            return w.permit = permit_state::is_holder, all_.hold(permits, task_of(who), true, sink()), true;
        if (w.got == needs(who)) {
            if (!now(who).workers.empty() && !w.have_worked) return call_workers(who), true;
            return finish_piece(who), true;
        }
        if (may_take(who) && !goes_behind(who)) return note_passed(who), take(who), true;
        if (is_ended(at(who).state)) return go_on(who), true;
        all_.announce(w.id, memory_kind::host, 1, sink());
        w.at = phase::requests;
        return true;
    }
    // By a verdict, before it sleeps.
    static bool is_ended(thread_state s) {
        return s == thread_state::remove_throw || s == thread_state::bufn_throw || s == thread_state::split_throw;
    }
    void wait(unsigned who, phase as, waits_for how) {
        const behind& b = now(who).after;
        actors_[who].at = as;
        all_.wait(actors_[who].id, how,
                  as == phase::queues          ? permits
                  : as == phase::joins         ? (how == waits_for::task ? task_of(who) : role_of(who).joined)
                  : how == waits_for::resource ? role_of(who).latches[actors_[who].part]
                  : how == waits_for::task     ? task_of(b.thread)
                                               : no_id,
                  sink());
    }
    void end_wait(unsigned who) {
        actors_[who].at = phase::runs;
        all_.wait(actors_[who].id, waits_for::nothing, no_id, sink());
    }
    void call_workers(unsigned who) {
        const waits_for how = now(who).joins;
        for (unsigned o = 0; o != threads(); ++o) {
            if (!is_worker_of(o, who)) continue;
            actors_[o] = {};
            actors_[o].at = phase::begins;
            if (how == waits_for::resource) all_.hold(role_of(who).joined, no_id, true, sink());
        }
        wait(who, phase::joins, how);
    }
    // All of its workers have ended: the error of one is thrown here.
    void note_work_of_others(unsigned who) {
        actor& w = actors_[who];
        bool failed = false;
        for (unsigned o = 0; o != threads(); ++o)
            if (is_worker_of(o, who)) failed = failed || actors_[o].failed, actors_[o] = {};
        end_wait(who);
        w.have_worked = !failed;
        if (failed) w.at = phase::frees;
    }
    bool request(unsigned who) {
        actor& w = actors_[who];
        if (at(who).state == thread_state::remove_throw) return go_on(who), true;
        if (may_take(who) && !goes_behind(who)) {
            note_passed(who);
            take(who);
            leave_line(who);
            all_.step(w.id, event::granted, sink());
            w.at = phase::runs;
            wake();
            return true;
        }
        w.own = is_at_own_limit(who);
        w.held_back = may_take(who);
        w.passes = false;
        if (!w.held_back && all_others_are_back(who, w.own)) {
            actor& o = actors_[owner_of(who)];
            if (w.own) o.failed_of_own = o.failed_of_own || o.alone_of_own;
            else o.failed_alone = o.failed_alone || o.alone;
        }
        enter_line(who);
        w.at = phase::sleeps;
        if (what().most_passed != 255) let_pass(), wake();
        all_.fail(w.id,
                  static_cast<std::uint8_t>((w.own ? allot::oom::detail::failed_by_own_limit : 0) |
                                            (w.held_back ? allot::oom::detail::failed_held_back : 0)),
                  sink(), w.own || w.held_back ? 0 : outside_, w.own || w.held_back ? 0 : free_);
        if (at(who).state != thread_state::blocked) go_on(who);
        return true;
    }
    // After the state of a thread that slept or was refused has changed.
    void go_on(unsigned who) {
        actor& w = actors_[who];
        switch (at(who).state) {
        case thread_state::running:
            if (at(who).refused) return all_.step(w.id, event::thrown, sink()), give_up(who);
            if (w.at == phase::rolled_back) begin_attempt(who);
            w.at = w.at == phase::rolled_back ? phase::runs : phase::requests;
            w.passes = w.passes || at(who).passes;
            if (w.at == phase::requests) all_.announce(w.id, memory_kind::host, 1, sink());
            return;
        case thread_state::bufn_throw:
            leave_line(who);
            all_.step(w.id, event::thrown, sink());
            w.at = phase::frees;
            return;
        case thread_state::split_throw:
            leave_line(who);
            all_.step(w.id, event::thrown, sink());
            if (!can_split(who)) return give_up(who); // out of memory
            w.pieces = static_cast<std::uint8_t>(2 * w.pieces), w.done = static_cast<std::uint8_t>(2 * w.done);
            w.failed_alone = w.failed_of_own = false;
            w.at = phase::runs;
            begin_attempt(who);
            return free(who, std::exchange(w.got, 0));
        case thread_state::remove_throw: all_.step(w.id, event::thrown, sink()); return give_up(who);
        default: w.at = w.at == phase::rolled_back ? phase::rolled_back : phase::sleeps;
        }
    }

    // ---- units and permits -------------------------------------------------------------------------------------

    unsigned had_by(unsigned task) const {
        unsigned units = 0;
        for (unsigned o = 0; o != threads(); ++o)
            if (task_of(o) == task) units += actors_[o].got + actors_[o].kept;
        return units;
    }
    bool is_at_own_limit(unsigned who) const { return had_by(task_of(who)) >= what().own_units; }
    unsigned asks(unsigned who) const { return now(who).whole ? needs(who) - actors_[who].got : 1; }
    bool may_take(unsigned who) const { return free_ >= asks(who) && !is_at_own_limit(who); }
    // Attempts of others that began alone are alone no more.
    void take(unsigned who) {
        const unsigned units = asks(who);
        free_ = static_cast<std::uint8_t>(free_ - units);
        actors_[who].got = static_cast<std::uint8_t>(actors_[who].got + units);
        if (had_by(task_of(who)) > what().own_units) std::abort();
        for (unsigned o = 0; o != threads(); ++o)
            if (o != owner_of(who)) {
                actors_[o].alone = false;
                actors_[o].alone_of_own = actors_[o].alone_of_own && task_of(o) != task_of(who);
            }
    }
    // The permit goes with the units of a piece.
    void free(unsigned who, unsigned units) {
        actor& w = actors_[who];
        if (w.permit == permit_state::is_holder) all_.hold(permits, task_of(who), false, sink());
        if (w.permit != permit_state::lacks) ++permits_left_;
        w.permit = permit_state::lacks;
        if (units == 0) return;
        free_ = static_cast<std::uint8_t>(free_ + units);
        if (free_ > what().units) report("more is freed than there is");
        note_free(who);
    }
    void note_free(unsigned by) {
        for (unsigned o = 0; o != threads(); ++o)
            if (o != by && at(o).state == thread_state::alloc) all_.step(actors_[o].id, event::freed, sink());
        if (what().rules.rolled_back_wakes == wakes::at_free)
            note_progress(), all_.freed(memory_kind::host, free_, sink());
        wake();
    }

    // ---- the line of requests that wait ------------------------------------------------------------------------

    // As wait_queue::choose(): each that fits, in the order of their begin; behind one that is due none.
    void wake() {
        unsigned promised = 0;
        const unsigned d = due();
        for (unsigned place = 1; place <= threads(); ++place)
            for (unsigned o = 0; o != threads(); ++o) {
                const actor& w = actors_[o];
                if (w.place != place || at(o).state != thread_state::blocked || promised + asks(o) > free_ ||
                    is_at_own_limit(o) || (!w.passes && d != none && d != o))
                    continue;
                promised += asks(o);
                all_.step(w.id, event::may_fit, sink());
            }
    }
    // The first in line, if it is due; else `none`.
    unsigned due() const {
        unsigned o = 0;
        while (o != threads() && (actors_[o].place != 1 || actors_[o].passed < what().most_passed)) ++o;
        return o != threads() ? o : none;
    }
    // As waits_for_those_behind().
    bool waits_for_those_behind(unsigned d, unsigned also) const {
        unsigned stuck = 0;
        for (unsigned t = 0; t != tasks(); ++t) {
            const auto waits = [&](unsigned o) { return o == d || o == also || actors_[o].at == phase::sleeps; };
            if (any([&](unsigned o) { return task_of(o) == t && waits(o); })) stuck += had_by(t);
        }
        return stuck + asks(d) > what().units;
    }
    bool goes_behind(unsigned who) const {
        const unsigned d = due();
        if (actors_[who].passes || d == none || d == who) return false;
        return !what().knows_memory || !waits_for_those_behind(d, who);
    }
    // As let_pass_behind(): one has gone to sleep.
    void let_pass() {
        const unsigned d = due();
        if (d == none || actors_[d].at != phase::sleeps || !what().knows_memory || !waits_for_those_behind(d, none))
            return;
        for (unsigned place = 2; place <= threads(); ++place)
            for (actor& w : actors_)
                if (w.place == place && w.held_back && w.at == phase::sleeps) return void(w.passes = true);
    }
    // A request was granted before the first in line.
    void note_passed(unsigned who) {
        for (unsigned o = 0; o != threads(); ++o) {
            actor& w = actors_[o];
            if (o == who || w.place != 1 || what().most_passed == 255) continue;
            if (w.passed < what().most_passed) ++w.passed;
            else if (!actors_[who].passes && (!what().knows_memory || !waits_for_those_behind(o, who)))
                report("a request passes one that is due");
        }
    }
    void leave_line(unsigned who) {
        const unsigned place = actors_[who].place;
        actors_[who].place = actors_[who].passed = 0;
        actors_[who].held_back = actors_[who].passes = false;
        for (actor& w : actors_)
            if (w.place > place && place != 0) --w.place;
    }
    void enter_line(unsigned who) {
        std::uint8_t last = 0;
        for (const actor& w : actors_) last = w.place > last ? w.place : last;
        if (actors_[who].place == 0) actors_[who].place = static_cast<std::uint8_t>(last + 1);
    }

    const cast* cast_;
    machine all_;
    std::vector<actor> actors_;
    std::uint8_t free_, permits_left_;
    std::uint8_t killed_ = none; // a task
    std::uint8_t outside_, early_;
    bool waited_ = false; // for these units, as long as a decision may be put off
};

} // namespace support
