// fit::best: runs of bytes cut from address ranges, best fit first, with all metadata out of band.
//
//     best_fit_runs<stream_tag> runs{256};                         // all sizes are multiples of 256 bytes
//     runs.open(stream);                                           // once per key, before it is used
//     runs.add(base, 1_GiB, segment);                              // memory that is never read or written here
//     auto r = runs.allocate(bytes, 256, stream);                  // best fit among the runs that this stream freed
//     if (!r) r = runs.allocate_any(bytes, 256);                   // among all: wait for r.tag, then use it
//     runs.release(r.address, {stream, ticket});
//     runs.gather({stream, now}, all);                             // this stream waited for all others
//
// Best fit is exact: the smallest free run that is large enough, of equals the one at the lowest address. The rest of a
// run stays free with its tag. A released run is joined with adjacent free runs where their tags allow it. Free runs
// are indexed by key (free_run_index.hpp), and in no index over all keys. For an alignment above the unit the first 8
// fits are tried, then the best fit that has room at any address: a run that could serve may be missed; allocate_at()
// takes a run that the caller knows.
// Invariant: a free run is in the index of its key, a live one in the table of addresses. Adjacent free runs have tags
// that may not be joined, or would exceed 2^32 - 1 units together (1 TiB of 256 bytes), as a range may not.
// Cost: with a key O(log n), and O(1) where the request's bin and all larger ones are empty; over k keys O(k log n). 32
// bytes per run and its tag, 8 to 16 for the address of a live one; 3.8 KB per key. Growing metadata moves it, O(n) at
// once and seldom; reserve() ahead.
// Threads: one at a time; the owner locks.
// Source: best fit and boundary tags, Knuth 1968; per-stream free blocks of caching device allocators, 2017.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/category/fit.hpp>
#include <allot/fit/address_hash.hpp>
#include <allot/fit/free_run_index.hpp>
#include <allot/fit/run_array.hpp>
#include <allot/fit/run_tag.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

/// A best-fit allocator of addresses. It never reads or writes the memory that they name. Only add(), open(),
/// reserve(), prepare(), the allocate functions, shrink() and remove() allocate metadata; a call
/// that cannot get it changes nothing.
/// Threads: one at a time.
template <run_tag Tag = no_tag, class Memory = host_metadata>
class best_fit_runs : detail::free_run_index<Tag, Memory> {
    using base = detail::free_run_index<Tag, Memory>;
    using base::carve, base::find_best, base::units_needed, base::find_free, base::index_of, base::indexes_,
        base::is_before, base::joins;
    using base::keys_, base::make_free, base::memory, base::nodes, base::space_, base::cut_out, base::to_bytes,
        base::describe_run;
    using typename base::index, typename base::node, typename base::number;

  public:
    using base::max_keys, base::max_units;
    using typename base::run;

    /// Sizes are rounded up to `unit`, addresses are multiples of it.
    /// Requires: unit is a power of two.
    explicit best_fit_runs(std::size_t unit = 256, Memory metadata = {}) noexcept : base(unit, std::move(metadata)) {}
    best_fit_runs(const best_fit_runs&) = delete;
    best_fit_runs& operator=(const best_fit_runs&) = delete;
    ~best_fit_runs() { live_.free(memory()); }

    // --- preparation ---------------------------------------------------------------------------------------
    using base::open, base::is_open;
    /// Reserves metadata for `live` live runs in any state of fragmentation.
    /// Returns: false on lack of host memory.
    bool reserve(std::size_t live) noexcept {
        const std::size_t runs = 2 * live + space_.ranges(), more = runs > space_.runs() ? runs - space_.runs() : 0;
        return live < max_units / 2 && space_.prepare(more + 2) && live_.prepare(memory(), nodes(), live);
    }
    /// Reserves the metadata of the next allocate(), so that its failure means that nothing fits.
    /// Returns: false on lack of host memory.
    bool prepare() noexcept {
        return space_.prepare(2) && (live_.prepare(memory(), nodes(), live_.used() + 1) || live_.exists());
    }

    // --- ranges --------------------------------------------------------------------------------------------
    /// Adds a free range, merged with ranges of the same segment that it touches.
    /// Returns: false, and nothing changed, if it is not whole units, has more than 2^32 - 1, is at address 0, overlaps
    /// another range, or metadata cannot be allocated.
    bool add(std::uintptr_t address, std::size_t bytes, std::uint32_t segment, const Tag& tag = {}) noexcept {
        if (!space_.can_add(address, bytes) || !open(tag.key()) || !space_.prepare(2, 1)) return false;
        make_free(space_.add(address, bytes, segment, tag), tag);
        return true;
    }
    /// Removes [from, from + bytes) of a free run from the ranges; the rest of the run stays free. `of` is the run as
    /// largest(), visit() or visit_free() reports it.
    /// Returns: false, and nothing changed, if there is no such run, the part is not whole units, or metadata cannot be
    /// allocated.
    bool remove(const run& of, std::uintptr_t from, std::size_t bytes) noexcept {
        const number part = carve(of, from, bytes);
        if (part == 0) return false;
        space_.remove(part);
        return true;
    }

    // --- runs ----------------------------------------------------------------------------------------------
    /// Allocates the best fit among the free runs of this key; 0 bytes count as 1.
    /// Returns: none if nothing fits, the key is not open, or metadata cannot be allocated (see prepare()).
    run allocate(std::size_t bytes, std::size_t align, std::uint32_t key) noexcept {
        std::uint32_t units = 0;
        if (!is_open(key) || !units_needed(bytes, align, units) || !prepare()) return {};
        std::uintptr_t at = 0;
        const number x = find_best(*indexes_[key], units, align, at);
        return x == 0 ? run{} : cut(x, at, units);
    }
    run allocate(std::size_t bytes, std::size_t align) noexcept
        requires std::is_same_v<Tag, no_tag>
    {
        return allocate(bytes, align, 0);
    }
    /// The same among the free runs of all keys.
    run allocate_any(std::size_t bytes, std::size_t align) noexcept {
        std::uint32_t units = 0;
        if (!units_needed(bytes, align, units) || !prepare()) return {};
        const node* const n = nodes();
        number best = 0;
        std::uintptr_t best_at = 0;
        for (std::uint32_t key = 0; key != keys_; ++key) {
            if (indexes_[key] == nullptr || indexes_[key]->runs() == 0) continue;
            std::uintptr_t at = 0;
            const number x = find_best(*indexes_[key], units, align, at);
            if (x == 0 || (best != 0 && !is_before(n[x], n[best]))) continue;
            best = x;
            best_at = at;
        }
        return best == 0 ? run{} : cut(best, best_at, units);
    }
    /// Allocates [at, at + bytes) of a free run, as largest(), visit() or visit_free() reports it.
    /// Returns: none if there is no such part, or metadata cannot be allocated.
    run allocate_at(const run& of, std::uintptr_t at, std::size_t bytes) noexcept {
        std::uint32_t units = 0;
        const number x = find_free(of);
        if (x == 0 || !units_needed(bytes, 1, units) || at % unit() != 0 || !prepare()) return {};
        if (at < of.address || at - of.address > of.bytes || to_bytes(units) > of.bytes - (at - of.address)) return {};
        return cut(x, at, units);
    }
    /// Frees the live run at this address, with this tag. Never fails for lack of memory.
    /// Returns: its bytes; 0, and nothing changed, if there is no such live run or the tag's key is not open.
    std::size_t release(std::uintptr_t address, const Tag& tag = {}) noexcept {
        if (ALLOT_UNLIKELY(!is_open(tag.key()))) return 0;
        const number x = live_.extract(nodes(), address);
        if (ALLOT_UNLIKELY(x == 0)) return 0;
        const std::uint32_t units = nodes()[x].units;
        live_units_ -= units;
        make_free(x, tag);
        return to_bytes(units);
    }
    /// Frees the end of a live run, down to `bytes`, with this tag.
    /// Returns: false, and nothing changed, if there is no such live run, it is smaller, the tag's key is not open, or
    /// metadata cannot be allocated.
    bool shrink(std::uintptr_t address, std::size_t bytes, const Tag& tag = {}) noexcept {
        const number x = live_.find(nodes(), address);
        std::uint32_t units = 0;
        if (x == 0 || !is_open(tag.key()) || !units_needed(bytes, 1, units) || units > nodes()[x].units) return false;
        if (units == nodes()[x].units) return true;
        if (!space_.prepare(1)) return false;
        live_units_ -= nodes()[x].units - units;
        make_free(space_.split(x, units), tag);
        return true;
    }
    /// Extends a live run to `bytes` by the first units of the free run after it, if accept(tag of that run).
    /// Returns: false, and nothing changed, if there is no such live run, or the run after it is not free, too small or
    /// not accepted.
    template <class Accept> bool grow(std::uintptr_t address, std::size_t bytes, Accept accept) noexcept {
        const number x = live_.find(nodes(), address);
        std::uint32_t units = 0;
        if (x == 0 || !units_needed(bytes, 1, units)) return false;
        node* const n = nodes();
        if (units <= n[x].units) return true;
        const std::uint32_t more = units - n[x].units;
        const number y = n[x].next;
        if (!n[y].is_free() || n[y].units < more || !accept(std::as_const(n[y].tag))) return false;
        index& of = index_of(n[y].tag);
        if (n[y].units == more) {
            of.remove(n, y);
            space_.absorb(y);
        } else {
            of.change(n, y, n[y].units - more, n[y].address + to_bytes(more));
        }
        n[x].units = units;
        live_units_ += more;
        return true;
    }
    bool grow(std::uintptr_t address, std::size_t bytes) noexcept
        requires std::is_same_v<Tag, no_tag>
    {
        return grow(address, bytes, [](const no_tag&) { return true; });
    }
    /// Gives a free run another tag, and joins it with adjacent free runs where that allows it.
    /// Returns: false, and nothing changed, if there is no such run, or the tag's key is not open.
    bool retag(const run& free, const Tag& tag) noexcept {
        const number x = find_free(free);
        if (x == 0 || !is_open(tag.key())) return false;
        index_of(nodes()[x].tag).remove(nodes(), x);
        make_free(x, tag);
        return true;
    }
    /// Gives this tag to all free runs with accept(their tag), and joins them with their neighbours. For a caller that
    /// is short of memory and has waited for all streams.
    /// Returns: false if the tag's key is not open.
    /// Complexity: O(n log n).
    template <class Accept> bool gather(const Tag& tag, Accept accept) noexcept {
        if (!is_open(tag.key())) return false;
        space_.visit([&](number x, std::uint32_t) {
            node* const n = nodes();
            if (!n[x].is_free() || !accept(std::as_const(n[x].tag))) return x;
            index_of(n[x].tag).remove(n, x);
            return make_free(x, tag);
        });
        return true;
    }
    /// The tag of the live run at this address, to read and write until the next call; null: no such run.
    Tag* tag_of(std::uintptr_t address) noexcept {
        const number x = live_.find(nodes(), address);
        return x == 0 ? nullptr : &nodes()[x].tag;
    }
    const Tag* tag_of(std::uintptr_t address) const noexcept {
        return const_cast<best_fit_runs*>(this)->tag_of(address);
    }
    /// The bytes of the live run at this address; 0: none.
    std::size_t bytes_of(std::uintptr_t address) const noexcept {
        const number x = live_.find(nodes(), address);
        return x == 0 ? 0 : to_bytes(nodes()[x].units);
    }

    // --- statistics ----------------------------------------------------------------------------------------
    /// The largest free run of a key, or of all; of equals the one at the highest address.
    run largest(std::uint32_t key) const noexcept {
        return is_open(key) ? describe_run(indexes_[key]->largest(nodes())) : run{};
    }
    run largest() const noexcept {
        number best = 0;
        for (std::uint32_t key = 0; key != keys_; ++key) {
            const number x = indexes_[key] == nullptr ? 0 : indexes_[key]->largest(nodes());
            if (x != 0 && (best == 0 || is_before(nodes()[best], nodes()[x]))) best = x;
        }
        return describe_run(best);
    }
    std::size_t unit() const noexcept { return space_.unit(); }
    std::size_t bytes() const noexcept { return space_.units() << space_.shift(); }
    std::size_t live_bytes() const noexcept { return live_units_ << space_.shift(); }
    std::size_t free_bytes() const noexcept { return bytes() - live_bytes(); }
    std::size_t free_bytes(std::uint32_t key) const noexcept {
        return is_open(key) ? indexes_[key]->units() << space_.shift() : 0;
    }
    std::size_t free_runs(std::uint32_t key) const noexcept { return is_open(key) ? indexes_[key]->runs() : 0; }
    std::size_t live_runs() const noexcept { return live_.used(); }
    std::size_t ranges() const noexcept { return space_.ranges(); }
    std::uint32_t keys() const noexcept { return keys_; }
    std::size_t metadata_bytes() const noexcept {
        std::size_t n = space_.bytes_of_metadata() + live_.bytes() + indexes_.bytes();
        for (std::uint32_t key = 0; key != keys_; ++key) n += indexes_[key] == nullptr ? 0 : sizeof(index);
        return n;
    }
    /// Calls visit(run, is_live, segment) in address order, until it returns false.
    /// Requires: `visit` does not call this object.
    template <class Visit> void visit(Visit visit) const noexcept {
        space_.visit([&](number x, std::uint32_t segment) {
            return visit(describe_run(x), nodes()[x].is_live(), segment) ? x : 0;
        });
    }
    /// Calls visit(run) for the free runs of a key of at least `least` bytes, the smallest first, until it returns
    /// false.
    /// Requires: `visit` does not call this object.
    /// Complexity: O(log n), and O(1) per run.
    template <class Visit> void visit_free(std::uint32_t key, std::size_t least, Visit visit) const noexcept {
        std::uint32_t units = 0;
        if (!is_open(key) || !units_needed(least, 1, units)) return;
        number x = indexes_[key]->best(nodes(), units);
        while (x != 0 && visit(describe_run(x))) x = indexes_[key]->after(nodes(), x);
    }
    /// The depth of the max_depth tree of the indexes, 0 where one is broken. For tests and reports.
    std::size_t max_depth() const noexcept {
        std::size_t depth = 1;
        for (std::uint32_t key = 0; key != keys_; ++key)
            if (indexes_[key] != nullptr && !indexes_[key]->valid(nodes(), depth, [&](number x) {
                    return nodes()[x].is_free() && nodes()[x].tag.key() == key;
                }))
                return 0;
        return depth;
    }
    /// Whether ranges, runs, indexes and the table of addresses agree. For tests.
    /// Complexity: O(n log n).
    bool valid() const noexcept;

  private:
    // Makes `units` at `at` of a free run a live run. Requires prepare().
    run cut(number x, std::uintptr_t at, std::uint32_t units) noexcept {
        node* const n = nodes();
        const run was{at, to_bytes(units), n[x].tag};
        const number taken = cut_out(x, at, units);
        n[taken].parent = node::live_mark;
        live_units_ += units;
        live_.insert(n, taken);
        return was;
    }

    detail::address_hash<node, Memory> live_;
    std::size_t live_units_ = 0;
};

template <run_tag Tag, class Memory> bool best_fit_runs<Tag, Memory>::valid() const noexcept {
    std::size_t live_units = 0, live = 0, free = 0, indexed = 0;
    const bool ok = space_.valid([&](number x, number before) {
        const node& n = nodes()[x];
        live_units += n.is_live() ? n.units : 0;
        ++(n.is_live() ? live : free);
        if (n.is_live()) return live_.find(nodes(), n.address) == x;
        return find_free(describe_run(x)) == x && !joins(nodes()[before], n.units, n.tag);
    });
    for (std::uint32_t key = 0; key != keys_; ++key) indexed += free_runs(key);
    return ok && max_depth() != 0 && live_.valid(nodes()) && live_units == live_units_ && live == live_.used() &&
           free == indexed;
}

} // namespace detail

namespace fit {

/// The smallest free run that is large enough, of equals the one at the lowest address.
struct best {
    using category = allot::category::fit;
    using needs = types<>;
    using provides = types<>;
    static constexpr std::string_view about = "the smallest free run that is large enough, by an index out of band";
    static constexpr std::string_view cost =
        "O(log n); 32 bytes per run and its tag, 8 to 16 for the address of a live one; 3.8 KB per stream; in chunk "
        "arenas at most 12 % of a block is unused up to 64 KiB, at most a page of 16 KiB above";

    static constexpr bool tags = true;
    static constexpr unsigned classes = 8;
    static constexpr bool whole_pages = true;
    template <detail::run_tag Tag = detail::no_tag, class Memory = detail::host_metadata>
    using of = detail::best_fit_runs<Tag, Memory>;
};
static_assert(category::fit::takes<best>);

} // namespace fit
} // namespace allot::inline ALLOT_ABI
