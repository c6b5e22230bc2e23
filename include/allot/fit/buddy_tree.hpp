// The binary tree of one range of a buddy fit, as bits: which nodes are split and, for each order, which are free.
//
// Node i of order o is units [i << o, (i + 1) << o). Each order's bits begin in a word of their own, so that a search
// of one order reads no bits of another: 2^top / 64 words for order 0, then half as many, and so on, at least one each.
// Invariant: the buddy of a free node is not free. Cost: 3 bits per unit and 400 bytes. Threads: one at a time.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

struct buddy_tree {
    using word = std::uint64_t;
    using number = std::uint32_t;
    static constexpr unsigned max_orders = 24;

    std::uintptr_t begin;
    word* split;                               // a bit per node of order 1 and up
    word* free;                                // a bit per node
    unsigned top;                              // the order of the whole range
    std::uint32_t free_nodes[max_orders];      // by order
    number next[max_orders], prev[max_orders]; // list of the trees with free nodes of an order

    // Words of both kinds of bits for a range of order `top`; words_for(): of one kind.
    static std::size_t words_of(unsigned top) noexcept { return 2 * words_for(top); }
    static std::size_t words_for(unsigned top) noexcept {
        std::size_t words = 0;
        for (unsigned o = 0; o <= top; ++o) words += words_of_order(top, o);
        return words;
    }
    // Requires words_of(order) words of zeros.
    void start(word* bits, unsigned order) noexcept {
        split = bits;
        free = bits + words_for(order);
        top = order;
    }

    bool is_free(unsigned order, std::size_t index) const noexcept { return has(free, node(order, index)); }
    bool is_split(unsigned order, std::size_t index) const noexcept { return has(split, node(order, index)); }
    void set_free(unsigned order, std::size_t index) noexcept { set(free, node(order, index)); }
    void set_split(unsigned order, std::size_t index) noexcept { set(split, node(order, index)); }
    void clear_free(unsigned order, std::size_t index) noexcept { clear(free, node(order, index)); }
    void clear_split(unsigned order, std::size_t index) noexcept { clear(split, node(order, index)); }

    // Requires a free node of this order.
    std::size_t lowest_free(unsigned order) const noexcept {
        const word* w = free + first_bit(order) / 64;
        while (*w == 0) ++w;
        return static_cast<std::size_t>(w - free) * 64 + static_cast<std::size_t>(std::countr_zero(*w)) -
               first_bit(order);
    }
    // The number of free nodes of an order, counted from their bits.
    std::size_t count_free(unsigned order) const noexcept {
        std::size_t bits = 0;
        for (std::size_t w = 0; w != words_of_order(top, order); ++w)
            bits += static_cast<std::size_t>(std::popcount(free[first_bit(order) / 64 + w]));
        return bits;
    }

  private:
    static std::size_t words_of_order(unsigned top, unsigned order) noexcept {
        return ceil_div(std::size_t{1} << (top - order), std::size_t{64});
    }
    // The index of an order's first bit. Orders of 64 nodes and more have 2^(top - 6), 2^(top - 7), .. 1 words, all
    // later orders one word each.
    std::size_t first_bit(unsigned order) const noexcept {
        const unsigned long_orders = top > 5 ? top - 5 : 0; // the number of orders of 64 nodes and more
        const std::size_t words = order <= long_orders
                                      ? (std::size_t{1} << long_orders) - (std::size_t{1} << (long_orders - order))
                                      : (std::size_t{1} << long_orders) - 1 + (order - long_orders);
        return words * 64;
    }
    std::size_t node(unsigned order, std::size_t index) const noexcept { return first_bit(order) + index; }

    static bool has(const word* bits, std::size_t at) noexcept { return (bits[at / 64] >> at % 64 & 1) != 0; }
    static void set(word* bits, std::size_t at) noexcept { bits[at / 64] |= word{1} << at % 64; }
    static void clear(word* bits, std::size_t at) noexcept { bits[at / 64] &= ~(word{1} << at % 64); }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
