// Which program runs, on which host, and what time it is there: what a report says of where it comes from.
//
// Cost: a system call; allocates nothing. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>
#include <allot/sys/clock.hpp>
#include <allot/sys/fault.hpp>

#include <cerrno>
#include <cstdint>
#include <ctime>
#include <unistd.h>

namespace allot::inline ALLOT_ABI {
namespace detail::sys {

// Writes "2026-03-01 09:30:05 UTC", for seconds since 1970 without leap seconds, as the system counts them.
inline void write_utc(text_writer& out, std::uint64_t seconds) noexcept {
    // The Gregorian calendar in years from March on, since February ends them: 400 of them have 146,097 days.
    const std::uint64_t days = seconds / 86'400 + 719'468, of_era = days % 146'097;
    const std::uint64_t year = (of_era - of_era / 1'460 + of_era / 36'524 - of_era / 146'096) / 365;
    const std::uint64_t of_year = of_era - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;
    const auto two = [&](char before, std::uint64_t n) { out.put(before).number(n / 10).number(n % 10); };
    out.number(days / 146'097 * 400 + year + (month >= 10 ? 1 : 0));
    two('-', month >= 10 ? month - 9 : month + 3);
    two('-', of_year - (153 * month + 2) / 5 + 1);
    two(' ', seconds / 3'600 % 24);
    two(':', seconds / 60 % 60);
    two(':', seconds % 60);
    out.put(" UTC");
}
// Writes "flights on host7, 2026-03-01 09:30:05 UTC", without the host where the system does not say it.
inline void write_this_run(text_writer& out) noexcept {
    char host[256] = "";
    if (fault::should_fail() || ::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
    out.name(program_invocation_short_name);
    if (host[0] != '\0') out.put(" on ").name(host);
    write_utc(out.put(", "), detail::nanoseconds(CLOCK_REALTIME) / 1'000'000'000u);
}

} // namespace detail::sys
} // namespace allot::inline ALLOT_ABI
