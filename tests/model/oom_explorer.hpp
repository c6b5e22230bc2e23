// Explores all runs of small programs over oom::machine: the value itself, no copy of its rules.
//
// Threads of some tasks take units of one limit, one at a time or all at once, in retry scopes; a scope that is rolled
// back frees what it took. Each step of a thread may come between any two of others; requests that wait are woken in
// the order of their begin, and the first one is passed by no more than `most_passed` others: then they go behind it,
// as account_waiting.hpp says. A cycle of states is a run that never ends. Units that no task holds come back at any
// time, or never where no token announces them; the time of a decision that is put off may be over at any time.
#pragma once

#include <allot/core/memory_kind.hpp>
#include <allot/oom/machine.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace support {

using namespace allot::oom;
using allot::memory_kind;

// A part of a thread's work: units that it needs at once, and units that it keeps behind it, to its end.
struct part {
    unsigned needs = 1;
    unsigned keeps = 0;
    bool in_scope = true;
    bool permit = false; // it holds the only permit meanwhile, and waits for it first
    bool whole = false;  // it takes its units at once
};
struct program {
    std::vector<std::vector<std::vector<part>>> tasks; // tasks, their threads, the parts of each
    unsigned units = 2;
    unsigned own_units = 255; // that a task may have at once
    allot::oom::rules rules{};
    bool kills = false;         // any task may be aborted at any time, once
    unsigned most_passed = 255; // requests that pass the first one in line; 255: any number
    bool knows_memory = true;   // the line knows what tasks hold
    unsigned outside = 0;       // of the units: no task holds them
    bool announced = false;     // a token does
};

// Of one run.
struct decisions {
    std::size_t rollbacks = 0, splits = 0;
};
struct findings {
    std::size_t states = 0;
    std::size_t rollbacks = 0, splits = 0, refusals = 0; // transitions with such a decision
    decisions most;                                      // of the runs, the most of each
    std::string wrong;                                   // the first violation, with the run that leads to it
};

class explorer {
  public:
    explicit explorer(const program& p, std::size_t most_states = 50'000'000) : program_(p), most_(most_states) {}

    findings run() {
        moment s = first();
        stack_.push_back({s, 0, 0, {}, {}});
        colours_.try_emplace(key(s));
        while (!stack_.empty() && found_.wrong.empty()) {
            frame& top = stack_.back();
            const unsigned killable = program_.kills && !top.at.killed ? tasks() : 0, returns = threads() + killable;
            if (top.next == returns + 1 + threads()) {
                if (top.moves == 0 && !is_over(top.at)) report(top.at, "no thread can go on");
                colours_[key(top.at)] = {closed, top.most};
                found_.most = {top.before.rollbacks + top.most.rollbacks, top.before.splits + top.most.splits};
                stack_.pop_back();
                if (!stack_.empty()) stack_.back().note(found_.most);
                continue;
            }
            const unsigned who = top.next++;
            moment next = top.at;
            const decisions before{found_.rollbacks, found_.splits};
            if (!(who < threads()  ? move(next, who)
                  : who < returns  ? kill(next, who - threads())
                  : who == returns ? give_back(next)
                                   : wait_long(next, who - returns - 1)))
                continue;
            if (who != returns || program_.announced) ++stack_.back().moves; // else it may never come
            if (!found_.wrong.empty()) break;
            const decisions made{found_.rollbacks - before.rollbacks, found_.splits - before.splits};
            const auto [it, fresh] = colours_.try_emplace(key(next));
            if (!fresh) {
                const auto& [its, most] = it->second;
                if (its == open) report(next, "a run that never ends");
                stack_.back().note({made.rollbacks + most.rollbacks, made.splits + most.splits});
                continue;
            }
            if (colours_.size() > most_) report(next, "too many states");
            stack_.push_back({std::move(next), 0, 0, made, {}});
        }
        found_.states = colours_.size();
        return found_;
    }

  private:
    enum class phase : std::uint8_t { runs, waits, requests, sleeps, frees, rolled_back, over };
    struct worker {
        phase at = phase::runs;
        std::uint8_t part = 0, got = 0, kept = 0, pieces = 1, done = 0; // parts are cut into pieces
        bool alone = false;                                             // its attempt was, from its beginning
        bool alone_of_own = false;                                      // the same beside the threads of its task
        bool failed_alone = false; // such an attempt was refused, and there was no progress since
        bool failed_of_own = false;
        bool own = false;        // its task's own limit refused last, so others are those of its task
        std::uint8_t place = 0;  // among those that wait; 0: none
        std::uint8_t passed = 0; // while it was the first
        bool held_back = false;  // it fits, and goes behind the first
        bool passes = false;     // the first, though that is due
    };
    struct moment {
        machine all;
        std::vector<worker> workers;
        std::uint8_t free = 0;
        std::uint8_t holder = none; // of the permit
        bool killed = false;
        std::uint8_t outside = 0;
        bool waited = false; // for these units, as long as a decision may be put off
    };
    struct frame {
        moment at;
        unsigned next;
        unsigned moves;
        decisions before, most; // in the step to it; behind it

        void note(const decisions& d) {
            most = {std::max(most.rollbacks, d.rollbacks), std::max(most.splits, d.splits)};
        }
    };
    static constexpr std::uint8_t none = 255;
    static constexpr resource_id permits = 0;
    enum colour : std::uint8_t { open, closed };
    struct visited {
        colour its = open;
        decisions most;
    };

    unsigned tasks() const { return static_cast<unsigned>(program_.tasks.size()); }
    unsigned threads() const {
        unsigned n = 0;
        for (const auto& t : program_.tasks) n += static_cast<unsigned>(t.size());
        return n;
    }
    const std::vector<part>& parts(unsigned who) const {
        for (const auto& t : program_.tasks) {
            if (who < t.size()) return t[who];
            who -= static_cast<unsigned>(t.size());
        }
        return program_.tasks[0][0];
    }
    unsigned task_of(unsigned who) const {
        unsigned t = 0;
        while (who >= program_.tasks[t].size()) who -= static_cast<unsigned>(program_.tasks[t++].size());
        return t;
    }
    moment first() const {
        moment s{machine(program_.rules),
                 std::vector<worker>(threads()),
                 static_cast<std::uint8_t>(program_.units - program_.outside),
                 none,
                 false,
                 static_cast<std::uint8_t>(program_.outside)};
        if (program_.announced)
            s.all.apply({.what = event::held_outside, .bytes = program_.outside}, [](const change&) {});
        s.all.add_resource();
        for (unsigned t = 0; t != tasks(); ++t) {
            const task_id id = s.all.add_task({0, t});
            for (std::size_t i = 0; i != program_.tasks[t].size(); ++i) s.all.add_thread(thread_kind::dedicated, id);
        }
        for (unsigned w = 0; w != threads(); ++w) begin_part(s, w);
        return s;
    }
    bool is_over(const moment& s) const {
        for (const worker& w : s.workers)
            if (w.at != phase::over) return false;
        return true;
    }
    // The states that differ in nothing but counters of attempts are one.
    std::string key(const moment& s) const {
        std::string k;
        for (unsigned i = 0; i != threads(); ++i) {
            const worker& w = s.workers[i];
            const machine::thread& t = s.all[i];
            for (const unsigned v :
                 {static_cast<unsigned>(w.at), unsigned{w.part}, unsigned{w.got}, unsigned{w.kept}, unsigned{w.pieces},
                  unsigned{w.done},
                  unsigned{w.alone} | unsigned{w.failed_alone} << 1 | unsigned{w.own} << 2 |
                      unsigned{w.alone_of_own} << 3 | unsigned{w.failed_of_own} << 4 | unsigned{w.held_back} << 5 |
                      unsigned{w.passes} << 6 | unsigned{t.held_back} << 7,
                  unsigned{w.passed}, unsigned{w.place}, static_cast<unsigned>(t.state), unsigned{t.used},
                  unsigned{t.alone},
                  unsigned{t.refused} | unsigned{t.own} << 1 | unsigned{t.passes} << 2 | unsigned{t.delayed} << 3 |
                      unsigned{t.may_run} << 4 | unsigned{t.lasts} << 5 | unsigned{t.is_woken} << 6,
                  unsigned{t.bypasses}, s.all.attempts_alone(i), static_cast<unsigned>(t.unknown),
                  static_cast<unsigned>(t.free)})
                k += static_cast<char>(v);
        }
        k += static_cast<char>(s.free);
        k += static_cast<char>(s.holder);
        k += static_cast<char>(s.killed);
        k += static_cast<char>(s.outside);
        k += static_cast<char>(s.waited);
        k += static_cast<char>(s.all.delay_now());
        k += static_cast<char>(s.all.outside_of(memory_kind::host).stays);
        return k;
    }
    void report(const moment& s, std::string_view what) {
        if (!found_.wrong.empty()) return;
        found_.wrong = std::string(what) + "\n";
        for (const frame& f : stack_) found_.wrong += text(f.at);
        found_.wrong += text(s);
    }
    std::string text(const moment& s) const {
        std::string out;
        for (unsigned i = 0; i != threads(); ++i) {
            const worker& w = s.workers[i];
            out += std::to_string(i) + ":" + std::string(text_of(s.all[i].state)) + (s.all[i].alone ? "(alone)" : "") +
                   " part " + std::to_string(w.part) + " got " + std::to_string(w.got) + "; ";
        }
        return out + "free " + std::to_string(s.free) + "\n";
    }

    // ---- the sink of the machine -------------------------------------------------------------------------------

    auto sink(moment& s) {
        return [this, &s](const change& c) {
            worker& w = s.workers[c.thread];
            if (c.by == event::may_fit || c.by == event::tries_alone || c.by == event::woken || c.by == event::let_pass)
                return;
            if (c.by == event::rolled_back || c.by == event::split || c.by == event::refused)
                for (unsigned o = 0; o != threads(); ++o)
                    if (s.all[o].used && s.all[o].state == thread_state::blocked && s.all[o].held_back && !w.own)
                        report(s, "a decision against one while another could pass");
            if ((c.by == event::split || c.by == event::refused || c.by == event::rolled_back) && !w.own &&
                s.outside != 0 && (program_.announced || (program_.rules.unknown_holders_wait.ms != 0 && !s.waited)))
                report(s, "a decision that was not put off");
            if (c.by == event::split) {
                ++found_.splits;
                if (!(w.own ? w.failed_of_own : w.failed_alone))
                    report(s, "a split before an attempt while all others were rolled back");
                if (needs(w, c.thread) == 1) report(s, "a split of what cannot be split");
            }
            if (c.by == event::refused) {
                ++found_.refusals;
                if (parts(c.thread)[w.part].in_scope) report(s, "a request is refused that could be rolled back");
            }
            if (c.by == event::rolled_back) {
                ++found_.rollbacks;
                for (unsigned o = 0; o != threads(); ++o)
                    if (s.all[o].used && s.all[o].state == thread_state::blocked && s.all[o].scopes != 0 &&
                        (!w.own || task_of(o) == task_of(c.thread)) && s.all.goes_before(c.thread, o))
                        report(s, "a rollback of one that goes before another that waits");
            }
        };
    }

    // ---- what a thread does ------------------------------------------------------------------------------------

    unsigned needs(const worker& w, unsigned who) const {
        const unsigned all = parts(who)[w.part].needs, each = all / w.pieces;
        return w.done + 1 == w.pieces ? all - each * (w.pieces - 1U) : each;
    }
    void begin_attempt(moment& s, unsigned who) const {
        s.workers[who].alone = all_others_are_back(s, who, false);
        s.workers[who].alone_of_own = all_others_are_back(s, who, true);
    }
    void begin_part(moment& s, unsigned who) const {
        const worker& w = s.workers[who];
        begin_attempt(s, who);
        if (w.part < parts(who).size() && parts(who)[w.part].in_scope) s.all.enter_scope(who);
    }
    // The permit goes with the units of a piece.
    void free(moment& s, unsigned who, unsigned units) {
        if (s.holder == who) {
            s.holder = none;
            s.all.hold(permits, task_of(who), false, sink(s));
        }
        if (units == 0) return;
        s.free = static_cast<std::uint8_t>(s.free + units);
        if (s.free > program_.units) report(s, "more is freed than there is");
        for (unsigned o = 0; o != threads(); ++o)
            if (o != who && s.all[o].state == thread_state::alloc) s.all.step(o, event::freed, sink(s));
        if (program_.rules.rolled_back_wakes == wakes::at_free)
            note_progress(s), s.all.freed(allot::memory_kind::host, s.free, sink(s));
        wake(s);
    }
    // As wait_queue::choose(): each that fits, in the order of their begin; behind one that is due none.
    void wake(moment& s) {
        unsigned promised = 0;
        for (unsigned place = 1; place <= threads(); ++place)
            for (unsigned o = 0; o != threads(); ++o) {
                worker& w = s.workers[o];
                if (w.place != place || s.all[o].state != thread_state::blocked || promised + asks(w, o) > s.free ||
                    is_at_own_limit(s, o) || (!w.passes && is_behind(s, o)))
                    continue;
                promised += asks(w, o);
                s.all.step(o, event::may_fit, sink(s));
            }
    }
    // The first in line, if it is due; else `none`.
    unsigned due(const moment& s) const {
        for (unsigned o = 0; o != threads(); ++o)
            if (s.workers[o].place == 1 && s.workers[o].passed >= program_.most_passed) return o;
        return none;
    }
    bool is_behind(const moment& s, unsigned who) const {
        const unsigned d = due(s);
        return d != none && d != who;
    }
    // As waits_for_those_behind().
    bool waits_for_those_behind(const moment& s, unsigned d, unsigned also) const {
        unsigned stuck = 0;
        for (unsigned t = 0; t != tasks(); ++t) {
            bool waits = task_of(d) == t || (also != none && task_of(also) == t);
            for (unsigned o = 0; o != threads(); ++o)
                waits = waits || (task_of(o) == t && s.workers[o].at == phase::sleeps);
            if (waits) stuck += had_by(s, t);
        }
        return stuck + asks(s.workers[d], d) > program_.units;
    }
    bool goes_behind(const moment& s, unsigned who) const {
        const unsigned d = due(s);
        if (s.workers[who].passes || d == none || d == who) return false;
        return !program_.knows_memory || !waits_for_those_behind(s, d, who);
    }
    // As let_pass_behind(): one has gone to sleep.
    void let_pass(moment& s) const {
        const unsigned d = due(s);
        if (d == none || s.workers[d].at != phase::sleeps || !program_.knows_memory ||
            !waits_for_those_behind(s, d, none))
            return;
        for (unsigned place = 2; place <= threads(); ++place)
            for (unsigned o = 0; o != threads(); ++o)
                if (worker& w = s.workers[o]; w.place == place && w.held_back && w.at == phase::sleeps)
                    return void(w.passes = true);
    }
    // A request was granted before the first in line.
    void note_passed(moment& s, unsigned who) {
        for (unsigned o = 0; o != threads(); ++o) {
            worker& w = s.workers[o];
            if (o == who || w.place != 1 || program_.most_passed == 255) continue;
            if (w.passed < program_.most_passed) ++w.passed;
            else if (!s.workers[who].passes && (!program_.knows_memory || !waits_for_those_behind(s, o, who)))
                report(s, "a request passes one that is due");
        }
    }
    void leave_line(moment& s, unsigned who) {
        const unsigned place = s.workers[who].place;
        s.workers[who].place = s.workers[who].passed = 0;
        s.workers[who].held_back = s.workers[who].passes = false;
        for (worker& w : s.workers)
            if (w.place > place && place != 0) --w.place;
    }
    void enter_line(moment& s, unsigned who) {
        std::uint8_t last = 0;
        for (const worker& w : s.workers) last = w.place > last ? w.place : last;
        if (s.workers[who].place == 0) s.workers[who].place = static_cast<std::uint8_t>(last + 1);
    }
    void end(moment& s, unsigned who) {
        worker& w = s.workers[who];
        leave_line(s, who);
        const unsigned units = w.got + w.kept;
        w.got = w.kept = 0;
        w.at = phase::over;
        free(s, who, units);
        while (s.all[who].scopes != 0) s.all.leave_scope(who, false, s.free, sink(s));
        s.all.end_thread(who, sink(s));
        const unsigned t = task_of(who);
        bool others = false;
        for (unsigned o = 0; o != threads(); ++o)
            others = others || (task_of(o) == t && s.workers[o].at != phase::over);
        if (others) return;
        note_progress(s);
        s.all.end_task(t, sink(s));
    }
    static void note_progress(moment& s) {
        for (worker& w : s.workers) w.failed_alone = false;
    }
    void finish_piece(moment& s, unsigned who) {
        worker& w = s.workers[who];
        const part now = parts(who)[w.part];
        const unsigned keeps = w.done + 1 == w.pieces ? now.keeps : 0,
                       returned = w.got - (keeps < w.got ? keeps : w.got);
        w.kept = static_cast<std::uint8_t>(w.kept + w.got - returned);
        w.got = 0;
        free(s, who, returned);
        if (++w.done != w.pieces) return;
        if (now.in_scope) {
            note_progress(s);
            for (unsigned o = 0; o != threads(); ++o)
                if (task_of(o) == task_of(who)) s.workers[o].failed_of_own = false;
            s.all.leave_scope(who, true, s.free, sink(s));
        }
        w.done = 0, w.pieces = 1;
        if (++w.part == parts(who).size()) return end(s, who);
        begin_part(s, who);
    }
    // After the state of a thread that slept or was refused has changed.
    void go_on(moment& s, unsigned who) {
        worker& w = s.workers[who];
        switch (s.all[who].state) {
        case thread_state::running:
            if (s.all[who].refused) return s.all.step(who, event::thrown, sink(s)), end(s, who);
            if (w.at == phase::rolled_back) begin_attempt(s, who);
            w.at = w.at == phase::rolled_back ? phase::runs : phase::requests;
            w.passes = w.passes || s.all[who].passes;
            if (w.at == phase::requests) s.all.announce(who, allot::memory_kind::host, 1, sink(s));
            return;
        case thread_state::bufn_throw:
            leave_line(s, who);
            s.all.step(who, event::thrown, sink(s));
            w.at = phase::frees;
            return;
        case thread_state::split_throw: {
            leave_line(s, who);
            s.all.step(who, event::thrown, sink(s));
            const unsigned units = w.got;
            w.got = 0;
            const unsigned cut =
                needs(w, who) > 1 ? 2 : 1; // pieces that are done stay done, as the first of their part
            w.pieces = static_cast<std::uint8_t>(w.pieces * cut), w.done = static_cast<std::uint8_t>(w.done * cut);
            w.failed_alone = w.failed_of_own = false;
            w.at = phase::runs;
            begin_attempt(s, who);
            return free(s, who, units);
        }
        case thread_state::remove_throw: s.all.step(who, event::thrown, sink(s)); return end(s, who);
        default: w.at = w.at == phase::rolled_back ? phase::rolled_back : phase::sleeps;
        }
    }
    // One step of a thread. False: it cannot go on now.
    bool move(moment& s, unsigned who) {
        worker& w = s.workers[who];
        switch (w.at) {
        case phase::over: return false;
        case phase::runs:
            if (parts(who)[w.part].permit && s.holder != who) return request_permit(s, who);
            if (w.got == needs(w, who)) return finish_piece(s, who), true;
            if (may_take(s, who) && !goes_behind(s, who)) return note_passed(s, who), take(s, who), true;
            if (s.all[who].state == thread_state::remove_throw) return go_on(s, who), true;
            s.all.announce(who, allot::memory_kind::host, 1, sink(s));
            w.at = phase::requests;
            return true;
        case phase::waits:
            if (s.holder != none) return false;
            s.all.wait(who, waits_for::nothing, no_id, sink(s));
            w.at = phase::runs;
            return request_permit(s, who);
        case phase::requests:
            if (s.all[who].state == thread_state::remove_throw) return go_on(s, who), true;
            if (may_take(s, who) && !goes_behind(s, who)) {
                note_passed(s, who);
                take(s, who);
                leave_line(s, who);
                s.all.step(who, event::granted, sink(s));
                w.at = phase::runs;
                wake(s);
                return true;
            }
            w.own = is_at_own_limit(s, who);
            w.held_back = may_take(s, who);
            w.passes = false;
            if (!w.held_back && all_others_are_back(s, who, w.own)) {
                if (w.own) w.failed_of_own = w.failed_of_own || w.alone_of_own;
                else w.failed_alone = w.failed_alone || w.alone;
            }
            enter_line(s, who);
            w.at = phase::sleeps;
            if (program_.most_passed != 255) let_pass(s), wake(s);
            s.all.fail(
                who,
                static_cast<std::uint8_t>((w.own ? failed_by_own_limit : 0) | (w.held_back ? failed_held_back : 0)),
                sink(s), w.own || w.held_back ? 0 : s.outside, w.own || w.held_back ? 0 : s.free);
            if (s.all[who].state != thread_state::blocked) go_on(s, who);
            return true;
        case phase::sleeps:
            if (s.all[who].state == thread_state::blocked) return false;
            return go_on(s, who), true;
        case phase::frees: {
            const unsigned units = w.got;
            w.got = 0;
            free(s, who, units);
            if (s.all[who].state == thread_state::remove_throw) return go_on(s, who), true;
            w.at = phase::rolled_back;
            s.all.step(who, event::ready, sink(s));
            return true;
        }
        case phase::rolled_back:
            if (s.all[who].state == thread_state::bufn) return false;
            return go_on(s, who), true;
        }
        return false;
    }
    bool request_permit(moment& s, unsigned who) {
        if (s.holder == none) {
            s.holder = static_cast<std::uint8_t>(who);
            s.all.hold(permits, task_of(who), true, sink(s));
        } else {
            s.workers[who].at = phase::waits;
            s.all.wait(who, waits_for::resource, permits, sink(s));
        }
        return true;
    }
    unsigned had_by(const moment& s, unsigned task) const {
        unsigned units = 0;
        for (unsigned o = 0; o != threads(); ++o)
            if (task_of(o) == task) units += s.workers[o].got + s.workers[o].kept;
        return units;
    }
    bool is_at_own_limit(const moment& s, unsigned who) const { return had_by(s, task_of(who)) >= program_.own_units; }
    unsigned asks(const worker& w, unsigned who) const { return parts(who)[w.part].whole ? needs(w, who) - w.got : 1; }
    bool may_take(const moment& s, unsigned who) const {
        return s.free >= asks(s.workers[who], who) && !is_at_own_limit(s, who);
    }
    // Attempts of others that began alone are alone no more.
    void take(moment& s, unsigned who) const {
        const unsigned units = asks(s.workers[who], who);
        s.free = static_cast<std::uint8_t>(s.free - units);
        s.workers[who].got = static_cast<std::uint8_t>(s.workers[who].got + units);
        if (had_by(s, task_of(who)) > program_.own_units) std::abort();
        for (unsigned o = 0; o != threads(); ++o)
            if (o != who) {
                s.workers[o].alone = false;
                s.workers[o].alone_of_own = s.workers[o].alone_of_own && task_of(o) != task_of(who);
            }
    }
    bool all_others_are_back(const moment& s, unsigned who, bool of_task) const {
        for (unsigned o = 0; o != threads(); ++o)
            if (o != who && (!of_task || task_of(o) == task_of(who)) && s.workers[o].at != phase::over &&
                s.workers[o].at != phase::waits && s.all[o].state != thread_state::bufn)
                return false;
        return true;
    }
    // Who holds units without a task returns them.
    bool give_back(moment& s) {
        if (s.outside == 0) return false;
        s.free = static_cast<std::uint8_t>(s.free + s.outside);
        s.outside = 0;
        for (unsigned o = 0; o != threads(); ++o)
            if (s.all[o].state == thread_state::alloc) s.all.step(o, event::freed, sink(s));
        if (program_.rules.rolled_back_wakes == wakes::at_free)
            note_progress(s), s.all.freed(memory_kind::host, s.free, sink(s));
        wake(s);
        if (program_.announced) s.all.apply({.what = event::returned, .bytes = program_.outside}, sink(s));
        return true;
    }
    // The thread has kept the time of a decision that is put off.
    bool wait_long(moment& s, unsigned who) {
        if (!s.all[who].delayed) return false;
        s.waited = s.waited || s.all.is_deadlocked();
        const bool done = s.all.waited_long(who, sink(s));
        for (unsigned o = 0; o != threads(); ++o)
            if (s.all[o].runs_on != 0) return false; // a thread that runs goes on before
        return done;
    }
    bool kill(moment& s, unsigned task) {
        bool any = false;
        for (unsigned w = 0; w != threads(); ++w)
            if (task_of(w) == task && s.workers[w].at != phase::over)
                any = s.all.step(w, event::removed, sink(s)) || any;
        s.killed = any;
        return any;
    }

    const program program_;
    const std::size_t most_;
    std::vector<frame> stack_;
    std::unordered_map<std::string, visited> colours_;
    findings found_;
};

} // namespace support
