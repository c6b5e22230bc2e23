// One manager under soak, with the model of what it must hold: who holds which row, and how many of each kind.
//
//   workers --(bursts of steps)--> pocket of each worker, exchange for all --> rows of the manager
//   director --(alone)--> quiet points: the model and the manager must agree; the end
//
// Invariant, at a quiet point: the records in pockets and exchange are the links that were handed out, one each.
// Threads: burst, look_on and leave by any; quiet and retire by one, which they let be alone.
#pragma once

#include <soak/counts.hpp>
#include <soak/face.hpp>
#include <soak/gate.hpp>
#include <soak/row_kinds.hpp>
#include <soak/sets.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace soak {

inline constexpr unsigned max_workers = 8;

// A heap with what its rows are.
struct kept_heap {
    std::unique_ptr<heap_face> face;
    std::unique_ptr<hand> local; // goes before the heap
    std::size_t bytes = 0;
    kind of = bytes_only;
    bool confined = false; // its rows stay in `rows`, until release_all
    std::deque<record> rows;
};

// What one worker holds of a manager.
struct pocket {
    std::unique_ptr<hand> local;
    std::vector<kept_heap> heaps;
    std::deque<record> rows;
};

class stage {
  public:
    stage(const soaked_set& set, std::uint64_t seed);

    // Some hundred steps; false when the stage has ended, or somebody is alone there.
    bool burst(unsigned worker, dice& random, counts& done);
    // A report, while others work.
    void look_on(dice& random, std::vector<char>& buffer, counts& done);
    // The worker's thread ends: its rows go to the others.
    void leave(unsigned worker);
    // Alone: manager and model agree; then the limit is met, or moved.
    void quiet(dice& random, counts& done);
    // Alone: everything is released, or told as left. `no_threads`: none is alive that ever used the manager.
    void retire(dice& random, counts& done, bool no_threads);

    const char* set() const { return set_.text; }
    bool by_thread() const { return about_.by_thread; }
    std::size_t charged() const { return charged_.load(std::memory_order_relaxed); }
    bool ended() const { return ended_.load(); }

  private:
    friend class steps;

    // ---- the model ----
    void begin(record& row, bool wiped);
    void drop(const record& row); // one link fewer; in the model alone
    std::size_t live() const;
    void agree();
    void look_at_all();
    template <class Visit> void for_each_record(Visit visit);
    void meet_the_limit(dice& random, counts& done);
    std::vector<record> take_everything();
    void release(const record& row, std::size_t way);

    const soaked_set& set_;
    leak_count leaks_;
    std::unique_ptr<manager_face> face_;
    features about_;
    std::size_t room_; // the limit it was made with
    gate gate_;
    std::atomic<bool> ended_{false};
    std::array<std::unique_ptr<pocket>, max_workers> pockets_;

    std::mutex lock_; // of what follows
    std::deque<record> exchange_;
    record crowded_;                                  // a row that many link and release at once; none without address
    std::array<std::shared_ptr<kept_heap>, 4> heaps_; // of all; rows of one thread's handles never

    std::array<std::atomic<std::int64_t>, kinds> rows_{};
    std::atomic<std::int64_t> bytes_{0};        // asked for
    std::atomic<std::uint64_t> destructors_{0}; // that ran
    std::atomic<std::uint64_t> due_{0};         // that had to
    std::atomic<std::uint64_t> numbers_;
    std::atomic<std::size_t> charged_{0};
    long objects_ = 0;
};

} // namespace soak
