// expected-error {{rows on a device: rows_in_flight::compact()}}
#include <allot/device/simulated.hpp>
#include <allot/device_rows.hpp>

#if WRONG
struct rows_there : allot::policies<allot::page::on_device<allot::device::simulated>> {};
#else
struct rows_there : allot::policies<> {};
#endif

int main() {
    allot::device::simulator gpu;
#if WRONG
    allot::row_manager<rows_there> rows{allot::device::simulated{gpu}};
#else
    allot::row_manager<rows_there> rows;
#endif
    rows.compact({});
}
