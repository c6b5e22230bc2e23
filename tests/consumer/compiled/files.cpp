// Spill files, whose switches are in the names of their symbols.
#include <allot/spill/store/spill_files.hpp>

bool make_files(allot::account& query) {
    const allot::spill_files files{query, "/tmp"};
    return files.stats().files != 0;
}
