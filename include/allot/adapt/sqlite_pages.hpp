// The pages of SQLite's databases, in memory of a row manager, a chunk arena, or blocks charged to an account.
//
//     allot::adapt::sqlite_memory memory{rows};
//     allot::adapt::sqlite_pages pages{rows}; // before the first call of SQLite
//
// Pages that no statement uses are kept as long as their database allows it (PRAGMA cache_size). They are given up for
// requests that an account refuses, for SQLite's own requests, and for pages of other databases. Pages of databases in
// memory, and pages that were changed and not written, are never given up.
//
//   page    | buffer and extra of SQLite: addresses 16 | entry 4 | 4 | SQLite's page | SQLite's extra |
//   entry   | page 8 | key 4 | next of its hash 4 | newer 4 | older 4 |     24 bytes, in a table with the hashes
//
// So a look-up reads the table, not the pages; 4096 bytes are a row of 4344. Entry 0 is the list of unused pages.
// Invariant: SQLite uses a cache on one thread at a time; another one enters it as sync/owner_entry.hpp says. No memory
// is requested inside, so that a request may drop pages of any cache.
// Cost: 28 bytes per page and their growth by doubling; a look-up is two stores and three loads more than SQLite's own.
// Threads: any. Source: SQLITE_CONFIG_PCACHE2, 2011.
#pragma once

#include <allot/account/account.hpp>
#include <allot/adapt/bytes.hpp>
#include <allot/adapt/sqlite.hpp>
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
namespace detail {

// The pages of one database. It has no memory of its own: it is given pages and tables, and returns them.
class sqlite_cache {
  public:
    struct page {
        sqlite3_pcache_page shown; // first: SQLite has its address
        std::uint32_t entry;
    };

    sqlite_cache(int page_bytes, int extra_bytes, bool purgeable, bool fences) noexcept
        : bytes_(static_cast<std::size_t>(page_bytes)), extra_(static_cast<std::size_t>(extra_bytes)),
          purgeable_(purgeable) {
        entry.set_up(fences);
    }

    std::size_t buffer_bytes() const noexcept { return bytes_; }
    std::size_t extra_bytes() const noexcept { return extra_; }
    std::size_t page_bytes() const noexcept { return sizeof(page) + bytes_ + extra_; }
    std::uint32_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
    std::uint32_t unused() const noexcept { return unused_.load(std::memory_order_relaxed); }
    bool is_purgeable() const noexcept { return purgeable_; }
    std::uint32_t most() const noexcept { return most_; }
    void set_most(std::uint32_t pages) noexcept { most_ = pages; }
    // Whether pages in use leave room for others, so that SQLite need not write some first.
    bool has_room() const noexcept { return !purgeable_ || count() - unused() < most_ - most_ / 10; }
    // True for each 256 pages more than ever before.
    bool has_grown() noexcept {
        if (ALLOT_LIKELY(count() < grown_)) return false;
        grown_ = count() + 256;
        return true;
    }
    // Whether a new page is to take the place of an unused one.
    bool is_full() const noexcept { return purgeable_ && unused() != 0 && count() + 1 >= most_; }

    page* find(std::uint32_t key) const noexcept {
        const item* const e = look_up(key);
        return e != nullptr ? e->at : nullptr;
    }
    // Null: it is not there.
    ALLOT_ALWAYS_INLINE page* use(std::uint32_t key) noexcept {
        item* const e = look_up(key);
        if (e == nullptr) return nullptr;
        if (e->newer != used) set_used(*e);
        return e->at;
    }
    void set_unused(page& p) noexcept {
        item& e = entries_[p.entry];
        if (e.newer != used) return;
        e.newer = 0;
        e.older = entries_[0].older;
        entries_[e.older].newer = p.entry;
        entries_[0].older = p.entry;
        add(unused_, 1);
    }
    // Requires: there is a free entry.
    void put(page& p, std::uint32_t key) noexcept {
        p.entry = free_;
        item& e = entries_[free_];
        free_ = e.next;
        e = {&p, key, 0, used, 0};
        hang(p.entry);
        add(count_, 1);
    }
    // The page is no longer in the cache.
    void pull(page& p) noexcept {
        item& e = entries_[p.entry];
        if (e.newer != used) set_used(e);
        unhang(p.entry);
        e.at = nullptr;
        e.next = free_;
        free_ = p.entry;
        add(count_, -1);
    }
    // The page that was not used for the longest time. Null: all are used.
    page* pull_oldest() noexcept {
        if (unused() == 0) return nullptr;
        page* const p = entries_[entries_[0].newer].at;
        pull(*p);
        return p;
    }
    void change_key(page& p, std::uint32_t key) noexcept {
        unhang(p.entry);
        entries_[p.entry].key = key;
        hang(p.entry);
    }
    // Calls drop(page) for each page of this key or a higher one.
    template <class Drop> void for_each_from(std::uint32_t key, Drop drop) noexcept {
        if (count() == 0 || key > highest_) return;
        if (highest_ - key < end_) {
            for (std::uint64_t k = key; k <= highest_; ++k)
                if (page* const p = find(static_cast<std::uint32_t>(k))) drop(*p);
        } else {
            for (std::uint32_t i = 1; i < end_; ++i)
                if (entries_[i].at != nullptr && entries_[i].key >= key) drop(*entries_[i].at);
        }
        highest_ = key != 0 ? key - 1 : 0;
    }

    // ---- its table: entries, then hashes, a power of two of each
    bool needs_table() const noexcept { return free_ == 0; }
    std::uint32_t next_size() const noexcept { return end_ == 0 ? 64 : 2 * end_; }
    static std::size_t table_bytes(std::uint32_t size) noexcept {
        return size * (sizeof(item) + sizeof(std::uint32_t));
    }
    // Returns: the old one, which is no longer used; null: there was none.
    void* set_table(void* memory, std::uint32_t size) noexcept {
        item* const old = entries_;
        const std::uint32_t old_end = end_;
        entries_ = static_cast<item*>(memory);
        end_ = size;
        mask_ = size - 1;
        if (old != nullptr) std::copy_n(old, old_end, entries_);
        else entries_[0] = {};
        hashes_ = reinterpret_cast<std::uint32_t*>(entries_ + size);
        std::memset(hashes_, 0, size * sizeof(std::uint32_t));
        for (std::uint32_t i = 1; i < old_end; ++i)
            if (entries_[i].at != nullptr) hang(i);
        for (std::uint32_t i = size; i-- > std::max(old_end, 1u);) {
            entries_[i] = {nullptr, 0, free_, used, 0};
            free_ = i;
        }
        return old;
    }
    void* table() const noexcept { return entries_; }

    allot::detail::owner_entry entry;
    sqlite_cache *next = nullptr, *before = nullptr; // in the list of all

  private:
    static constexpr std::uint32_t used = UINT32_MAX;
    struct item {
        page* at; // null: the entry is free
        std::uint32_t key;
        std::uint32_t next;         // of its hash, or of the free ones
        std::uint32_t newer, older; // of the unused pages; newer is `used` of one that is used
    };

    // One thread writes it, and others read it.
    static void add(std::atomic<std::uint32_t>& n, std::int32_t more) noexcept {
        n.store(n.load(std::memory_order_relaxed) + static_cast<std::uint32_t>(more), std::memory_order_relaxed);
    }
    ALLOT_ALWAYS_INLINE item* look_up(std::uint32_t key) const noexcept {
        for (std::uint32_t i = hashes_[key & mask_]; i != 0; i = entries_[i].next)
            if (ALLOT_LIKELY(entries_[i].key == key)) return &entries_[i];
        return nullptr;
    }
    void set_used(item& e) noexcept {
        entries_[e.newer].older = e.older;
        entries_[e.older].newer = e.newer;
        e.newer = used;
        add(unused_, -1);
    }
    void hang(std::uint32_t i) noexcept {
        std::uint32_t& first = hashes_[entries_[i].key & mask_];
        entries_[i].next = first;
        first = i;
        highest_ = std::max(highest_, entries_[i].key);
    }
    void unhang(std::uint32_t i) noexcept {
        std::uint32_t* at = &hashes_[entries_[i].key & mask_];
        while (*at != i) at = &entries_[*at].next;
        *at = entries_[i].next;
    }

    static inline std::uint32_t no_hashes[1] = {}; // of a cache without a table; never written

    item* entries_ = nullptr;
    std::uint32_t* hashes_ = no_hashes;
    std::uint32_t end_ = 0, mask_ = 0, free_ = 0;
    std::uint32_t most_ = 100, highest_ = 0, grown_ = 256;
    std::atomic<std::uint32_t> count_{0}, unused_{0};
    const std::size_t bytes_, extra_;
    const bool purgeable_;
};

} // namespace detail

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
        at = nullptr;
        if (first_ != nullptr) {
            report_misuse({.kind = misuse::living_handle, .heap = "sqlite_pages: a database is not closed"});
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
            while (ALLOT_UNLIKELY(!entry_.enter())) yield();
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
        fences_ = !sys::prepare_process_fence();
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
        if (fences_) full_fence();
        else if (!sys::process_fence()) {
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
        {
            const inside here(c);
            if (page* const p = c.use(key); ALLOT_LIKELY(p != nullptr)) return &p->shown;
        }
        return make != 0 ? fetch_new(c, key, make == 2) : nullptr;
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
            if (discard == 0 && (!c.is_purgeable() || c.count() <= c.most())) {
                if (c.is_purgeable()) c.set_unused(p);
                return;
            }
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
