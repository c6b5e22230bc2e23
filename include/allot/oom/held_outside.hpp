// Bytes that no task holds, and that come back by themselves: of a prefetch, a network, another process.
//
//     allot::oom::held_outside prefetch{engine, 64_MiB};   // by any thread, with or without a task
//     ...                                                  // the bytes are charged to accounts below the same root
//     engine.refund(64_MiB);
//     prefetch.end();                                      // or its destructor: behind the refund
//
// While it lives, the arbiter rolls nobody back, splits nothing and refuses nothing where these bytes and those that
// are free would serve the first request that waits; it decides as soon as the token ends. They count for all accounts
// of their kind of memory that have the same arbiter. Without an arbiter it does nothing.
// Cost: 24 bytes, 16 at the arbiter; its lock at begin and end. Threads: one at a time; it may end on another one. The
// account's root outlives it.
#pragma once

#include <allot/account/account.hpp>
#include <allot/config.hpp>
#include <allot/request/command.hpp>
#include <allot/request/judge.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace oom {

class held_outside {
  public:
    held_outside(const account& below, std::size_t bytes) noexcept : by_(below.node().tree().judged), bytes_(bytes) {
        post(event::held_outside);
    }
    held_outside(const held_outside&) = delete;
    held_outside& operator=(const held_outside&) = delete;
    ~held_outside() { end(); }

    /// The bytes are refunded, or will not be. Once: a second call does nothing.
    void end() noexcept {
        post(event::returned);
        by_.by = nullptr;
    }
    std::size_t bytes() const noexcept { return bytes_; }

  private:
    void post(event what) noexcept {
        if (by_.by != nullptr)
            by_.by->post({.what = what, .detail = static_cast<std::uint8_t>(by_.kind), .bytes = bytes_});
    }

    judged_by by_;
    const std::size_t bytes_;
};

} // namespace oom
} // namespace allot::inline ALLOT_ABI
