// A tree of free runs, ordered by size and then by address, through links in their nodes.
//
// A treap: a search tree by key and a heap by rank. The rank is a hash of the node's number, so it takes no room, and
// the shape is the same in every run of a program. Invariant: parents rank above their children.
// Cost: O(log n) expected, 1.4 log2 n nodes on a descent, without a branch per turn; removal starts at the node.
// Nothing fails. Threads: one at a time.
// Source: treaps, Seidel and Aragon 1989; insertion and removal by unzipping and zipping: Tarjan, Levy, Timmel 2018.
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Node> struct size_tree {
    static void insert(Node* n, std::uint32_t& root, std::uint32_t x) noexcept {
        const std::uint32_t rank = rank_of(x), units = n[x].units;
        const std::uintptr_t address = n[x].address;
        std::uint32_t* link = &root;
        std::uint32_t parent = 0, t = root;
        while (t != 0 && rank_of(t) > rank) {
            parent = t;
            link = &n[t].child[before(n[t], units, address)];
            t = *link;
        }
        *link = x;
        n[x].parent = parent;
        if (t == 0) {
            n[x].child[0] = n[x].child[1] = 0;
            return;
        }
        std::uint32_t* open[2] = {&n[x].child[0], &n[x].child[1]}; // links for the next smaller, or larger, subtree
        std::uint32_t above[2] = {x, x};
        while (t != 0) {
            const bool smaller = before(n[t], units, address);
            *open[!smaller] = t;
            n[t].parent = above[!smaller];
            above[!smaller] = t;
            open[!smaller] = &n[t].child[smaller];
            t = n[t].child[smaller];
        }
        *open[0] = 0;
        *open[1] = 0;
    }
    static void remove(Node* n, std::uint32_t& root, std::uint32_t x) noexcept {
        std::uint32_t parent = n[x].parent, a = n[x].child[0], b = n[x].child[1];
        const bool right = n[parent].child[1] == x;
        std::uint32_t* link = parent == 0 ? &root : &n[parent].child[right];
        while (a != 0 && b != 0) {
            std::uint32_t& upper = rank_of(a) > rank_of(b) ? a : b;
            const bool side = &upper == &a;
            *link = upper;
            n[upper].parent = parent;
            parent = upper;
            link = &n[upper].child[side];
            upper = *link;
        }
        *link = a | b;
        n[a | b].parent = parent; // a | b may be node 0, which may be written: no branch
    }
    // The first run of at least `units`; 0: none.
    static std::uint32_t lower_bound(const Node* n, std::uint32_t root, std::uint32_t units) noexcept {
        std::uint32_t best = 0;
        for (std::uint32_t t = root; t != 0;) {
            const bool fits = n[t].units >= units;
            best = fits ? t : best;
            t = n[t].child[!fits];
        }
        return best;
    }
    static std::uint32_t find(const Node* n, std::uint32_t root, std::uint32_t units, std::uintptr_t address) noexcept {
        std::uint32_t t = root;
        while (t != 0 && (n[t].units != units || n[t].address != address)) t = n[t].child[before(n[t], units, address)];
        return t;
    }
    // 0 for an empty tree.
    static std::uint32_t first_or_last(const Node* n, std::uint32_t root, bool last) noexcept {
        std::uint32_t t = root;
        while (t != 0 && n[t].child[last] != 0) t = n[t].child[last];
        return t;
    }
    // The next run in order; 0: x is the last.
    static std::uint32_t after(const Node* n, std::uint32_t x) noexcept {
        if (n[x].child[1] != 0) return first_or_last(n, n[x].child[1], false);
        std::uint32_t t = n[x].parent;
        for (; t != 0 && n[t].child[1] == x; t = n[t].parent) x = t;
        return t;
    }
    static bool is_alone(const Node* n, std::uint32_t root, std::uint32_t x) noexcept {
        return root == x && n[x].child[0] == 0 && n[x].child[1] == 0;
    }
    // Whether order, ranks and links are right and visit(node) is true for each; raises `max_depth` to the tree's
    // depth.
    template <class Visit>
    static bool valid(const Node* n, std::uint32_t root, std::size_t& max_depth, Visit visit) noexcept {
        if (root != 0 && n[root].parent != 0) return false;
        std::uint32_t last = 0;
        for (std::uint32_t x = first_or_last(n, root, false); x != 0; x = after(n, x)) {
            if (last != 0 && !before(n[last], n[x].units, n[x].address)) return false;
            for (const std::uint32_t c : n[x].child)
                if (c != 0 && (n[c].parent != x || rank_of(c) >= rank_of(x))) return false;
            std::size_t depth = 1;
            for (std::uint32_t t = x; n[t].parent != 0; t = n[t].parent) ++depth;
            if (depth > max_depth) max_depth = depth;
            if (!visit(x)) return false;
            last = x;
        }
        return true;
    }

  private:
    static std::uint32_t rank_of(std::uint32_t x) noexcept { return x * 0x9E3779B1U; } // odd, so no two ranks are equal
    static bool before(const Node& a, std::uint32_t units, std::uintptr_t address) noexcept {
        return (a.units < units) | ((a.units == units) & (a.address < address));
    }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
