// Small programs for the explorer of the OOM state machine (model/oom_explorer.hpp): tasks, their threads, and what
// each of these does, part for part.
#pragma once

#include <allot/oom/rules.hpp>
#include <allot/oom/situation.hpp>

#include <cstdint>
#include <vector>

namespace support {

using namespace allot::oom;
using allot::memory_kind;

inline constexpr std::uint8_t none = 255;

// That a thread waits for another, until it has done so many of its parts, or has ended.
struct behind {
    unsigned thread = none; // those of the tasks are counted first, then those of the pool
    unsigned parts = 1;
    // A task, or a pool: of that thread; a resource: a latch that it counts down. Nothing: the part begins then, and
    // its thread if it is the first.
    waits_for how = waits_for::nothing;

    bool is_unmarked() const { return thread != none && how == waits_for::nothing; }
};
// A part of a thread's work: units that it needs at once, and units that it keeps behind it, to its end.
struct part {
    unsigned needs = 1;
    unsigned keeps = 0;
    bool in_scope = true;
    bool permit = false; // it holds a permit meanwhile, and waits for it first
    bool whole = false;  // it takes its units at once
    behind after{};
    unsigned of = 0; // the task, of a pool thread
    // Threads that join its scope once it has its units; it waits for their ends, by a latch or as for its task.
    std::vector<part> workers{};
    waits_for joins = waits_for::resource;
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
    unsigned permits = 1;
    unsigned early = 255;                  // times of delays that are over while a thread can go on; 255: any number
    std::vector<std::vector<part>> pool{}; // threads that work for several tasks
    bool queued = false;                   // they work for all of these from the begin
};

// Each thread that there may be, with the resources that its waits need.
struct role {
    std::vector<part> parts;
    unsigned task = 0;
    bool of_pool = false;
    std::uint8_t owner = none; // in whose scope it works, in this part
    unsigned owners_part = 0;
    resource_id joined = no_id;         // the latch of its workers
    std::vector<resource_id> latches{}; // by part

    bool is_worker() const { return owner != none; }
};
// A program, and its threads: those of the tasks, of the pool, then those that join scopes.
struct cast {
    program what;
    std::vector<role> roles;
    unsigned resources = 1; // the permits are the first

    explicit cast(const program& p) : what(p) {
        for (unsigned t = 0; t != p.tasks.size(); ++t)
            for (const auto& parts : p.tasks[t]) roles.push_back({.parts = parts, .task = t});
        for (const auto& parts : p.pool) roles.push_back({.parts = parts, .of_pool = true});
        for (unsigned r = 0; r != roles.size(); ++r) add_waits_of(r);
    }

  private:
    void add_waits_of(unsigned r) {
        for (unsigned n = 0; n != roles[r].parts.size(); ++n) {
            const part p = roles[r].parts[n];
            roles[r].latches.push_back(p.after.how == waits_for::resource ? resources++ : no_id);
            if (p.workers.empty()) continue;
            if (roles[r].joined == no_id) roles[r].joined = resources++;
            for (const part& w : p.workers)
                roles.push_back(
                    {.parts = {w}, .task = roles[r].task, .owner = static_cast<std::uint8_t>(r), .owners_part = n});
        }
    }
};

} // namespace support
