// expected-error {{row_array needs pages that provide property::movable and property::host_accessible}}
#include <allot/device/simulated.hpp>
#include <allot/device_rows.hpp>
#include <allot/row/moving/row_array.hpp>

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
    allot::row_array<rows_there> array{rows};
    static_cast<void>(array.try_push_back(nullptr));
}
