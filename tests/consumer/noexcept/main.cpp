// Without exceptions a manager that is full answers with null, and every row can be given back.
#include <allot/row_manager.hpp>

#include <cstdio>
#include <vector>

using namespace allot::literals;

struct quiet_set : allot::policies<allot::oom::null> {};

int main() {
    allot::row_manager<quiet_set> rows{allot::limit{8_MiB}};
    std::vector<void*> held;
    while (void* row = rows.allocate(1000)) held.push_back(row);
    const bool refused = rows.try_allocate(1_MiB) == nullptr;
    const std::size_t most = held.size();
    for (void* row : held) rows.release(row);
    const bool empty = rows.live_rows() == 0;
    std::printf("%zu rows in 8 MiB, then null: %d, all released: %d\n", most, refused, empty);
    return refused && empty && most > 6000 ? 0 : 1;
}
