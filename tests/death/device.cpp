// A simulated device that shall abort at the first hazard does, and says why; one that shall not goes on.
#include <support/catch.hpp>
#include <support/death.hpp>

#include <allot/device/simulated.hpp>

namespace device = allot::device;

namespace {

void race(bool abort) {
    device::simulator sim{{.abort_on_hazard = abort}};
    const device::simulated api{sim};
    const auto a = *api.create_stream({0}, device::stream_kind::non_blocking),
               b = *api.create_stream({0}, device::stream_kind::non_blocking);
    void* const p = *api.allocate({0}, 64);
    (void)api.fill_async(p, 1, 64, a);
    (void)api.fill_async(p, 2, 64, b);
}

} // namespace

TEST_CASE("a hazard aborts where it is asked to", "[device]") {
    const death end = death_of([] { race(true); });
    CHECK(end.aborted());
    CHECK_THAT(end.said, ContainsSubstring("allot: hazard: 64 bytes at 0x"));
    CHECK_THAT(end.said, ContainsSubstring("\"fill\" (stream 2, operation 1) is not ordered after \"fill\" (stream 1, "
                                           "operation 1): no event was recorded on stream 1 after it"));
}

TEST_CASE("elsewhere it is reported, as is what was not given back", "[device]") {
    const death end = death_of([] { race(false); });
    CHECK(end.survived());
    CHECK_THAT(end.said, ContainsSubstring("is not ordered after"));
    CHECK_THAT(end.said, ContainsSubstring("allot: leak: plain memory at 0x"));
    CHECK_THAT(end.said, ContainsSubstring("allot: leak: stream 2"));
}
