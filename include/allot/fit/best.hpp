// fit::best: runs of bytes cut from address ranges, the best fit first, with all metadata elsewhere.
//
//     best_fit_runs<stream_tag> runs{256};                              // all sizes are multiples of 256 bytes
//     runs.open(stream);                                           // once a key, before it is used
//     runs.add(base, 1_GiB, segment);                              // memory that nobody here ever touches
//     auto r = runs.allocate(bytes, 256, stream);                  // best fit among what this stream freed
//     if (!r) r = runs.allocate_any(bytes, 256);                   // of all: wait for r.tag, then use it
//     runs.release(r.address, {stream, ticket});
//     runs.gather({stream, now}, all);                             // this stream waited for all others
//
// Best fit is exact: the smallest free run that is large enough, of those the one at the lowest address. The rest of a
// run stays free with its tag. A released run becomes one with the free runs beside it if their tags may be joined.
// Free runs are kept by key (free_run_index.hpp), and in no index over all: what crosses keys, which costs a device a
// wait, looks into every key that has free runs. A request with a key finds, splits, joins in O(log n); allocate_any
// and largest() in O(k log n) of k keys. A request that nothing fits looks at some words a key and no run: O(1) where
// its bin and the later ones are empty. Alignments above the unit: the first 8 fits are tried, then the best fit with
// room for any address; so a run that could serve may be missed where many cannot: who knows of one names it
// (allocate_at).
// Invariant: a free run is in the index of its key, a live one in the table of addresses; free ones side by side have
// tags that may not be joined, or would be more than 2^32 - 1 units together (1 TiB of 256 bytes; so is a range at
// once).
// Cost: 32 bytes a run and its tag, 8 to 16 for its address if live; 3.8 KB a key. No call to the system but for
// metadata, and a call that cannot get some changes nothing; only add, open, allocate, shrink and remove need any.
// Metadata that grows is moved: O(n) at once, seldom; reserve() ahead. Threads: one at a time; the lock is its owner's.
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

template <run_tag Tag = no_tag, class Memory = host_metadata>
class best_fit_runs : detail::free_run_index<Tag, Memory> {
    using base = detail::free_run_index<Tag, Memory>;
    using base::carve, base::find_best, base::units_needed, base::find_free, base::index_of, base::indexes_,
        base::is_before, base::joins;
    using base::keys_, base::make_free, base::memory, base::nodes, base::space_, base::cut_out, base::to_bytes,
        base::describe_run;
    using typename base::index, typename base::node, typename base::number;

  public:
    using base::most_keys, base::most_units;
    using typename base::run;

    /// `unit`: a power of two; sizes are rounded up to it, addresses are multiples of it.
    explicit best_fit_runs(std::size_t unit = 256, Memory metadata = {}) noexcept : base(unit, std::move(metadata)) {}
    best_fit_runs(const best_fit_runs&) = delete;
    best_fit_runs& operator=(const best_fit_runs&) = delete;
    ~best_fit_runs() { live_.free(memory()); }

    // --- ahead ---------------------------------------------------------------------------------------------
    using base::open, base::is_open;
    /// Metadata for so many live runs in any state of fragmentation; false: as before.
    bool reserve(std::size_t live) noexcept {
        const std::size_t runs = 2 * live + space_.ranges(), more = runs > space_.runs() ? runs - space_.runs() : 0;
        return live < most_units / 2 && space_.prepare(more + 2) && live_.prepare(memory(), nodes(), live);
    }
    /// Whether the next allocate() will not lack metadata: tells "nothing fits" from "no host memory".
    bool prepare() noexcept {
        return space_.prepare(2) && (live_.prepare(memory(), nodes(), live_.used() + 1) || live_.exists());
    }

    // --- ranges --------------------------------------------------------------------------------------------
    /// A free range more. It becomes one with ranges of the same segment that it touches. False if it is not made of
    /// units, too large, overlaps another, lies at 0, or there is no metadata.
    bool add(std::uintptr_t address, std::size_t bytes, std::uint32_t segment, const Tag& tag = {}) noexcept {
        if (!space_.can_add(address, bytes) || !open(tag.key()) || !space_.prepare(2, 1)) return false;
        make_free(space_.add(address, bytes, segment, tag), tag);
        return true;
    }
    /// Takes [from, from + bytes) back, which lies in a free run as largest() or visit() told it. False if there is no
    /// such run, the part is not made of units, or there is no metadata; what is left of the run stays free.
    bool remove(const run& of, std::uintptr_t from, std::size_t bytes) noexcept {
        const number part = carve(of, from, bytes);
        if (part == 0) return false;
        space_.remove(part);
        return true;
    }

    // --- runs ----------------------------------------------------------------------------------------------
    /// The best fit among free runs of this key; 0 bytes count as 1. None: nothing fits (or no metadata, see
    /// prepare()).
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
    /// The best fit among all free runs.
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
    /// [at, at + bytes) of a free run as largest() or visit() told it, where allocate() would not come to it. None:
    /// there is no such part (or no metadata).
    run allocate_at(const run& of, std::uintptr_t at, std::size_t bytes) noexcept {
        std::uint32_t units = 0;
        const number x = find_free(of);
        if (x == 0 || !units_needed(bytes, 1, units) || at % unit() != 0 || !prepare()) return {};
        if (at < of.address || at - of.address > of.bytes || to_bytes(units) > of.bytes - (at - of.address)) return {};
        return cut(x, at, units);
    }
    /// The run of this address is free, with this tag. Returns its bytes; 0 if there is no such live run or the tag's
    /// key is not open, and then nothing has changed. Cannot fail for lack of memory.
    std::size_t release(std::uintptr_t address, const Tag& tag = {}) noexcept {
        if (ALLOT_UNLIKELY(!is_open(tag.key()))) return 0;
        const number x = live_.extract(nodes(), address);
        if (ALLOT_UNLIKELY(x == 0)) return 0;
        const std::uint32_t units = nodes()[x].units;
        live_units_ -= units;
        make_free(x, tag);
        return to_bytes(units);
    }
    /// A live run gets its rest back to so many bytes; false if there is no such run, it is not that large, or no
    /// metadata.
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
    /// A live run gets so many bytes by what it needs of the free run behind it, if `accept(its tag)`; else false.
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
    /// A free run's tag becomes another, and it is joined with those beside it where that allows it. False if there is
    /// no such run, or the key is not open.
    bool retag(const run& free, const Tag& tag) noexcept {
        const number x = find_free(free);
        if (x == 0 || !is_open(tag.key())) return false;
        index_of(nodes()[x].tag).remove(nodes(), x);
        make_free(x, tag);
        return true;
    }
    /// The same for [from, from + bytes) of it; what is left of the run keeps its tag. False also where remove() is.
    bool retag(const run& of, std::uintptr_t from, std::size_t bytes, const Tag& tag) noexcept {
        const number part = is_open(tag.key()) ? carve(of, from, bytes) : 0;
        if (part == 0) return false;
        make_free(part, tag);
        return true;
    }
    /// All free runs whose tag is accepted get this one, and are joined with what is beside them. O(n), for when memory
    /// is short: who waited for all streams has all that is free. False if the key is not open.
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
    /// A live run's bytes and tag, to read and write until the next call; null and 0 for others.
    Tag* tag_of(std::uintptr_t address) noexcept {
        const number x = live_.find(nodes(), address);
        return x == 0 ? nullptr : &nodes()[x].tag;
    }
    const Tag* tag_of(std::uintptr_t address) const noexcept {
        return const_cast<best_fit_runs*>(this)->tag_of(address);
    }
    std::size_t bytes_of(std::uintptr_t address) const noexcept {
        const number x = live_.find(nodes(), address);
        return x == 0 ? 0 : to_bytes(nodes()[x].units);
    }

    // --- figures -------------------------------------------------------------------------------------------
    /// The largest free run, of a key or of all; of equals the highest address.
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
    /// Visits (run, live, segment) in the order of addresses, until it returns false. It must not call back.
    template <class Visit> void visit(Visit visit) const noexcept {
        space_.visit([&](number x, std::uint32_t segment) {
            return visit(describe_run(x), nodes()[x].is_live(), segment) ? x : 0;
        });
    }
    /// Visits the free runs of a key of so many bytes or more, the smallest first, until it returns false: what could
    /// be given back. O(log n) and O(1) a run. It must not call back.
    template <class Visit> void visit_free(std::uint32_t key, std::size_t least, Visit visit) const noexcept {
        std::uint32_t units = 0;
        if (!is_open(key) || !units_needed(least, 1, units)) return;
        number x = indexes_[key]->best(nodes(), units);
        while (x != 0 && visit(describe_run(x))) x = indexes_[key]->after(nodes(), x);
    }
    /// The longest way down in an index: for tests and reports of what O(log n) is. 0 where something is broken.
    std::size_t deepest() const noexcept {
        std::size_t depth = 1;
        for (std::uint32_t key = 0; key != keys_; ++key)
            if (indexes_[key] != nullptr && !indexes_[key]->valid(nodes(), depth, [&](number x) {
                    return nodes()[x].is_free() && nodes()[x].tag.key() == key;
                }))
                return 0;
        return depth;
    }
    bool valid() const noexcept;

  private:
    // Makes a part of a free run live; metadata is there.
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

// Ranges, rings, indexes and the table of addresses agree. O(n log n).
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
    return ok && deepest() != 0 && live_.valid(nodes()) && live_units == live_units_ && live == live_.used() &&
           free == indexed;
}

namespace fit {

/// The smallest free run that is large enough, of those the lowest.
struct best {
    using category = allot::category::fit;
    using needs = types<>;
    using provides = types<>;
    static constexpr std::string_view about = "the smallest that is large enough, by an index out of band";
    static constexpr std::string_view cost =
        "O(log n); 32 bytes a run and its tag, 8 to 16 for a live one's address; 3.8 KB a stream";

    static constexpr bool tags = true;
    static constexpr unsigned classes = 4;
    template <run_tag Tag = no_tag, class Memory = host_metadata> using of = best_fit_runs<Tag, Memory>;
};
static_assert(category::fit::takes<best>);

} // namespace fit
} // namespace allot::inline ALLOT_ABI
