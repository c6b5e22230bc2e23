// The smallest user: a set, a row manager, rows that are linked, released and counted.
#include <allot/row_manager.hpp>

#include <cstdio>
#include <cstring>

using namespace allot::literals;

struct orders_set : allot::policies<allot::size::packed> {};

int main() {
    allot::row_manager<orders_set> rows{allot::limit{64_MiB}, allot::name{"orders"}};
    void* order = rows.allocate(48);
    std::memset(order, 1, 48);
    rows.link(order);
    allot::release(order);
    const bool held = rows.live_rows() == 1;
    allot::release(order);
    const bool gone = rows.live_rows() == 0;
    std::printf("held: %d, gone: %d\n", held, gone);
    return held && gone ? 0 : 1;
}
