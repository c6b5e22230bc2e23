#include <support/simulated_machine.hpp>

#include <allot/device/error.hpp>
#include <allot/device/result.hpp>

namespace device = allot::device;

TEST_CASE("a result is a value or an error with its call", "[device]") {
    const device::result<int> good = 7;
    CHECK(good);
    CHECK(*good == 7);
    CHECK(good.value_or(1) == 7);
    CHECK(good.kind() == device::failure::none);
    const device::result<int> bad = device::error{"cuMemCreate", 2, device::failure::out_of_memory};
    CHECK_FALSE(bad);
    CHECK(bad.value_or(1) == 1);
    CHECK(bad.kind() == device::failure::out_of_memory);
    CHECK(text_of_finding(bad.error()) == "cuMemCreate: out of memory (code 2)");
    CHECK(device::result<>{});
    CHECK_FALSE(device::result<>{bad.error()});
    STATIC_REQUIRE(sizeof(device::result<>) == 16);
    STATIC_REQUIRE(sizeof(device::simulated) == sizeof(void*));
}

TEST_CASE("each failure has a text and CUDA's code", "[device]") {
    for (int i = 0; i <= static_cast<int>(device::failure::other); ++i) {
        const auto kind = static_cast<device::failure>(i);
        CHECK(device::text_of(kind).size() > 5);
        CHECK((device::detail::native_code(kind) == 0) == (kind == device::failure::none));
    }
}
