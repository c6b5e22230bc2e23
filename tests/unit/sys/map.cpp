#include <support/catch.hpp>
#include <support/this_system.hpp>

#include <allot/core/units.hpp>
#include <allot/sys/map.hpp>

#include <cstring>

using namespace allot::literals;
namespace sys = allot::detail::sys;

TEST_CASE("reserved space is aligned, uses no memory, and is committed in parts", "[sys]") {
    const bool counts = support::counts_resident_bytes();
    for (const std::size_t align : {std::size_t{1}, 4_KiB, 64_KiB, 1_MiB, 64_MiB, 1_GiB}) {
        std::byte* const p = sys::reserve(8_MiB, align);
        REQUIRE(p != nullptr);
        CHECK(reinterpret_cast<std::uintptr_t>(p) % align == 0);
        CHECK(sys::resident_bytes(p, 8_MiB) == 0);
        REQUIRE(sys::commit(p + 1_MiB, 2_MiB));
        REQUIRE(sys::commit(p + 2_MiB, 2_MiB)); // some of it again
        std::memset(p + 1_MiB, 7, 3_MiB);
        CHECK((!counts || sys::resident_bytes(p, 8_MiB) >= 3_MiB));
        REQUIRE(sys::decommit(p + 1_MiB, 1_MiB));
        CHECK(p[1_MiB] == std::byte{0});
        CHECK(p[2_MiB] == std::byte{7});
        sys::unmap(p, 8_MiB);
    }
}

TEST_CASE("more address space than there is cannot be reserved", "[sys]") {
    CHECK(sys::reserve(SIZE_MAX - 4_KiB + 1, 1_MiB) == nullptr);
    CHECK(sys::reserve(std::size_t{1} << 62, 1_MiB) == nullptr);
}

TEST_CASE("locked memory can be given back", "[sys]") {
    std::byte* const p = sys::reserve(64_KiB, 64_KiB);
    REQUIRE(p != nullptr);
    REQUIRE(sys::commit(p, 64_KiB));
    if (!sys::lock(p, 64_KiB)) {
        sys::unmap(p, 64_KiB);
        SKIP("this user may not lock memory");
    }
    for (const bool is_said : {false, true}) {
        std::memset(p, 7, 64_KiB);
        if (sys::decommit(p, 64_KiB, is_said)) CHECK(p[5] == std::byte{0}); // Linux 5.18
    }
    sys::unmap(p, 64_KiB);
}

TEST_CASE("the system's figures are plausible", "[sys]") {
    CHECK(allot::detail::is_power_of_two(sys::os_page_bytes()));
    CHECK(sys::os_page_bytes() >= 4_KiB);
    CHECK(sys::physical_memory() >= 64_MiB);
    CHECK(sys::physical_memory() < std::size_t{1} << 48);
}
