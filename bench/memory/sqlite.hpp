// SQLite over a row manager, and over glibc: an in-memory database with `rows` rows of 10 to 400 bytes, inserted in one
// transaction; two indexes; a grouping and a sorted grouping. Peaks of bytes.
#pragma once

#include <memory/child.hpp>

#include <allot/row_manager.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sqlite3.h>

namespace bench {

struct sqlite_rows : allot::policies<allot::heap::per_thread, allot::count::none, allot::oom::null> {};

// SQLite's memory methods: From has static members allocate(n), release(p), usable(p).
template <class From> sqlite3_mem_methods sqlite_methods() {
    sqlite3_mem_methods all{};
    all.xMalloc = [](int n) { return From::allocate(static_cast<std::size_t>(n)); };
    all.xFree = [](void* p) { From::release(p); };
    all.xSize = [](void* p) { return p != nullptr ? static_cast<int>(From::usable(p)) : 0; };
    all.xRealloc = [](void* p, int bytes) -> void* {
        const auto n = static_cast<std::size_t>(bytes), had = From::usable(p);
        if (n <= had && n * 4 >= had * 3) return p;
        void* const q = From::allocate(n);
        if (q == nullptr) return nullptr;
        std::memcpy(q, p, n < had ? n : had);
        From::release(p);
        return q;
    };
    all.xRoundup = [](int n) { return (n + 7) & ~7; };
    all.xInit = [](void*) { return SQLITE_OK; };
    all.xShutdown = [](void*) {};
    return all;
}

struct sqlite_over_rows {
    static inline allot::row_manager<sqlite_rows>* rows = nullptr;
    static void* allocate(std::size_t n) { return rows->allocate(n); }
    static void release(void* p) { rows->release(p); }
    static std::size_t usable(void* p) { return allot::capacity(p); }
};
// With the bytes asked for in front of each block; they are not counted as asked for.
struct sqlite_over_glibc {
    static inline asked_bytes asked;
    static inline glibc_peak peak;
    static void* allocate(std::size_t n) {
        auto* const at = static_cast<std::size_t*>(std::malloc(n + sizeof(std::size_t)));
        if (at == nullptr) return nullptr;
        *at = n;
        asked.add(n);
        peak.look();
        return at + 1;
    }
    static void release(void* p) {
        if (p == nullptr) return;
        asked.remove(usable(p));
        std::free(static_cast<std::size_t*>(p) - 1);
    }
    static std::size_t usable(void* p) { return static_cast<std::size_t*>(p)[-1]; }
};

// False: SQLite reports an error.
inline bool run_sqlite(int rows) {
    sqlite3* db = nullptr;
    bool good = sqlite3_open(":memory:", &db) == SQLITE_OK;
    const auto run = [&](const char* sql, auto bind, int times) {
        sqlite3_stmt* s = nullptr;
        good = good && sqlite3_prepare_v2(db, sql, -1, &s, nullptr) == SQLITE_OK;
        for (int i = 0; good && i != times; ++i) {
            bind(s, i);
            int state = sqlite3_step(s);
            while (state == SQLITE_ROW) state = sqlite3_step(s);
            good = state == SQLITE_DONE;
            sqlite3_reset(s);
        }
        sqlite3_finalize(s);
    };
    const auto plain = [&](const char* sql) { run(sql, [](sqlite3_stmt*, int) {}, 1); };
    plain("create table t(id integer primary key, name text, v real, b blob)");
    plain("begin");
    unsigned x = 1;
    char text[400];
    std::memset(text, 'x', sizeof text);
    run(
        "insert into t(name, v, b) values(?, ?, ?)",
        [&](sqlite3_stmt* s, int) {
            x = x * 1103515245 + 12345;
            const int written = std::snprintf(text, sizeof text, "name%u", x);
            text[written] = 'x';
            sqlite3_bind_text(s, 1, text, 10 + static_cast<int>((x >> 16) % 100), SQLITE_TRANSIENT);
            sqlite3_bind_double(s, 2, x * 0.5);
            sqlite3_bind_blob(s, 3, text, static_cast<int>((x >> 8) % 300), SQLITE_TRANSIENT);
        },
        rows);
    plain("commit");
    plain("create index by_name on t(name)");
    plain("create index by_v on t(v)");
    plain("select substr(name, 1, 6) k, count(*), sum(v) from t group by k order by 2 desc");
    plain("select name, count(*) from t where v < 1e9 group by name order by name");
    return sqlite3_close(db) == SQLITE_OK && good;
}

inline peaks sqlite_over_a_manager(int n) {
    return in_child<peaks>([n] {
        allot::row_manager<sqlite_rows> rows{allot::name{"sqlite"}};
        sqlite_over_rows::rows = &rows;
        sqlite3_mem_methods methods = sqlite_methods<sqlite_over_rows>();
        sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
        const bool good = run_sqlite(n);
        sqlite3_shutdown();
        return peaks{0, good ? rows.peak() : 0};
    });
}
inline peaks sqlite_over_malloc(int n) {
    return in_child<peaks>([n] {
        sqlite3_mem_methods methods = sqlite_methods<sqlite_over_glibc>();
        sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
        if (!run_sqlite(n)) return peaks{};
        return peaks{sqlite_over_glibc::asked.peak(), sqlite_over_glibc::peak.bytes()};
    });
}

} // namespace bench
