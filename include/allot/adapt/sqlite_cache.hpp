// The pages of one database in sqlite_pages.hpp: found by their number, with those that no statement uses in a list.
//
//   page    | buffer and extra of SQLite: addresses 16 | entry 4 | 4 | SQLite's page | SQLite's extra |
//   entry   | page 8 | key 4 | next of its hash 4 | newer 4 | older 4 |     24 bytes, in a table with the hashes
//
// So a look-up reads the table, not the pages; 4096 bytes are a row of 4344. Entry 0 is the list of unused pages.
// Invariant: the thread that is inside, by `entry`, is the only one that uses it; the counts are read by any. It has no
// memory of its own: it is given pages and tables, and returns them.
// Cost: 28 bytes per page, and their growth by doubling. Threads: as above. Source: pcache1.c of SQLite, 2008.
#pragma once

#include <allot/config.hpp>
#include <allot/sync/owner_entry.hpp>

#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace allot::inline ALLOT_ABI {
namespace adapt {
namespace detail {

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

} // namespace adapt
} // namespace allot::inline ALLOT_ABI
