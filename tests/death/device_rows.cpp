// What must not be done to rows in a device's memory ends a checked build; and the memory of the simulated machine that
// other tests use cannot be touched by the host without ending the program.
#include <support/catch.hpp>
#include <support/death.hpp>

#include <allot/device/simulated.hpp>
#include <allot/device_rows.hpp>

#include <cstdint>

using namespace allot::literals;

namespace {

struct on_device : allot::policies<allot::page::on_device<allot::device::simulated>> {};
const allot::row_type ends{"ends", [](void*) noexcept {}, 8};

struct fixture {
    allot::device::simulator gpu{{.execution = allot::device::execution::none}};
    allot::row_manager<on_device> rows{allot::device::simulated{gpu}, allot::limit{64_MiB}, allot::page_bytes{64_KiB}};
};
template <class Body> death reported(Body body) {
    const death end = death_of([&] {
        fixture f;
        body(f);
    });
    INFO(end.said);
    CHECK(end.aborted());
    return end;
}

} // namespace

TEST_CASE("the host cannot touch a row of the simulated device", "[death]") {
    fixture f;
    for (const std::size_t bytes : {8u, 1000000u}) {
        auto* const row = static_cast<volatile unsigned char*>(f.rows.allocate(bytes));
        CHECK(death_of([&] { *row = 1; }).ended_by_force());
        CHECK(death_of([&] { static_cast<void>(*row); }).ended_by_force());
        CHECK(death_of([&] { static_cast<void>(row[-4]); }).ended_by_force());
        CHECK(death_of([&] { f.rows.release(const_cast<unsigned char*>(row)); }).survived());
        f.rows.release(const_cast<unsigned char*>(row));
    }
}

TEST_CASE("device rows: objects and seals are refused", "[death]") {
    for (const std::size_t bytes : {8u, 1000000u}) {
        CHECK_THAT(reported([&](fixture& f) { allot::finalize(f.rows.allocate(bytes, ends)); }).said,
                   ContainsSubstring("memory that the host must not touch"));
        CHECK_THAT(reported([&](fixture& f) { allot::seal(f.rows.allocate(bytes)); }).said,
                   ContainsSubstring("memory that the host must not touch"));
    }
}

TEST_CASE("device rows: misuse of addresses is reported as on the host", "[death]") {
    CHECK_THAT(reported([](fixture& f) {
                   void* const p = f.rows.allocate(8);
                   f.rows.link(p);
                   f.rows.release(p);
                   f.rows.release(p);
                   f.rows.release(p);
               }).said,
               ContainsSubstring("released twice"));
    CHECK_THAT(reported([](fixture& f) { allot::release(static_cast<std::byte*>(f.rows.allocate(64)) + 8); }).said,
               ContainsSubstring("inside of a row"));
    CHECK_THAT(reported([](fixture& f) { f.rows.release(static_cast<std::byte*>(f.rows.allocate(1000000)) + 8); }).said,
               ContainsSubstring("inside of a row"));
    // a page without rows, and the inside of a huge row
    CHECK_THAT(reported([](fixture& f) { f.rows.release(f.rows.arena().end() - 64); }).said,
               ContainsSubstring("an address in a page where no row starts"));
    CHECK_THAT(reported([](fixture& f) {
                   auto local = f.rows.local();
                   local.release(f.rows.arena().end() - 64);
               }).said,
               ContainsSubstring("an address in a page where no row starts"));
    CHECK_THAT(
        reported([](fixture& f) { f.rows.release(static_cast<std::byte*>(f.rows.allocate(1000000)) + 128_KiB); }).said,
        ContainsSubstring("an address in a page where no row starts"));
}
