// Explores all runs of small programs over oom::machine: each step of a thread may come between any two of others.
//
// A cycle of states is a run that never ends. Units that no task holds come back at any time, or never where no token
// announces them; the time of a decision that is put off may be over at any time, `early` times while a thread can go
// on.
#pragma once

#include <model/oom_moment.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace support {

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
    explicit explorer(const program& p, std::size_t most_states = 50'000'000) : cast_(p), most_(most_states) {}

    findings run() {
        moment first(cast_);
        colours_.try_emplace(first.key());
        const unsigned threads = first.threads(), tasks = first.tasks();
        stack_.push_back({std::move(first), 0, {}, {}});
        while (!stack_.empty() && found_.wrong.empty()) {
            frame& top = stack_.back();
            const unsigned killable = cast_.what.kills && !top.at.is_killed() ? tasks : 0, returns = threads + killable;
            const bool is_last = top.next == returns + 1 && top.goes_on && !top.at.may_be_early();
            if (is_last || top.next == returns + 1 + threads) {
                if (!top.goes_on && !top.has_time && !top.at.is_over()) report(top.at, "no thread can go on");
                colours_[top.at.key()] = {closed, top.most};
                found_.most = {top.before.rollbacks + top.most.rollbacks, top.before.splits + top.most.splits};
                stack_.pop_back();
                if (!stack_.empty()) stack_.back().note(found_.most);
                continue;
            }
            const unsigned who = top.next++;
            moment next = top.at;
            next.made = {};
            const bool possible = who < threads    ? next.move(who)
                                  : who < returns  ? next.kill(who - threads)
                                  : who == returns ? next.give_back()
                                                   : next.wait_long(who - returns - 1, top.goes_on);
            if (!possible) continue;
            if (who > returns) top.has_time = true;
            else top.goes_on = top.goes_on || who != returns || cast_.what.announced; // else it may never come
            found_.rollbacks += next.made.rollbacks, found_.splits += next.made.splits;
            found_.refusals += next.made.refusals;
            if (!next.is_valid()) next.made.wrong = "the machine is not valid";
            if (!next.made.wrong.empty()) {
                report(next, next.made.wrong);
                break;
            }
            const decisions made{next.made.rollbacks, next.made.splits};
            const auto [it, fresh] = colours_.try_emplace(next.key());
            if (!fresh) {
                const auto& [its, most] = it->second;
                if (its == open) report(next, "a run that never ends");
                top.note({made.rollbacks + most.rollbacks, made.splits + most.splits});
                continue;
            }
            if (colours_.size() > most_) report(next, "too many states");
            stack_.push_back({std::move(next), 0, made, {}});
        }
        found_.states = colours_.size();
        return found_;
    }

  private:
    struct frame {
        moment at;
        unsigned next;
        decisions before, most;                 // in the step to it; behind it
        bool goes_on = false, has_time = false; // by a step of a thread; when a delay is over

        void note(const decisions& d) {
            most = {std::max(most.rollbacks, d.rollbacks), std::max(most.splits, d.splits)};
        }
    };
    enum colour : std::uint8_t { open, closed };
    struct visited {
        colour its = open;
        decisions most;
    };

    void report(const moment& at, std::string_view what) {
        found_.wrong = std::string(what) + "\n";
        for (const frame& f : stack_) found_.wrong += f.at.text();
        found_.wrong += at.text();
    }

    const cast cast_;
    const std::size_t most_;
    std::vector<frame> stack_;
    std::unordered_map<std::string, visited> colours_;
    findings found_;
};

} // namespace support
