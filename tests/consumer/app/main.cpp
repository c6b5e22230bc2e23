// First rows: a limit, two rows, a second link, and what is left.
#include <allot/row_manager.hpp>
#include <cstdio>
#include <cstring>

using namespace allot::literals;

struct orders_set : allot::policies<allot::size::packed> {}; // a set of policies; its name is in every report

int main() {
    allot::row_manager<orders_set> rows{allot::limit{64_MiB}, allot::name{"orders"}};
    void* order = rows.allocate(48); // one link
    void* line = rows.allocate(100);
    std::memset(order, 1, 48);
    rows.link(order);      // two links
    allot::release(order); // one link; the address is enough
    const bool held = rows.live_rows() == 2;
    std::printf("%zu rows live\n", rows.live_rows());
    allot::release(order); // the last link frees the row
    rows.release(line);
    std::printf("%zu rows live\n", rows.live_rows());
    return held && rows.live_rows() == 0 ? 0 : 1;
}
