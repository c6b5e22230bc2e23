// When a store writes again what its home could not keep.
//
//   well     everything may be written
//   paused   a write has failed: nothing is written for 10 ms, then for twice as long each time, up to 5 s. Where it
//            failed for lack of room, objects that fit what its account has in room since then are written, until one
//            fails: only time helps then
//   tries    the pause is over: one request writes, an object at a time; for others it begins anew. A write that
//            succeeds ends it; if one fails again soon, the next pause is twice as long, too
//
// What the home's own account refuses is another matter: objects of as many bytes wait until it has more room.
// Without it two requests that wait for memory would wake each other for ever: each has the same object written, which
// announces bytes that do not come.
// Cost: 144 bytes; reads the clock only behind a failure. Threads: requires the store's lock.
#pragma once

#include <allot/account/forward.hpp>
#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/min_max.hpp>
#include <allot/spill/home.hpp>
#include <allot/sys/clock.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

class write_backoff {
  public:
    enum class mode : std::uint8_t { well, paused, tries };

    // What one call may have written.
    struct permit {
        std::uint32_t call = 0; // its number
        mode how = mode::well;
        bool is_used = false;             // an object is written by it
        std::size_t too_large = SIZE_MAX; // objects of as many bytes, and more, are not
        std::size_t room = 0;             // of the home's account, when this was said

        bool is_one_by_one() const noexcept { return how != mode::well; }
    };

    static permit for_one(std::size_t room) noexcept { return {.how = mode::tries, .is_used = true, .room = room}; }
    // `before`: what the call was permitted last; at its begin none. `room`: of the home's account now.
    permit next(const permit& before, std::size_t room) const noexcept {
        permit p{before.call, mode::well, before.is_used, refuses(room) ? refused_ : SIZE_MAX, room};
        if (!is_failing_) return p;
        p.is_used = before.is_used && before.how != mode::paused;
        p.how = p.is_used || sys::fine_clock::now() >= until_ ? mode::tries : mode::paused;
        if (p.how == mode::paused) p.too_large = min(p.too_large, room > full_ ? room - full_ + 1 : 0);
        return p;
    }
    // An object is written now.
    void begin(permit& p) noexcept {
        if (p.how == mode::tries && !p.is_used) span_ = doubled(), until_ = sys::fine_clock::now() + span_;
        p.is_used = true;
    }
    // Returns: whether the home is well again.
    bool written(const permit& p) noexcept { return p.how == mode::tries && std::exchange(is_failing_, false); }
    // An object of that many bytes was not written to the home of that account. Returns: the bytes that the account
    // must have free before it is tried again; 0: it has not refused.
    std::size_t failed(const permit& p, const account& by, std::size_t bytes, const home_status& why) noexcept {
        last_ = why;
        if (is_refused_by(by, why)) {
            refused_ = refuses(p.room) ? min(refused_, bytes) : bytes;
            return needs_ = max(why.why.requested, min(bytes, p.room + 1)); // others have refunded some, perhaps
        }
        if (p.how == mode::paused) return full_ = SIZE_MAX, 0;
        const std::uint64_t now = sys::fine_clock::now();
        if (!is_failing_ && now >= until_ + span_) span_ = first_span; // else soon after a try that succeeded
        is_failing_ = true;
        until_ = now + span_;
        full_ = lacks_room(why) ? p.room : SIZE_MAX;
        return 0;
    }
    // False: there is none.
    bool end_pause() noexcept {
        if (is_failing_) until_ = 0;
        return is_failing_;
    }

    // Whether the home's own account refused it, whose room says when it would not.
    static bool is_refused_by(const account& by, const home_status& why) noexcept {
        return why.how == home_status::outcome::refused && why.why.by == refuser::account && why.why.at == &by;
    }
    // Whether something is not written now, or was not where it was tried last: last() says why.
    bool has_failed(std::size_t room) const noexcept { return is_failing_ || refuses(room); }
    const home_status& last() const noexcept { return last_; }
    // On fine_clock; UINT64_MAX: no write has failed since.
    std::uint64_t tries_at() const noexcept { return is_failing_ ? until_ : UINT64_MAX; }
    // How long the pause lasts, in nanoseconds.
    std::uint64_t left() const noexcept {
        const std::uint64_t now = is_failing_ ? sys::fine_clock::now() : until_;
        return now < until_ ? until_ - now : 0;
    }

  private:
    static constexpr std::uint64_t first_span = 10'000'000, longest_span = 5'000'000'000;

    static bool lacks_room(const home_status& s) noexcept {
        return s.how == home_status::outcome::refused || s.error == ENOSPC || s.error == EDQUOT || s.error == EFBIG;
    }
    std::uint64_t doubled() const noexcept { return min(2 * span_, longest_span); }
    bool refuses(std::size_t room) const noexcept { return refused_ != SIZE_MAX && room < needs_; }

    std::size_t refused_ = SIZE_MAX, needs_ = 0; // bytes of an object; the room that the account has not
    std::size_t full_ = SIZE_MAX;                // what it had in room where a write failed for lack of it
    std::uint64_t span_ = 0, until_ = 0;         // nanoseconds; of the last pause
    bool is_failing_ = false;                    // no write has succeeded since
    home_status last_{};
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
