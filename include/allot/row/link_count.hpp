// link_word: the link count of a row. counting<Count>: where a count policy keeps it.
//
//   count::links, many types:    | type 4 | count 4 | row ...      one type: | count 4 | row ...
//   count::links_out_of_band:    | row ...        counts (and types) in an array behind the heaplet's header
//
//   bit 31       constructed: the last release calls the type's destructor
//   bit 30       mark of a slot returned to its heaplet (slots/mark.hpp); no other bit is set then
//   bit 29       sealed: the last release verifies the row's checksum
//   bits 28-20   the tag of a live row; no free slot has it, and data of a row almost never
//   bits 19-0    number of links; from 983,040 on the count is saturated: it changes no more, and the row is never
//   freed
//
// Invariant: a free slot's word has no tag, so a double release is found while the slot is free, and most stale addresses
// after its page was reused.
// Cost: release of the only link is a load and a store; otherwise one atomic subtraction.
// Threads: any that holds a link. Source: HPCC roxiemem's row header, 2009.
#pragma once

#include <allot/config.hpp>
#include <allot/core/category/count.hpp>
#include <allot/heap/heaplet.hpp>
#include <allot/slots/mark.hpp>
#include <allot/sys/poison.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

namespace detail {

struct link_word {
    static constexpr std::uint32_t constructed = std::uint32_t{1} << 31;
    static constexpr std::uint32_t sealed = slot_marks::bit >> 1;
    static constexpr std::uint32_t flags = constructed | sealed;
    static constexpr std::uint32_t link_bits = (std::uint32_t{1} << 20) - 1;
    static constexpr std::uint32_t tag = std::uint32_t{0x15A} << 20; // as a float, text or small number: unlikely
    static constexpr std::uint32_t saturated = 0xF0000;              // as many threads as the rest may link at once
    static constexpr std::uint32_t clamped = 0xF8000;
    static_assert(slot_marks::bit == constructed >> 1 && (tag & (flags | slot_marks::bit | link_bits)) == 0);

    enum class drop_result { still_linked, freed, needs_destroy, was_free };
    enum class link_result { linked, saturated, was_free };

    explicit link_word(std::uint32_t* at) noexcept : word(*at) {}

    ALLOT_ALWAYS_INLINE void start(bool is_constructed = false) const noexcept {
        word.store(is_constructed ? constructed | sole_link : sole_link, std::memory_order_relaxed);
    }
    // Adds a link. False, and nothing has changed: the count is nearly saturated, or no row is here; see link_slow().
    ALLOT_ALWAYS_INLINE bool link() const noexcept {
        const std::uint32_t was = word.load(std::memory_order_relaxed) & ~flags;
        if (ALLOT_UNLIKELY(was - sole_link >= saturated - 2)) return false;
        word.fetch_add(1, std::memory_order_relaxed);
        return true;
    }
    // Adds a link, or saturates the count: `saturated` is returned for the link that does. A saturated one stays as it
    // is.
    link_result link_slow() const noexcept {
        std::uint32_t was = load();
        for (;;) {
            if (!is_row(was)) return link_result::was_free;
            const std::uint32_t links = was & link_bits;
            if (links == clamped) return link_result::linked;
            const bool last = links + 1 >= saturated;
            if (word.compare_exchange_weak(was, last ? (was & ~link_bits) | clamped : was + 1,
                                           std::memory_order_relaxed))
                return last ? link_result::saturated : link_result::linked;
        }
    }
    // Whether a word is a live row's.
    static constexpr bool is_row(std::uint32_t word) noexcept {
        return (word & ~(flags | link_bits)) == tag && (word & link_bits) != 0;
    }
    ALLOT_ALWAYS_INLINE std::uint32_t load() const noexcept { return word.load(std::memory_order_acquire); }
    void clear() const noexcept { word.store(0, std::memory_order_relaxed); }
    void construct() const noexcept { word.fetch_or(constructed, std::memory_order_relaxed); }
    bool has_links() const noexcept { return is_row(load()); }
    void unseal() const noexcept { word.fetch_and(~sealed, std::memory_order_relaxed); }
    void seal() const noexcept { word.fetch_or(sealed, std::memory_order_relaxed); }
    bool shared() const noexcept { return (load() & link_bits) != 1; }

    // Clears the word if it has one link and no flags. No atomic read-modify-write: no other thread can add a link.
    ALLOT_ALWAYS_INLINE bool release_if_sole() const noexcept {
        if (ALLOT_UNLIKELY(load() != sole_link)) return false;
        clear();
        return true;
    }
    static constexpr std::uint32_t sole_link = tag | 1; // one link, no flags

    // Drops one of several links; `was`: the word just read. False, and nothing has changed: one link, or a flag is
    // set, or all other links were dropped meanwhile.
    ALLOT_ALWAYS_INLINE bool release_shared(std::uint32_t was) const noexcept {
        if (ALLOT_UNLIKELY(was - (sole_link + 1) >= saturated - 2)) return false;
        if (ALLOT_LIKELY(word.fetch_sub(1, std::memory_order_acq_rel) != sole_link)) return true;
        word.store(sole_link, std::memory_order_relaxed); // the other links were dropped meanwhile
        return false;
    }
    // Drops one link. needs_destroy: it was the last one, and the caller clears the word after check_and_destroy().
    drop_result drop() const noexcept {
        std::uint32_t was = load();
        if (!is_row(was)) return drop_result::was_free;
        if ((was & link_bits) >= saturated) return drop_result::still_linked;
        if ((was & link_bits) > 1) {
            was = word.fetch_sub(1, std::memory_order_acq_rel);
            if ((was & link_bits) > 1) return drop_result::still_linked;
            if ((was & link_bits) == 0) return drop_result::was_free; // other threads released it too often, meanwhile
        }
        if ((was & flags) != 0) {
            word.store(was, std::memory_order_relaxed); // a destructor may ask for its row
            return drop_result::needs_destroy;
        }
        clear();
        return drop_result::freed;
    }

    sys::hidden_ref<std::uint32_t> word;
};

using number_ref = sys::hidden_ref<std::uint32_t>; // of a row's type

// Where a count policy keeps the words. `one_type`: all rows of the heap are of the type in the page header.
template <class Count> struct counting;

template <> struct counting<count::links> {
    static constexpr bool counts = true;
    static constexpr std::size_t header_bytes(bool one_type) noexcept { return one_type ? 4 : 8; }
    static constexpr std::size_t out_of_band_bytes(bool) noexcept { return 0; }
    template <class Heaplet> static link_word word(Heaplet&, std::byte* row) noexcept { return word(row); }
    ALLOT_ALWAYS_INLINE static link_word word(std::byte* row) noexcept {
        return link_word(reinterpret_cast<std::uint32_t*>(row) - 1);
    }
    template <class Heaplet> static number_ref type_number(Heaplet&, std::byte* row) noexcept {
        return number_ref(*(reinterpret_cast<std::uint32_t*>(row) - 2));
    }
    // The type and the count of a new row, for rows aligned to 8: one store, since a thread whose rows are in no cache
    // waits for its stores.
    ALLOT_ALWAYS_INLINE static void start(std::byte* row, std::uint32_t type) noexcept {
        const std::array<std::uint32_t, 2> words{type, link_word::sole_link};
        sys::hidden_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(row - sizeof words))
            .store(std::bit_cast<std::uint64_t>(words), std::memory_order_relaxed);
    }
};

template <> struct counting<count::links_anywhere> : counting<count::links> {};

template <> struct counting<count::links_out_of_band> {
    static constexpr bool counts = true;
    static constexpr std::size_t header_bytes(bool) noexcept { return 0; }
    static constexpr std::size_t out_of_band_bytes(bool one_type) noexcept { return one_type ? 4 : 8; }
    template <class Heaplet> static link_word word(Heaplet& page, std::byte* row) noexcept {
        return link_word(at(page, row));
    }
    template <class Heaplet> static number_ref type_number(Heaplet& page, std::byte* row) noexcept {
        return number_ref(at(page, row)[1]);
    }

  private:
    template <class Heaplet> static std::uint32_t* at(Heaplet& page, std::byte* row) noexcept {
        return page.counts() + std::size_t{page.index(row)} * (page.type != nullptr ? 1 : 2);
    }
};

template <> struct counting<count::none> {
    static constexpr bool counts = false;
    static constexpr std::size_t header_bytes(bool) noexcept { return 0; }
    static constexpr std::size_t out_of_band_bytes(bool) noexcept { return 0; }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
