// fit::best: runs of bytes cut from address ranges, the best fit first, with all metadata elsewhere.
//
//     best_fit<stream_tag> runs{256};                              // all sizes are multiples of 256 bytes
//     runs.open(stream);                                           // once a key, before it is used
//     runs.add(base, 1_GiB, segment);                              // memory that nobody here ever touches
//     auto r = runs.allocate(bytes, 256, stream);                  // best fit among what this stream freed
//     if (!r) r = runs.allocate_any(bytes, 256);                   // of all: wait for r.tag, then use it
//     runs.release(r.address, {stream, ticket});
//     runs.gather({stream, now}, all);                             // this stream waited for all others
//
// Best fit is exact: the smallest free run that is large enough, of those the one at the lowest address. The rest of a run
// stays free with its tag. A released run becomes one with the free runs beside it if their tags may be joined.
// Each key of tags has an index of its own (size_index.hpp), and there is none over all: a run is in one index only,
// which halves the work of each step, and what crosses keys, which costs a device a wait, looks into every key that has
// free runs. A request with a key finds, splits, joins in O(log n); allocate_any and largest() in O(k log n) of k keys.
// A request that nothing fits looks at some words a key and no run: O(1) where its bin and the later ones are empty.
// Alignments above the unit: the first 8 fits are tried, then the best fit with room for any address; so a run that
// could serve may be missed where many cannot: who knows of one names it (allocate_at).
// Invariant: a free run is in the index of its key, a live one in the table of addresses; free ones side by side have
// tags that may not be joined, or would be more than 2^32 - 1 units together (1 TiB of 256 bytes; so is a range at once).
// Cost: 32 bytes a run and its tag, 8 to 16 for its address if live; 3.8 KB a key. No call to the system but for
// metadata, and a call that cannot get some changes nothing; only add, open, allocate, shrink and remove need any.
// Metadata that grows is moved: O(n) at once, seldom; reserve() ahead. Threads: one at a time; the lock is its owner's.
// Source: best fit and boundary tags, Knuth 1968; per-stream free blocks of caching device allocators, 2017.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/category/fit.hpp>
#include <allot/heap/address_hash.hpp>
#include <allot/heap/fit_array.hpp>
#include <allot/heap/fit_space.hpp>
#include <allot/heap/fit_tag.hpp>
#include <allot/heap/size_index.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace allot::inline ALLOT_ABI {

template <fit_tag Tag = no_tag, class Memory = host_metadata> class best_fit {
    using space = detail::fit_space<Tag, Memory>;
    using node = typename space::node;
    using number = typename space::number;
    using index = detail::size_index<node>;

  public:
    /// Bytes side by side; none: address 0. The tag of a run that was allocated is the one it had when it was free.
    struct run {
        std::uintptr_t address = 0;
        std::size_t bytes = 0;
        ALLOT_NO_UNIQUE_ADDRESS Tag tag{};
        explicit operator bool() const noexcept { return address != 0; }
    };
    static constexpr std::uint32_t most_units = space::most_units;
    static constexpr std::uint32_t most_keys = 1U << 16;

    /// `unit`: a power of two; sizes are rounded up to it, addresses are multiples of it.
    explicit best_fit(std::size_t unit = 256, Memory memory = {}) noexcept : space_(unit, std::move(memory)) {}
    best_fit(const best_fit&) = delete;
    best_fit& operator=(const best_fit&) = delete;
    ~best_fit() {
        for (number key = 0; key != keys_; ++key)
            if (indexes_[key] != nullptr) memory().resize(indexes_[key], sizeof(index), 0);
        indexes_.free(memory());
        live_.free(memory());
    }

    // --- ahead ---------------------------------------------------------------------------------------------
    /// The key can be used from now on. False: no memory for its index, or not below most_keys.
    bool open(std::uint32_t key) noexcept {
        if (is_open(key)) return true;
        if (key >= most_keys || !indexes_.reserve(memory(), std::size_t{key} + 1)) return false;
        void* const p = memory().resize(nullptr, 0, sizeof(index));
        if (p == nullptr) return false;
        while (keys_ <= key) indexes_[keys_++] = nullptr;
        indexes_[key] = ::new (p) index;
        return true;
    }
    bool is_open(std::uint32_t key) const noexcept { return key < keys_ && indexes_[key] != nullptr; }
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
    /// Takes [from, from + bytes) back, which lies in a free run as largest() or visit() told it. False if there is no such
    /// run, the part is not made of units, or there is no metadata; what is left of the run stays free.
    bool remove(const run& of, std::uintptr_t from, std::size_t bytes) noexcept {
        const number part = carve(of, from, bytes);
        if (part == 0) return false;
        space_.remove(part);
        return true;
    }

    // --- runs ----------------------------------------------------------------------------------------------
    /// The best fit among free runs of this key; 0 bytes count as 1. None: nothing fits (or no metadata, see prepare()).
    run allocate(std::size_t bytes, std::size_t align, std::uint32_t key) noexcept {
        std::uint32_t units = 0;
        if (!is_open(key) || !counted(bytes, align, units) || !prepare()) return {};
        std::uintptr_t at = 0;
        const number x = choose(*indexes_[key], units, align, at);
        return x == 0 ? run{} : cut(x, at, units);
    }
    run allocate(std::size_t bytes, std::size_t align) noexcept requires std::is_same_v<Tag, no_tag> {
        return allocate(bytes, align, 0);
    }
    /// The best fit among all free runs.
    run allocate_any(std::size_t bytes, std::size_t align) noexcept {
        std::uint32_t units = 0;
        if (!counted(bytes, align, units) || !prepare()) return {};
        const node* const n = nodes();
        number best = 0;
        std::uintptr_t best_at = 0;
        for (std::uint32_t key = 0; key != keys_; ++key) {
            if (indexes_[key] == nullptr || indexes_[key]->runs() == 0) continue;
            std::uintptr_t at = 0;
            const number x = choose(*indexes_[key], units, align, at);
            if (x == 0 || (best != 0 && !is_before(n[x], n[best]))) continue;
            best = x;
            best_at = at;
        }
        return best == 0 ? run{} : cut(best, best_at, units);
    }
    /// [at, at + bytes) of a free run as largest() or visit() told it, where allocate() would not come to it. None: there is no such
    /// part (or no metadata).
    run allocate_at(const run& of, std::uintptr_t at, std::size_t bytes) noexcept {
        std::uint32_t units = 0;
        const number x = find_free(of);
        if (x == 0 || !counted(bytes, 1, units) || at % unit() != 0 || !prepare()) return {};
        if (at < of.address || at - of.address > of.bytes || to_bytes(units) > of.bytes - (at - of.address)) return {};
        return cut(x, at, units);
    }
    /// The run of this address is free, with this tag. Returns its bytes; 0 if there is no such live run or the tag's
    /// key is not open, and then nothing has changed. Cannot fail for lack of memory.
    std::size_t release(std::uintptr_t address, const Tag& tag = {}) noexcept {
        if (ALLOT_UNLIKELY(!is_open(tag.key()))) return 0;
        const number x = live_.take(nodes(), address);
        if (ALLOT_UNLIKELY(x == 0)) return 0;
        const std::uint32_t units = nodes()[x].units;
        live_units_ -= units;
        make_free(x, tag);
        return to_bytes(units);
    }
    /// A live run gets its rest back to so many bytes; false if there is no such run, it is not that large, or no metadata.
    bool shrink(std::uintptr_t address, std::size_t bytes, const Tag& tag = {}) noexcept {
        const number x = live_.find(nodes(), address);
        std::uint32_t units = 0;
        if (x == 0 || !is_open(tag.key()) || !counted(bytes, 1, units) || units > nodes()[x].units) return false;
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
        if (x == 0 || !counted(bytes, 1, units)) return false;
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
    bool grow(std::uintptr_t address, std::size_t bytes) noexcept requires std::is_same_v<Tag, no_tag> {
        return grow(address, bytes, [](const no_tag&) { return true; });
    }
    /// A free run's tag becomes another, and it is joined with those beside it where that allows it. False if there is no
    /// such run, or the key is not open.
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
    /// All free runs whose tag is accepted get this one, and are joined with what is beside them. O(n), for when memory is
    /// short: who waited for all streams has all that is free. False if the key is not open.
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
    const Tag* tag_of(std::uintptr_t address) const noexcept { return const_cast<best_fit*>(this)->tag_of(address); }
    std::size_t bytes_of(std::uintptr_t address) const noexcept {
        const number x = live_.find(nodes(), address);
        return x == 0 ? 0 : to_bytes(nodes()[x].units);
    }

    // --- figures -------------------------------------------------------------------------------------------
    /// The largest free run, of a key or of all; of equals the highest address.
    run largest(std::uint32_t key) const noexcept {
        return is_open(key) ? told(indexes_[key]->largest(nodes())) : run{};
    }
    run largest() const noexcept {
        number best = 0;
        for (std::uint32_t key = 0; key != keys_; ++key) {
            const number x = indexes_[key] == nullptr ? 0 : indexes_[key]->largest(nodes());
            if (x != 0 && (best == 0 || is_before(nodes()[best], nodes()[x]))) best = x;
        }
        return told(best);
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
            return visit(told(x), nodes()[x].is_live(), segment) ? x : 0;
        });
    }
    /// Visits the free runs of a key of so many bytes or more, the smallest first, until it returns false: what could be
    /// given back. O(log n) and O(1) a run. It must not call back.
    template <class Visit> void visit_free(std::uint32_t key, std::size_t least, Visit visit) const noexcept {
        std::uint32_t units = 0;
        if (!is_open(key) || !counted(least, 1, units)) return;
        number x = indexes_[key]->best(nodes(), units);
        while (x != 0 && visit(told(x))) x = indexes_[key]->after(nodes(), x);
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
    Memory& memory() noexcept { return space_.memory(); }
    node* nodes() const noexcept { return space_.nodes(); }
    std::size_t to_bytes(std::uint32_t units) const noexcept { return space_.to_bytes(units); }
    std::uint32_t to_units(std::size_t bytes) const noexcept { return space_.to_units(bytes); }
    run told(number x) const noexcept {
        return x == 0 ? run{} : run{nodes()[x].address, to_bytes(nodes()[x].units), nodes()[x].tag};
    }
    index& index_of(const Tag& tag) const noexcept { return *indexes_[tag.key()]; }
    static bool is_before(const node& a, const node& b) noexcept {
        return a.units < b.units || (a.units == b.units && a.address < b.address);
    }
    // The request in units; false where no run could ever be that large.
    bool counted(std::size_t bytes, std::size_t align, std::uint32_t& units) const noexcept {
        const std::size_t n = ceil_div(bytes, unit());
        units = static_cast<std::uint32_t>(n + (n == 0));
        return n <= most_units && is_power_of_two(align) && (align >> space_.shift()) <= most_units / 2;
    }
    number find_free(const run& of) const noexcept {
        if (!is_open(of.tag.key()) || of.bytes % unit() != 0 || of.bytes >> space_.shift() > most_units) return 0;
        return indexes_[of.tag.key()]->find(nodes(), to_units(of.bytes), of.address);
    }

    // A part of a free run, in no index any more; what is left of the run stays free. 0: there is no such part, or no metadata.
    number carve(const run& of, std::uintptr_t from, std::size_t bytes) noexcept {
        const number x = find_free(of);
        if (x == 0 || from % unit() != 0 || bytes % unit() != 0 || bytes == 0) return 0;
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
    // A free run of this index that holds so many units at `at`, a multiple of `align`.
    number choose(const index& of, std::uint32_t units, std::size_t align, std::uintptr_t& at) const noexcept {
        const node* const n = nodes();
        number x = of.best(n, units);
        if (x != 0) at = n[x].address;
        if (x == 0 || ALLOT_LIKELY(align <= unit())) return x;
        for (int tries = 8; x != 0 && tries != 0; --tries, x = of.after(n, x)) {
            at = align_up(n[x].address, align);
            if (at - n[x].address <= to_bytes(n[x].units - units)) return x;
        }
        const std::uint32_t room = to_units(align) - 1;
        if (x == 0 || units > most_units - room) return 0;
        x = of.best(n, units + room);
        if (x != 0) at = align_up(n[x].address, align);
        return x;
    }
    // Makes a part of a free run live; metadata is there.
    run cut(number x, std::uintptr_t at, std::uint32_t units) noexcept {
        node* const n = nodes();
        const run was{at, to_bytes(units), n[x].tag};
        index& of = index_of(was.tag);
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
            of.change(n, x, n[x].units - units, at + was.bytes);
        }
        n[taken].parent = node::live_mark;
        live_units_ += units;
        live_.insert(n, taken);
        return was;
    }
    bool joins(const node& other, std::uint32_t units, const Tag& tag) const noexcept {
        return other.is_free() && Tag::may_join(other.tag, tag) && units <= most_units - other.units;
    }
    // A run that is in no index goes into that of its tag, with the free runs beside it that it may be joined with.
    // Returns where it is now.
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
    detail::fit_array<index*, Memory> indexes_; // by key; null: not open
    detail::address_hash<node, Memory> live_;
    std::size_t live_units_ = 0;
};

// Ranges, rings, indexes and the table of addresses agree. O(n log n).
template <fit_tag Tag, class Memory> bool best_fit<Tag, Memory>::valid() const noexcept {
    std::size_t live_units = 0, live = 0, free = 0, indexed = 0;
    const bool good = space_.valid([&](number x, number before) {
        const node& n = nodes()[x];
        live_units += n.is_live() ? n.units : 0;
        ++(n.is_live() ? live : free);
        if (n.is_live()) return live_.find(nodes(), n.address) == x;
        return find_free(told(x)) == x && !joins(nodes()[before], n.units, n.tag);
    });
    for (std::uint32_t key = 0; key != keys_; ++key) indexed += free_runs(key);
    return good && deepest() != 0 && live_.valid(nodes()) && live_units == live_units_ && live == live_.used() &&
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
    template <fit_tag Tag = no_tag, class Memory = host_metadata> using of = best_fit<Tag, Memory>;
};
static_assert(category::fit::takes<best>);

} // namespace fit
} // namespace allot::inline ALLOT_ABI
