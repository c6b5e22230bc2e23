// A row that another file made is released by its address alone; an error that it threw is caught, and says who holds
// memory.
#include "makes.hpp"

#include <allot/spill/store/spill_files.hpp>
#include <cstdio>
#include <cstring>

using namespace allot::literals;

int main() {
    allot::account query{allot::name{"query 7"}, allot::limit{4_MiB}};
    shared_manager rows{query, allot::name{"sort"}};
    void* const row = make_row(rows, 100);
    const bool made = rows.live_rows() == 1;
    allot::release(row); // the table of arenas knows its manager
    const bool released = rows.live_rows() == 0;
    bool refused = false;
    try {
        make_row(rows, 8_MiB);
    } catch (const allot::out_of_memory& e) {
        refused = std::strstr(e.report(), "query 7") != nullptr;
    }
    allot::spill_files files{query, "/tmp"};
    std::printf("%s\n", made && released && refused ? "one program" : "wrong");
    return made && released && refused ? 0 : 1;
}
