// The state of each address of a chunk arena: a byte per unit of 64 bytes, out of band.
//
//   0              no block begins here
//   1 + class      a live block of this class begins here           | + 0x80: it is free, in a cache
//   large (0x7f)   a live run of pages begins here; the word of its first page has their number    | + 0x80: the same
//
// A release reads one byte, without a lock, and recognizes a double release, an interior pointer, or an address that is
// no block. The host never reads the blocks themselves.
// Invariant: a byte is not 0 exactly while its block is out of the chunks: live, or in a cache.
// Cost: 1/64 of the arena's address space, in memory where blocks begin; 4 bytes per page; 1 KiB; two system calls per
// arena.
// Threads: any may read; a byte is written by the thread that has its block.
// Source: the page map of tcmalloc, 2005, with the grain of a block.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/page/used_parts.hpp>
#include <allot/sys/map.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

class block_table {
  public:
    static constexpr unsigned unit_shift = 6;
    static constexpr std::uint8_t free_bit = 0x80;
    static constexpr std::uint8_t large = 0x7f;
    static constexpr std::uint8_t kept = large | free_bit; // a run of pages in a cache
    static constexpr unsigned max_classes = large - 1;

    block_table() = default;
    block_table(const block_table&) = delete;
    block_table& operator=(const block_table&) = delete;
    ~block_table() {
        if (memory_ != nullptr) sys::unmap(memory_, mapped_);
    }
    // For an arena of `bytes` in `pages`. False: no memory.
    bool open(std::size_t bytes, std::size_t pages) noexcept {
        const std::size_t os_page = sys::os_page_bytes();
        const std::size_t units = align_up(bytes >> unit_shift, os_page);
        const std::size_t all = align_up(units + pages * sizeof(std::atomic<std::uint32_t>), os_page);
        std::byte* const got = sys::reserve(all, os_page);
        if (got == nullptr) return false;
        if (!sys::commit(got, all)) {
            sys::unmap(got, all);
            return false;
        }
        memory_ = got;
        mapped_ = all;
        used_.start(pages);
        states_ = reinterpret_cast<state*>(got); // zeros
        words_ = reinterpret_cast<std::atomic<std::uint32_t>*>(got + units);
        return true;
    }

    // The state of the unit at a distance from the arena's start.
    ALLOT_ALWAYS_INLINE std::uint8_t at(std::size_t distance) const noexcept {
        return states_[distance >> unit_shift].load(std::memory_order_relaxed);
    }
    ALLOT_ALWAYS_INLINE void set(std::size_t distance, std::uint8_t to) noexcept {
        states_[distance >> unit_shift].store(to, std::memory_order_relaxed);
    }
    static constexpr std::uint8_t live(unsigned c) noexcept { return static_cast<std::uint8_t>(c + 1); }
    static constexpr std::uint8_t cached(unsigned c) noexcept { return static_cast<std::uint8_t>((c + 1) | free_bit); }
    static constexpr bool is_block(std::uint8_t s) noexcept { return static_cast<std::uint8_t>(s - 1) < large - 1; }
    static constexpr unsigned class_in(std::uint8_t s) noexcept { return static_cast<unsigned>(s & ~free_bit) - 1; }

    // The word of a page: 0: not this chunk arena's; 1: of a chunk; n + 1: the first page of a block of n pages;
    // `inside`: another page of such a block.
    static constexpr std::uint32_t inside = ~std::uint32_t{0};
    std::uint32_t word(std::size_t page) const noexcept { return words_[page].load(std::memory_order_relaxed); }
    void set_word(std::size_t page, std::uint32_t to) noexcept { set_words(page, 1, to); }
    void set_words(std::size_t first, std::size_t pages, std::uint32_t to) noexcept {
        if (to != 0) used_.note(first, pages);
        for (std::size_t i = 0; i != pages; ++i) words_[first + i].store(to, std::memory_order_relaxed);
    }
    // Calls visit(page) for each page whose word is not 0, until it returns false. Cost: a look at each page of the
    // parts that were ever used.
    template <class Visit> void visit_words(Visit visit) const {
        used_.visit(0, [&](std::size_t page, std::size_t end, bool used) {
            for (; used && page != end; ++page)
                if (word(page) != 0 && !visit(page)) return false;
            return true;
        });
    }

    std::size_t bytes() const noexcept { return mapped_; }

  private:
    using state = std::atomic<std::uint8_t>;
    static_assert(sizeof(state) == 1);

    state* states_ = nullptr;
    std::atomic<std::uint32_t>* words_ = nullptr;
    std::byte* memory_ = nullptr;
    std::size_t mapped_ = 0;
    used_parts<1024> used_; // of words_
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
