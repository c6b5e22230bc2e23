// SQLite's memory from a row manager, a chunk arena, or blocks that one of its accounts is charged for.
//
//     allot::row_manager<allot::use::containers> rows{allot::limit{64_MiB}};
//     allot::adapt::sqlite_memory memory{rows}; // before the first call of SQLite
//     sqlite3* db = nullptr;
//     sqlite3_open("flights.db", &db);
//     if (sqlite3_step(statement) == SQLITE_NOMEM) memory.rethrow_refusal(); // out_of_memory: who refused, and why
//
// At the limit SQLite has no memory, as it may happen with any allocator: the statement ends with SQLITE_NOMEM, and its
// changes are rolled back. Nothing is thrown through SQLite. The cache of pages is sqlite_pages.hpp.
// Invariant: SQLite has one source in a process, from the constructor to the destructor, which shuts it down.
// Cost: 4 KiB; a request is that of the source, and a load. Threads: any. The last refusals of 16 threads are kept.
// Source: SQLITE_CONFIG_MALLOC, 2008.
#pragma once

#include <allot/adapt/bytes.hpp>
#include <allot/adapt/raise_refused.hpp>
#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/error.hpp>
#include <allot/core/raise_refused.hpp>
#include <allot/core/text.hpp>

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

namespace allot::inline ALLOT_ABI {
namespace adapt {
namespace detail {

// The last refusal of each of 16 threads, the newest ones.
class sqlite_refusals {
  public:
    ALLOT_COLD void keep(const charge_status& why) noexcept {
        const std::lock_guard hold(lock_);
        entry* at = find();
        if (at == nullptr)
            at = std::min_element(kept_.begin(), kept_.end(),
                                  [](const entry& a, const entry& b) { return a.number < b.number; });
        *at = {++last_, std::this_thread::get_id(), why};
    }
    // That of this thread, or else the newest one; of none `fits`.
    charge_status get(bool forget) noexcept {
        const std::lock_guard hold(lock_);
        entry* at = find();
        if (at == nullptr)
            at = std::max_element(kept_.begin(), kept_.end(),
                                  [](const entry& a, const entry& b) { return a.number < b.number; });
        const charge_status why = at->why;
        if (forget) *at = {};
        return why;
    }
    // They name what may end with a source.
    void forget_all() noexcept {
        const std::lock_guard hold(lock_);
        kept_.fill({});
    }

  private:
    struct entry {
        std::uint64_t number = 0; // 0: empty
        std::thread::id by;
        charge_status why;
    };
    entry* find() noexcept {
        const auto by = std::this_thread::get_id();
        for (entry& e : kept_)
            if (e.number != 0 && e.by == by) return &e;
        return nullptr;
    }
    std::mutex lock_;
    std::array<entry, 16> kept_;
    std::uint64_t last_ = 0;
};

// What SQLite has for the whole process. It is changed while SQLite is shut down.
struct sqlite_state {
    bool has_memory = false, has_pages = false; // an object of that kind lives, or ended while SQLite used it
    // Frees pages that no statement uses, of the sqlite_pages: this many bytes, if there are as many. False: none.
    bool (*drop_pages)(std::size_t bytes) noexcept = nullptr;
    sqlite_refusals refusals;
};
inline sqlite_state sqlite;

// Configures SQLite by `code()`; `has` says whether an object of that kind lives.
// Throws: std::logic_error.
template <class Configure> void configure_sqlite(bool& has, const char* object, Configure configure) {
    if (has)
        throw std::logic_error(std::string("allot: another ") + object +
                               " lives, or ended while SQLite used its memory: SQLite has one in a process");
    if (const int code = configure(); code != SQLITE_OK)
        throw std::logic_error(std::string("allot: SQLite is in use: make the ") + object +
                               " before the first call of SQLite, or call sqlite3_shutdown() first (" +
                               sqlite3_errstr(code) + ")");
    has = true;
}
// Requires: the request was refused once. Asks again, also after pages of databases were dropped, and keeps the reason.
template <class Try> ALLOT_COLD void* allocate_for_sqlite(std::size_t bytes, Try try_again) noexcept {
    charge_status why;
    for (const std::size_t drop : {std::size_t{0}, bytes + (std::size_t{256} << 10), SIZE_MAX}) {
        if (drop != 0 && (sqlite.drop_pages == nullptr || !sqlite.drop_pages(drop))) continue;
        if (void* const p = try_again(&why)) return p;
    }
    sqlite.refusals.keep(why);
    return nullptr;
}
// Throws: out_of_memory for the last refusal, with the report of the source.
template <class Source> void rethrow_sqlite_refusal(const Source& source) {
    const charge_status why = sqlite.refusals.get(true);
    if (why.outcome == charge_outcome::fits) return;
    const auto request = [&](text_writer& out) { out.put("out of memory: ").bytes(why.requested); };
    allot::detail::raise_refused(request, "SQLite's memory", "", why, why.requested, [&](text_writer& out) {
        if constexpr (requires { source.report(out); }) source.report(out);
    });
}

} // namespace detail

/// What SQLite allocates comes from the source: sqlite3_malloc() and all that SQLite needs itself.
/// Requires: the source outlives it. All databases are closed and all of sqlite3_malloc() is freed when it ends; SQLite
/// is not used by another thread meanwhile.
template <class Source>
    requires row_source<Source> || block_source<Source>
class sqlite_memory {
  public:
    /// Throws: std::logic_error if SQLite is in use, or another sqlite_memory lives.
    explicit sqlite_memory(Source& source) {
        detail::configure_sqlite(detail::sqlite.has_memory, "sqlite_memory", [&] {
            if (const int code = sqlite3_config(SQLITE_CONFIG_GETMALLOC, &before_); code != SQLITE_OK) return code;
            static constexpr auto begin = [](void*) noexcept { return SQLITE_OK; };
            static constexpr auto end = [](void*) noexcept {};
            const sqlite3_mem_methods mine{&allocate, &free, &resize, &size, &round_up, begin, end, nullptr};
            return sqlite3_config(SQLITE_CONFIG_MALLOC, &mine);
        });
        at = &source;
        for (std::size_t i = 0; i != rounded.size(); ++i) rounded[i] = round_up_slow(i * 8);
    }
    sqlite_memory(const sqlite_memory&) = delete;
    sqlite_memory& operator=(const sqlite_memory&) = delete;
    /// Shuts SQLite down; it has its former memory again. If SQLite still has memory of the source, as of an open
    /// database, that is misuse: then SQLite gets no memory any more, and does not free what it has.
    ~sqlite_memory() {
        sqlite3_shutdown();
        at = nullptr;
        detail::sqlite.refusals.forget_all();
        if (living_allocations() != 0) {
            allot::detail::report_misuse(
                {.kind = misuse::living_handle, .heap = "sqlite_memory: a database is not closed"});
            return;
        }
        sqlite3_config(SQLITE_CONFIG_MALLOC, &before_);
        detail::sqlite.has_memory = false;
    }

    /// Returns: why the last request of this thread was refused that was not rethrown, or else that of another one: what
    /// refused it, and its numbers. An outcome of `fits`: none was.
    charge_status why() const noexcept { return detail::sqlite.refusals.get(false); }
    /// Forgets that refusal and throws it, with the report of the source: who holds the memory. Returns where there is
    /// none.
    /// Throws: out_of_memory.
    void rethrow_refusal() const { detail::rethrow_sqlite_refusal(*at); }
    Source& source() const noexcept { return *at; }

  private:
    static constexpr std::size_t align = 8; // as SQLite requires
    static constexpr int most = 0x7fffff00; // that SQLite requests at once

    static std::size_t unsigned_of(int n) noexcept { return static_cast<std::size_t>(n); }
    static int signed_of(std::size_t n) noexcept { return static_cast<int>(std::min<std::size_t>(n, most)); }
    static sqlite3_int64 living_allocations() noexcept {
        sqlite3_int64 now = 0, highest = 0;
        sqlite3_status64(SQLITE_STATUS_MALLOC_COUNT, &now, &highest, 0);
        return now;
    }

    // ---- what SQLite calls, with sizes above 0
    static void* allocate(int n) noexcept {
        Source* const from = at;
        if (ALLOT_UNLIKELY(from == nullptr)) return nullptr;
        if (void* const p = adapt::try_allocate(*from, unsigned_of(n), align); ALLOT_LIKELY(p != nullptr)) return p;
        return detail::allocate_for_sqlite(
            unsigned_of(n), [=](charge_status* why) { return adapt::try_allocate(*from, unsigned_of(n), align, why); });
    }
    static void free(void* p) noexcept {
        if (Source* const to = at; ALLOT_LIKELY(to != nullptr)) adapt::release(*to, p);
    }
    static void* resize(void* p, int n) noexcept {
        Source* const from = at;
        if (ALLOT_UNLIKELY(from == nullptr)) return nullptr;
        const std::size_t keep = std::min(from->capacity(p), unsigned_of(n));
        if (void* const q = adapt::try_resize(*from, p, keep, unsigned_of(n), align); ALLOT_LIKELY(q != nullptr))
            return q;
        return detail::allocate_for_sqlite(unsigned_of(n), [=](charge_status* why) {
            return adapt::try_resize(*from, p, keep, unsigned_of(n), align, why);
        });
    }
    static int size(void* p) noexcept {
        Source* const of = at;
        return ALLOT_LIKELY(of != nullptr && p != nullptr) ? signed_of(of->capacity(p)) : 0;
    }
    static int round_up(int n) noexcept {
        const std::size_t i = (unsigned_of(n) + 7) / 8;
        return ALLOT_LIKELY(i < rounded.size()) ? rounded[i] : round_up_slow(unsigned_of(n));
    }
    ALLOT_NOINLINE static int round_up_slow(std::size_t n) noexcept {
        const std::size_t has = at != nullptr ? at->capacity_for(n) : 0;
        return has >= n && has <= most ? static_cast<int>(has) : signed_of((n + 7) / 8 * 8);
    }

    static inline Source* at = nullptr;         // null: SQLite was shut down
    static inline std::array<int, 513> rounded; // of multiples of 8 up to 4096
    sqlite3_mem_methods before_{};
};

} // namespace adapt
} // namespace allot::inline ALLOT_ABI
