// When a store writes again what its home could not keep.
//
// Without it two requests that wait for memory would wake each other for ever: each has the same object written, which
// announces bytes that do not come.
// Cost: 40 bytes; reads the clock only behind a failure. Threads: requires the store's lock.
#pragma once

#include <allot/config.hpp>
#include <allot/sys/clock.hpp>
#include <allot/sys/parking.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

class write_backoff {
  public:
    // Objects of as many bytes, and more, are not written now; SIZE_MAX: all are. `room`: of the home's account.
    std::size_t too_large(std::size_t room) const noexcept {
        if (next_ != 0 && room <= failed_room_ && !sys::parking::is_past(next_)) return 0;
        return room > room_ ? SIZE_MAX : refused_;
    }
    // Until its account has more room.
    void refused(std::size_t bytes, std::size_t room) noexcept {
        refused_ = bytes;
        room_ = room;
    }
    // For 10 ms, and twice as long each time, up to 5 s; or until its account has more room than at any failure: a disk
    // that was full is not any more, perhaps.
    void failed(std::size_t room) noexcept {
        if (next_ == 0 || room > failed_room_) failed_room_ = room;
        span_ = span_ == 0 ? 10'000'000 : span_ < 2'500'000'000 ? span_ * 2 : 5'000'000'000;
        next_ = sys::fine_clock::now() + span_;
    }

  private:
    std::size_t refused_ = SIZE_MAX, room_ = 0, failed_room_ = 0;
    std::uint64_t span_ = 0, next_ = 0; // nanoseconds; 0: it did not fail
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
