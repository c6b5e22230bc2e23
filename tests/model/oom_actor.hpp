// What a thread of a small program is at (model/oom_moment.hpp), beside what the machine knows of it.
#pragma once

#include <model/oom_program.hpp>

#include <allot/oom/machine.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace support {

enum class phase : std::uint8_t {
    off,    // a worker that is not called
    begins, // it is to begin its part
    runs,
    waits,  // for another thread
    queues, // for a permit
    joins,  // it waits for its workers
    requests,
    sleeps,
    frees,
    rolled_back,
    over,
};
inline constexpr std::string_view phase_names[] = {"off",      "begins", "runs",  "waits",       "queues", "joins",
                                                   "requests", "sleeps", "frees", "rolled back", "over"};

enum class permit_state : std::uint8_t { lacks, has, is_holder }; // the machine knows holders

struct actor {
    phase at = phase::off;
    std::uint8_t id = none;                                         // of its thread in the machine
    std::uint8_t part = 0, got = 0, kept = 0, pieces = 1, done = 0; // parts are cut into pieces
    permit_state permit = permit_state::lacks;
    bool alone = false;        // its attempt was, from its beginning
    bool alone_of_own = false; // the same beside the threads of its task
    bool failed_alone = false; // such an attempt was refused, and there was no progress since
    bool failed_of_own = false;
    bool own = false;         // its task's own limit refused last, so others are those of its task
    bool failed = false;      // it ended with an error, for its owner
    bool have_worked = false; // its workers have, for this piece
    std::uint8_t place = 0;   // among those that wait; 0: none
    std::uint8_t passed = 0;  // while it was the first
    bool held_back = false;   // it fits, and goes behind the first
    bool passes = false;      // the first, though that is due

    // Whether it has no request, nor begins one by itself: it waits, is rolled back, or ends then.
    bool is_out_of_the_way(thread_state s) const {
        if (at == phase::rolled_back) return s == thread_state::bufn || s == thread_state::remove_throw;
        return at != phase::runs && at != phase::requests && at != phase::sleeps && at != phase::frees;
    }
    // What tells its states apart, with its thread in the machine; counters of attempts do not.
    void add_to(std::string& key, const machine::thread& t, unsigned attempts_alone) const {
        for (const unsigned v :
             {static_cast<unsigned>(at) | static_cast<unsigned>(permit) << 4 | unsigned{failed} << 6 |
                  unsigned{have_worked} << 7,
              unsigned{id}, unsigned{part}, unsigned{got}, unsigned{kept}, unsigned{pieces}, unsigned{done},
              unsigned{alone} | unsigned{failed_alone} << 1 | unsigned{own} << 2 | unsigned{alone_of_own} << 3 |
                  unsigned{failed_of_own} << 4 | unsigned{held_back} << 5 | unsigned{passes} << 6,
              unsigned{passed}, unsigned{place},
              static_cast<unsigned>(t.state) | unsigned{t.held_back} << 4 | unsigned{t.is_woken} << 5,
              unsigned{t.used} | unsigned{t.alone} << 1 | unsigned{t.refused} << 2 | unsigned{t.own} << 3 |
                  unsigned{t.passes} << 4 | unsigned{t.delayed} << 5 | unsigned{t.may_run} << 6 |
                  unsigned{t.lasts} << 7,
              unsigned{t.bypasses}, attempts_alone, static_cast<unsigned>(t.unknown), static_cast<unsigned>(t.free)})
            key += static_cast<char>(v);
    }
    std::string text(const machine::thread& t) const {
        return std::string(phase_names[static_cast<std::size_t>(at)]) + ", part " + std::to_string(part) + "." +
               std::to_string(done) + ", has " + std::to_string(got) + " and " + std::to_string(kept) + " (" +
               std::string(text_of(t.state)) + (t.alone ? ", alone" : "") + (t.delayed ? ", delayed" : "") +
               (t.may_run ? ", may run" : "") + (t.lasts ? ", lasts" : "") + ")";
    }
};

} // namespace support
