// What reports say of where they come from: dates. That a page has program, host and time: unit/report/html.
#include <support/catch.hpp>

#include <allot/core/text.hpp>
#include <allot/sys/this_run.hpp>

#include <cstdint>
#include <ctime>
#include <string>

TEST_CASE("times are dates of the Gregorian calendar", "[sys]") {
    const auto utc = [](std::uint64_t seconds) {
        char text[64];
        allot::text_writer out{text};
        allot::detail::sys::write_utc(out, seconds);
        return std::string(out.view());
    };
    CHECK(utc(0) == "1970-01-01 00:00:00 UTC");
    CHECK(utc(951'782'400) == "2000-02-29 00:00:00 UTC");
    CHECK(utc(4'107'542'399) == "2100-02-28 23:59:59 UTC");
    CHECK(utc(4'107'542'400) == "2100-03-01 00:00:00 UTC");
    for (std::uint64_t t = 1; t < 20'000'000'000u; t += 86'400 * 9 + 3'601) { // 634 years
        const auto at = static_cast<std::time_t>(t);
        std::tm parts{};
        char text[64];
        std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", ::gmtime_r(&at, &parts));
        REQUIRE(utc(t) == text);
    }
}
