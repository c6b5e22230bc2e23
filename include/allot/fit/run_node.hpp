// The node of a run of a fit, and the pool of nodes. A run is free or live; each range has one more node, its edge.
//
//     | address 8 | units 4 | prev 4 | next 4 | child 4 4 | parent 4 | tag |        32 bytes and the tag
//
// The runs of a range form a ring in address order, which the edge closes, so every run has two neighbours. A free run
// uses `child` and `parent` as tree links; in other nodes `parent` is a mark that names their kind. Number 0 is no
// node.
// Cost: 32 bytes per run and its tag; O(1) to take and put a node. Threads: one at a time.
#pragma once

#include <allot/config.hpp>
#include <allot/fit/run_array.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Tag> struct run_node {
    static constexpr std::uint32_t live_mark = ~std::uint32_t{0};
    static constexpr std::uint32_t edge_mark = live_mark - 1;
    static constexpr std::uint32_t unused_mark = live_mark - 2;

    std::uintptr_t address;
    std::uint32_t units;
    std::uint32_t prev, next;
    std::uint32_t child[2];
    std::uint32_t parent;
    ALLOT_NO_UNIQUE_ADDRESS Tag tag;

    bool is_free() const noexcept { return parent < unused_mark; }
    bool is_live() const noexcept { return parent == live_mark; }
};

template <class Node, class Memory> class run_pool {
  public:
    void free(Memory& memory) noexcept { nodes_.free(memory); }
    // Reserves `more` nodes, so that as many take() succeed; false: no metadata.
    bool prepare(Memory& memory, std::size_t more) noexcept {
        if (ALLOT_LIKELY(used_ + more < nodes_.capacity())) return true;
        if (!nodes_.reserve(memory, used_ + more + 1)) return false;
        nodes_[0] = Node{};
        return true;
    }
    // Requires a prepared node.
    std::uint32_t take() noexcept {
        ++used_;
        const std::uint32_t i = first_;
        if (i == 0) return ++fresh_;
        first_ = nodes_[i].next;
        return i;
    }
    void put(std::uint32_t i) noexcept {
        --used_;
        nodes_[i].parent = Node::unused_mark;
        nodes_[i].next = first_;
        first_ = i;
    }
    Node* data() const noexcept { return nodes_.data(); }
    Node& operator[](std::uint32_t i) const noexcept { return nodes_[i]; }
    std::size_t used() const noexcept { return used_; }
    std::size_t bytes() const noexcept { return nodes_.bytes(); }

    bool valid() const noexcept {
        std::size_t n = 0;
        for (std::uint32_t i = first_; i != 0; i = nodes_[i].next)
            if (i > fresh_ || nodes_[i].parent != Node::unused_mark || ++n > fresh_) return false;
        return used_ + n == fresh_;
    }

  private:
    run_array<Node, Memory> nodes_; // [0] is no node
    std::uint32_t first_ = 0;       // list of unused nodes, linked by next
    std::uint32_t fresh_ = 0;       // [1 .. fresh_] were used before
    std::size_t used_ = 0;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
