// SQLite under a limit: a statement that needs more fails, the report names the holders, and the database is whole.
#include <allot/adapt/sqlite.hpp>
#include <allot/adapt/sqlite_pages.hpp>
#include <allot/row_manager.hpp>
#include <allot/use/containers.hpp>
#include <cstdio>

using namespace allot::literals;

int main() {
    allot::row_manager<allot::use::containers> rows{allot::limit{16_MiB}, allot::name{"SQLite"}};
    allot::adapt::sqlite_memory memory{rows}; // before the first call of SQLite
    allot::adapt::sqlite_pages pages{rows};   // pages that no statement uses are given up for other requests

    sqlite3* db = nullptr;
    if (sqlite3_open(":memory:", &db) != SQLITE_OK) return 1;
    const auto run = [&](const char* sql) { return sqlite3_exec(db, sql, nullptr, nullptr, nullptr); };
    bool refused = false;
    int code = run("create table flights(id integer primary key, note text); insert into flights values(1, 'first')");
    if (code == SQLITE_OK)
        code = run("with recursive n(i) as (select 2 union all select i + 1 from n limit 100000) "
                   "insert into flights select i, hex(randomblob(500)) from n");
    if (code == SQLITE_NOMEM) {
        try {
            memory.rethrow_refusal();
        } catch (const allot::out_of_memory& e) {
            std::printf("%s\n%s", e.what(), e.report());
            refused = true;
        }
    }
    code = run("insert into flights values(2, 'second')"); // the statement was rolled back: there is memory again
    std::printf("%zu pages of the database, %zu MiB charged at the most\n", pages.pages(), rows.peak() >> 20);
    sqlite3_close(db);
    return refused && code == SQLITE_OK && rows.peak() <= 16_MiB ? 0 : 1;
}
