// SQLite, recorded: the in-memory database of bench/memory/sqlite.hpp, with its indexes and groupings.
#include "record.hpp"

#include <stdexcept>

#if __has_include(<sqlite3.h>)
#include <memory/sqlite.hpp>

#include <allot/adapt/recorded.hpp>
#include <allot/use/containers.hpp>

namespace record {
namespace {

using source = allot::adapt::recorded<allot::row_manager<allot::use::containers>>;

struct recorded_rows {
    static inline source* rows = nullptr;
    static void* allocate(std::size_t n) { return rows->try_allocate(n); }
    static void release(void* p) { rows->release(p); }
    static std::size_t usable(void* p) { return rows->capacity(p); }
};

} // namespace

void sqlite(allot::recording& to, int rows) {
    allot::row_manager<allot::use::containers> manager;
    source from{manager, to};
    recorded_rows::rows = &from;
    sqlite3_mem_methods methods = bench::sqlite_methods<recorded_rows>();
    methods.xRealloc = [](void* p, int bytes) {
        const auto n = static_cast<std::size_t>(bytes);
        return allot::adapt::try_resize(*recorded_rows::rows, p, std::min(n, recorded_rows::usable(p)), n, 8);
    };
    sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
    const bool good = bench::run_sqlite(rows);
    sqlite3_shutdown();
    if (!good) throw std::runtime_error("SQLite reports an error");
}

} // namespace record
#else
void record::sqlite(allot::recording&, int) {
    throw std::runtime_error("there is no sqlite3.h: install libsqlite3-dev");
}
#endif
