// Why the last request of this thread was refused, from what refused it up to the function that reports it.
//
// As errno: a function that refuses notes the status and returns null or false; between it and the caller of the
// product nothing passes the status on, so a request that succeeds pays nothing. Each refusal is noted, and only the
// products read it: as the out parameter `why`, and in the out_of_memory of raise_refused().
// Cost: 48 bytes per thread; written and read only where a request fails. Threads: each has its own.
#pragma once

#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/error.hpp>
#include <allot/core/text.hpp>

#include <cstddef>
#include <string_view>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

inline constinit thread_local charge_status last_refusal{};

ALLOT_COLD inline void note_refusal(const charge_status& s) noexcept { last_refusal = s; }
// A refusal without numbers: a misuse, which `what` describes, or no memory of the host.
ALLOT_COLD inline void note_refusal(charge_outcome why, std::size_t bytes, const char* what = "") noexcept {
    last_refusal = {.outcome = why, .requested = bytes, .name = what};
}
// Before a request whose refusal is looked at: one that is not noted must not be taken for an earlier one.
inline void forget_refusal() noexcept { last_refusal.outcome = charge_outcome::fits; }
// The status of the request that has just been refused.
ALLOT_COLD inline charge_status take_refusal(std::size_t bytes) noexcept {
    const charge_status s = std::exchange(last_refusal, charge_status{});
    return s.charged() ? charge_status{.outcome = charge_outcome::no_memory, .requested = bytes} : s;
}
// For a request's out parameter, which may be null. `granted`: whether the request was.
ALLOT_ALWAYS_INLINE void report_status(charge_status* why, bool granted, std::size_t bytes) noexcept {
    if (why != nullptr) *why = granted ? charge_status{} : take_refusal(bytes);
}
template <class T> ALLOT_ALWAYS_INLINE T* with_status(T* got, charge_status* why, std::size_t bytes) noexcept {
    return report_status(why, got != nullptr, bytes), got;
}
// Raises an out_of_memory: the line "allot: REQUEST refused by BY NAME: WHY", and a page of "REQUEST refused: WHY" and
// what rest(out) writes. `request` writes "out of memory: 64 bytes for order".
template <class Request, class Rest>
[[noreturn]] ALLOT_COLD void raise_refused(Request request, std::string_view by, std::string_view name,
                                           const charge_status& why, Rest rest) {
    char line[out_of_memory::line_bytes];
    text_writer text{line};
    request(text.put("allot: "));
    text.put(" refused by ").brief(by).put(name.empty() ? "" : " ").brief(name);
    write(text.put(": "), why);
    const auto write_page = [&](text_writer& out) {
        request(out);
        write(out.put(" refused: "), why);
        rest(out.newline());
    };
    raise(out_of_memory(text.view(), write_page, why));
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
