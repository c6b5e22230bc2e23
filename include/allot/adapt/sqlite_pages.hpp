// The pages of SQLite's databases, in memory of a row manager, a chunk arena, or blocks charged to an account.
//
//     allot::adapt::sqlite_memory memory{rows};
//     allot::adapt::sqlite_pages pages{rows}; // before the first call of SQLite
//
// Pages that no statement uses are kept as long as their database allows it (PRAGMA cache_size). They are given up for
// requests that an account refuses, for SQLite's own requests, and for pages of other databases. Pages of databases in
// memory, and pages that were changed and not written, are never given up.
//
// Invariant: SQLite uses a cache on one thread at a time; another one enters it as sync/owner_entry.hpp says. No memory
// is requested inside, so that a request may drop pages of any cache.
// Cost: 28 bytes per page and their growth by doubling; a look-up is two stores and three loads more than SQLite's own.
// Threads: any. Source: SQLITE_CONFIG_PCACHE2, 2011.
#pragma once

#include <allot/account/account.hpp>
#include <allot/adapt/bytes.hpp>
#include <allot/adapt/sqlite.hpp>
#include <allot/adapt/sqlite_cache.hpp>
#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/error.hpp>
#include <allot/reclaim/reclaimer.hpp>
#include <allot/reclaim/shortage.hpp>
#include <allot/sync/full_fence.hpp>
#include <allot/sync/owner_entry.hpp>
#include <allot/sync/pause.hpp>
#include <allot/sys/process_fence.hpp>

#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace adapt {

/// The pages of SQLite's databases come from the source.
/// Requires: the source, and the account, outlive it. All databases are closed when it ends; SQLite is not used by
/// another thread meanwhile.
template <class Source>
    requires row_source<Source> || block_source<Source>
class sqlite_pages final : public reclaimer {
    using cache = detail::sqlite_cache;
    using page = cache::page;

  public:
    /// Called for requests that the account of the source refuses, or one above; where it has none, only for SQLite's.
    /// Throws: std::logic_error if SQLite is in use, or another sqlite_pages lives.
    explicit sqlite_pages(Source& source, std::uint32_t cost = 1)
        : reclaimer("pages of SQLite", cost), source_(source) {
        configure();
        if constexpr (requires { source.account(); }) add_to(source.account());
    }
    /// Called for requests that this account refuses, or one above or below.
    sqlite_pages(Source& source, allot::account& of, std::uint32_t cost = 1)
        : reclaimer("pages of SQLite", cost, reach::below_too), source_(source) {
        configure();
        add_to(of);
    }
    /// Shuts SQLite down; it has its former cache again. If a database is open, that is misuse: then SQLite is not shut
    /// down, and can open no database any more.
    ~sqlite_pages() {
        if (account_ != nullptr) account_->remove(*this);
        detail::sqlite.drop_pages = nullptr;
        detail::sqlite.refusals.forget_all();
        at = nullptr;
        if (first_ != nullptr) {
            allot::detail::report_misuse(
                {.kind = misuse::living_handle, .heap = "sqlite_pages: a database is not closed"});
            return;
        }
        sqlite3_shutdown();
        sqlite3_config(SQLITE_CONFIG_PCACHE2, &before_);
        detail::sqlite.has_pages = false;
    }

    /// Pages of all databases; those that can be given up now.
    std::size_t pages() const noexcept {
        return sum([](const cache& c) { return std::size_t{c.count()}; });
    }
    std::size_t unused_pages() const noexcept {
        return sum([](const cache& c) { return std::size_t{c.unused()}; });
    }
    /// Gives up pages that no statement uses, the oldest of each database first.
    /// Returns: their bytes; at least `bytes`, if there are as many.
    std::size_t drop(std::size_t bytes) noexcept {
        std::size_t freed = 0;
        chain dropped;
        {
            const std::lock_guard hold(lock_);
            if (!block_owners()) return 0;
            for (cache* c = first_; c != nullptr; c = c->next) {
                if (!c->entry.is_blocked()) continue;
                if (freed < bytes) c->entry.wait_for_owner();
                while (freed < bytes) {
                    page* const p = c->pull_oldest();
                    if (p == nullptr) break;
                    dropped.add(*p);
                    freed += c->page_bytes();
                }
                c->entry.unblock_owner();
            }
        }
        release(dropped);
        return freed;
    }
    bool reclaim(const shortage& s) noexcept override { return drop(s.critical ? SIZE_MAX : s.missing()) != 0; }

  private:
    // Pages that are in no cache any more. They are released without a lock held.
    struct chain {
        page* first = nullptr;
        void add(page& p) noexcept { p.shown.pBuf = std::exchange(first, &p); }
    };
    // SQLite's thread in a cache.
    class inside {
      public:
        ALLOT_ALWAYS_INLINE explicit inside(cache& c) noexcept : entry_(c.entry) {
            while (ALLOT_UNLIKELY(!entry_.enter())) allot::detail::yield();
        }
        ALLOT_ALWAYS_INLINE ~inside() { entry_.leave(); }
        inside(const inside&) = delete;
        inside& operator=(const inside&) = delete;

      private:
        allot::detail::owner_entry& entry_;
    };

    void configure() {
        detail::configure_sqlite(detail::sqlite.has_pages, "sqlite_pages", [&] {
            if (const int code = sqlite3_config(SQLITE_CONFIG_GETPCACHE2, &before_); code != SQLITE_OK) return code;
            static constexpr auto begin = [](void*) noexcept { return SQLITE_OK; };
            static constexpr auto end = [](void*) noexcept {};
            const sqlite3_pcache_methods2 mine{1,      nullptr, begin,  end,       &create,  &set_most, &count_of,
                                               &fetch, &unpin,  &rekey, &truncate, &destroy, &shrink};
            return sqlite3_config(SQLITE_CONFIG_PCACHE2, &mine);
        });
        fences_ = !allot::detail::sys::prepare_process_fence();
        at = this;
        detail::sqlite.drop_pages = [](std::size_t bytes) noexcept { return at->drop(bytes) != 0; };
    }
    void add_to(allot::account& of) {
        account_ = &of;
        of.add(*this);
    }
    // Requires lock_. Returns: false if there is no page to drop, or the system has no fence now.
    bool block_owners() noexcept {
        bool has_some = false;
        for (cache* c = first_; c != nullptr; c = c->next)
            if (c->unused() != 0) c->entry.block_owner(), has_some = true;
        if (!has_some) return false;
        if (fences_) allot::detail::full_fence();
        else if (!allot::detail::sys::process_fence()) {
            for (cache* c = first_; c != nullptr; c = c->next) c->entry.unblock_owner();
            return false;
        }
        return true;
    }
    template <class Of> std::size_t sum(Of of) const noexcept {
        const std::lock_guard hold(lock_);
        std::size_t n = 0;
        for (const cache* c = first_; c != nullptr; c = c->next) n += of(*c);
        return n;
    }

    // ---- memory; none once the object has ended
    static void* allocate(std::size_t bytes) noexcept {
        return ALLOT_LIKELY(at != nullptr) ? adapt::try_allocate(at->source_, bytes, 8) : nullptr;
    }
    ALLOT_COLD static void* allocate_again(std::size_t bytes) noexcept {
        if (at == nullptr) return nullptr;
        return detail::allocate_for_sqlite(
            bytes, [=](charge_status* why) { return adapt::try_allocate(at->source_, bytes, 8, why); });
    }
    static void release(void* p) noexcept {
        if (at != nullptr) adapt::release(at->source_, p);
    }
    static void release(const chain& pages) noexcept {
        for (page *p = pages.first, *next = nullptr; p != nullptr; p = next) {
            next = static_cast<page*>(p->shown.pBuf);
            release(p);
        }
    }

    // ---- what SQLite calls, for one cache on one thread at a time
    static cache& of(sqlite3_pcache* c) noexcept { return *reinterpret_cast<cache*>(c); }
    static page& of(sqlite3_pcache_page* p) noexcept { return *reinterpret_cast<page*>(p); }

    static sqlite3_pcache* create(int page_bytes, int extra, int purgeable) noexcept {
        void* memory = allocate(sizeof(cache));
        if (memory == nullptr) memory = allocate_again(sizeof(cache));
        if (memory == nullptr) return nullptr;
        auto* const made = new (memory) cache(page_bytes, extra, purgeable != 0, at->fences_);
        const std::lock_guard hold(at->lock_);
        made->next = at->first_;
        if (at->first_ != nullptr) at->first_->before = made;
        at->first_ = made;
        return reinterpret_cast<sqlite3_pcache*>(made);
    }
    static void destroy(sqlite3_pcache* in) noexcept {
        cache& c = of(in);
        if (at == nullptr) return;
        {
            const std::lock_guard hold(at->lock_); // no other thread is in it from here on
            (c.before != nullptr ? c.before->next : at->first_) = c.next;
            if (c.next != nullptr) c.next->before = c.before;
        }
        c.for_each_from(0, [&](page& p) {
            c.pull(p);
            release(&p);
        });
        if (c.table() != nullptr) release(c.table());
        c.~cache();
        release(&c);
    }
    // `make`: 0: only a page that is there; 1: also a new one, unless SQLite had better write some first; 2: also a new
    // one.
    static sqlite3_pcache_page* fetch(sqlite3_pcache* in, unsigned key, int make) noexcept {
        cache& c = of(in);
        if (ALLOT_UNLIKELY(!c.entry.enter())) return fetch_waiting(in, key, make); // this path needs no frame
        page* const p = c.use(key);
        c.entry.leave();
        if (ALLOT_LIKELY(p != nullptr)) return &p->shown;
        return make != 0 ? fetch_new(c, key, make == 2) : nullptr;
    }
    ALLOT_NOINLINE static sqlite3_pcache_page* fetch_waiting(sqlite3_pcache* in, unsigned key, int make) noexcept {
        while (of(in).entry.is_blocked()) allot::detail::yield();
        return fetch(in, key, make);
    }
    ALLOT_NOINLINE static sqlite3_pcache_page* fetch_new(cache& c, unsigned key, bool in_any_case) noexcept {
        bool needs_table = false;
        {
            const inside here(c);
            if (!in_any_case && !c.has_room()) return nullptr;
            if (c.is_full()) return put(c, *c.pull_oldest(), key);
            needs_table = c.needs_table();
        }
        if (ALLOT_UNLIKELY(needs_table) && !grow(c)) return nullptr;
        // A database that grows, by 1 MiB or so, does not grow beside memory that sorts and other sizes left empty.
        if (ALLOT_UNLIKELY(c.has_grown()) && at != nullptr) at->source_.trim();
        void* memory = allocate(c.page_bytes());
        if (ALLOT_UNLIKELY(memory == nullptr)) {
            if (c.is_purgeable()) {
                const inside here(c);
                if (page* const p = c.pull_oldest()) return put(c, *p, key);
            }
            if (memory = allocate_again(c.page_bytes()); memory == nullptr) return nullptr;
        }
        const inside here(c);
        return put(c, *new (memory) page, key);
    }
    // Requires: inside `c`.
    static sqlite3_pcache_page* put(cache& c, page& p, unsigned key) noexcept {
        auto* const buffer = reinterpret_cast<std::byte*>(&p + 1);
        std::byte* const extra = buffer + c.buffer_bytes();
        p.shown = {buffer, extra};
        std::memset(extra, 0, std::min(c.extra_bytes(), sizeof(void*))); // SQLite sees by it that the page is new
        c.put(p, key);
        return &p.shown;
    }
    ALLOT_COLD static bool grow(cache& c) noexcept {
        const std::size_t bytes = cache::table_bytes(c.next_size());
        void* memory = allocate(bytes);
        if (memory == nullptr) memory = allocate_again(bytes);
        void* old = nullptr;
        {
            const inside here(c);
            if (memory == nullptr) return !c.needs_table(); // a page was dropped meanwhile
            old = c.set_table(memory, c.next_size());
        }
        if (old != nullptr) release(old);
        return true;
    }
    static void unpin(sqlite3_pcache* in, sqlite3_pcache_page* shown, int discard) noexcept {
        cache& c = of(in);
        page& p = of(shown);
        {
            const inside here(c);
            if (discard == 0 && c.count() <= c.most()) return c.set_unused(p); // never of a database in memory
            c.pull(p);
        }
        release(&p);
    }
    static void rekey(sqlite3_pcache* in, sqlite3_pcache_page* shown, unsigned, unsigned key) noexcept {
        cache& c = of(in);
        page* other = nullptr;
        {
            const inside here(c);
            other = c.find(key);
            if (other == &of(shown)) return;
            if (other != nullptr) c.pull(*other);
            c.change_key(of(shown), key);
        }
        if (other != nullptr) release(other);
    }
    static void truncate(sqlite3_pcache* in, unsigned from) noexcept {
        cache& c = of(in);
        chain dropped;
        {
            const inside here(c);
            c.for_each_from(from, [&](page& p) {
                c.pull(p);
                dropped.add(p);
            });
        }
        release(dropped);
    }
    static void set_most(sqlite3_pcache* in, int pages) noexcept {
        of(in).set_most(static_cast<std::uint32_t>(std::max(pages, 0)));
        drop_above(of(in), of(in).most());
    }
    static void shrink(sqlite3_pcache* in) noexcept { drop_above(of(in), 0); }
    static void drop_above(cache& c, std::uint32_t pages) noexcept {
        chain dropped;
        {
            const inside here(c);
            while (c.count() > pages && c.unused() != 0) dropped.add(*c.pull_oldest());
        }
        release(dropped);
    }
    static int count_of(sqlite3_pcache* in) noexcept { return static_cast<int>(of(in).count()); }

    static inline sqlite_pages* at = nullptr;
    Source& source_;
    allot::account* account_ = nullptr;
    mutable std::mutex lock_; // of the list of caches; no memory is requested or released with it held
    cache* first_ = nullptr;
    bool fences_ = false; // the system has no fence of all threads
    sqlite3_pcache_methods2 before_{};
};

} // namespace adapt
} // namespace allot::inline ALLOT_ABI
