// The free runs of a fit, by key and size: found, cut, and joined with adjacent free runs.
//
// Each key of tags has an index (size_index.hpp); there is none over all keys, so a run is in one index, which halves
// the work of each step.
// Invariant: a free run is in the index of its tag's key. Adjacent free runs have tags that may not be joined, or would
// exceed the units that a node counts. A run that was carved or cut out is in no index until the caller makes it live,
// removes it, or calls make_free().
// Cost: O(log n) per step; 3.8 KB per key, and 8 bytes per number below the highest key. Only open() and carve()
// allocate metadata, and report where there is none. Threads: one at a time.
// Source: see best.hpp, which adds the live runs.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/fit/run_array.hpp>
#include <allot/fit/run_map.hpp>
#include <allot/fit/size_index.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Tag, class Memory> class free_run_index {
  protected:
    using space = run_map<Tag, Memory>;
    using node = typename space::node;
    using number = typename space::number;
    using index = size_index<node>;

  public:
    /// A run of bytes; address 0: none. The tag of an allocated run is the one that it had while it was free.
    struct run {
        std::uintptr_t address = 0;
        std::size_t bytes = 0;
        ALLOT_NO_UNIQUE_ADDRESS Tag tag{};
        explicit operator bool() const noexcept { return address != 0; }
    };
    static constexpr std::uint32_t max_units = space::max_units;
    static constexpr std::uint32_t max_keys = 1U << 16;

    free_run_index(const free_run_index&) = delete;
    free_run_index& operator=(const free_run_index&) = delete;

    /// Makes a key usable, by an index of its own. Call before the key is used; a second call does nothing.
    /// Returns: false if the key is not below max_keys, or there is no memory for its index.
    bool open(std::uint32_t key) noexcept {
        if (is_open(key)) return true;
        if (key >= max_keys || !indexes_.reserve(memory(), std::size_t{key} + 1)) return false;
        void* const p = memory().resize(nullptr, 0, sizeof(index));
        if (p == nullptr) return false;
        while (keys_ <= key) indexes_[keys_++] = nullptr;
        indexes_[key] = ::new (p) index;
        return true;
    }
    bool is_open(std::uint32_t key) const noexcept { return key < keys_ && indexes_[key] != nullptr; }

  protected:
    free_run_index(std::size_t unit, Memory metadata) noexcept : space_(unit, std::move(metadata)) {}
    ~free_run_index() {
        for (number key = 0; key != keys_; ++key)
            if (indexes_[key] != nullptr) memory().resize(indexes_[key], sizeof(index), 0);
        indexes_.free(memory());
    }

    Memory& memory() noexcept { return space_.memory(); }
    node* nodes() const noexcept { return space_.nodes(); }
    std::size_t to_bytes(std::uint32_t units) const noexcept { return space_.to_bytes(units); }
    std::uint32_t to_units(std::size_t bytes) const noexcept { return space_.to_units(bytes); }
    run describe_run(number x) const noexcept {
        return x == 0 ? run{} : run{nodes()[x].address, to_bytes(nodes()[x].units), nodes()[x].tag};
    }
    index& index_of(const Tag& tag) const noexcept { return *indexes_[tag.key()]; }
    static bool is_before(const node& a, const node& b) noexcept {
        return a.units < b.units || (a.units == b.units && a.address < b.address);
    }
    // Sets `units` for a request, at least 1. False: no run can be that large, or `align` is no power of two.
    bool units_needed(std::size_t bytes, std::size_t align, std::uint32_t& units) const noexcept {
        const std::size_t n = ceil_div(bytes, space_.unit());
        units = static_cast<std::uint32_t>(n + (n == 0));
        return n <= max_units && is_power_of_two(align) && (align >> space_.shift()) <= max_units / 2;
    }
    // The node of a free run that the caller describes; 0: there is no such run.
    number find_free(const run& of) const noexcept {
        if (!is_open(of.tag.key()) || of.bytes % space_.unit() != 0 || of.bytes >> space_.shift() > max_units) return 0;
        return indexes_[of.tag.key()]->find(nodes(), to_units(of.bytes), of.address);
    }

    // Takes [from, from + bytes) of a free run out of the index; the rest stays free. 0: no such part, or no metadata.
    number carve(const run& of, std::uintptr_t from, std::size_t bytes) noexcept {
        const number x = find_free(of);
        if (x == 0 || from % space_.unit() != 0 || bytes % space_.unit() != 0 || bytes == 0) return 0;
        if (from < of.address || from - of.address > of.bytes || bytes > of.bytes - (from - of.address)) return 0;
        if (!space_.prepare(4, 2)) return 0;
        node* const n = nodes();
        index& in = index_of(n[x].tag);
        in.remove(n, x);
        const auto front = space_.to_units(from - of.address), middle = space_.to_units(bytes);
        const number part = front != 0 ? space_.split(x, front) : x;
        if (n[part].units != middle) in.insert(n, space_.split(part, middle));
        if (front != 0) in.insert(n, x);
        return part;
    }
    // A free run of the index that holds `units` at `at`, a multiple of `align`; 0: none was found.
    number find_best(const index& of, std::uint32_t units, std::size_t align, std::uintptr_t& at) const noexcept {
        const node* const n = nodes();
        number x = of.best(n, units);
        if (x != 0) at = n[x].address;
        if (x == 0 || ALLOT_LIKELY(align <= space_.unit())) return x;
        for (int tries = 8; x != 0 && tries != 0; --tries, x = of.after(n, x)) {
            at = align_up(n[x].address, align);
            if (at - n[x].address <= to_bytes(n[x].units - units)) return x;
        }
        const std::uint32_t room = to_units(align) - 1;
        if (x == 0 || units > max_units - room) return 0;
        x = of.best(n, units + room);
        if (x != 0) at = align_up(n[x].address, align);
        return x;
    }
    // Takes `units` at `at` of a free run out of the index; the rest stays free. Requires 2 nodes prepared.
    ALLOT_ALWAYS_INLINE number cut_out(number x, std::uintptr_t at, std::uint32_t units) noexcept {
        node* const n = nodes();
        index& of = index_of(n[x].tag);
        number taken = x;
        if (const auto front = to_units(at - n[x].address); ALLOT_UNLIKELY(front != 0)) {
            of.remove(n, x);
            taken = space_.split(x, front);
            of.insert(n, x);
            if (n[taken].units != units) of.insert(n, space_.split(taken, units));
        } else if (n[x].units == units) {
            of.remove(n, x);
        } else { // the rest keeps the node, and often its place in the index
            taken = space_.split_front(x, units);
            of.change(n, x, n[x].units - units, at + to_bytes(units));
        }
        return taken;
    }
    // Whether a neighbour is free and may be joined with a run of these units and this tag.
    bool joins(const node& other, std::uint32_t units, const Tag& tag) const noexcept {
        return other.is_free() && Tag::may_join(other.tag, tag) && units <= max_units - other.units;
    }
    // Puts a run that is in no index into the index of `tag`, joined with its neighbours where their tags allow it.
    // Returns its node.
    number make_free(number x, Tag tag) noexcept {
        node* const n = nodes();
        const number before = n[x].prev, behind = n[x].next;
        std::uintptr_t address = n[x].address;
        std::uint32_t units = n[x].units;
        number stays = 0; // in an index, under `key`
        std::uint32_t key = 0;
        if (joins(n[behind], units, tag)) {
            key = n[behind].tag.key();
            tag = Tag::join(n[behind].tag, tag);
            units += n[behind].units;
            stays = behind;
            space_.absorb(x);
        }
        if (joins(n[before], units, tag)) {
            if (stays != 0) indexes_[key]->remove(n, stays);
            space_.absorb(stays != 0 ? stays : x);
            key = n[before].tag.key();
            tag = Tag::join(n[before].tag, tag);
            units += n[before].units;
            address = n[before].address;
            stays = before;
        }
        index& into = index_of(tag);
        if (stays != 0 && key == tag.key()) {
            into.change(n, stays, units, address);
            n[stays].tag = tag;
            return stays;
        }
        if (stays != 0) indexes_[key]->remove(n, stays);
        else stays = x;
        n[stays].address = address;
        n[stays].units = units;
        n[stays].tag = tag;
        into.insert(n, stays);
        return stays;
    }

    space space_;
    std::uint32_t keys_ = 0;
    run_array<index*, Memory> indexes_; // by key; null: not open
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
