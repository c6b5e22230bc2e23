// fit::runs: size classes, four per doubling: slots of slabs up to 28 KiB, runs of quanta above.
//
//     slab_runs<> classes{64};                         // the smallest class; a power of two up to 8 KiB
//     classes.add(base, 4_MiB, 0);                     // whole quanta: 8 KiB
//     auto r = classes.allocate(5000, 64);             // 5120 bytes: one of the eight slots of a slab of 40 KiB
//     classes.release(r.address);
//
// The quanta are a best_fit_runs over all ranges, so a run is the smallest that is large enough, and adjacent free runs
// are joined, across chunks that touch. A block of more than 28 KiB is a run of its class's size, or of its own bytes
// in whole quanta where that does not fit. The slab of an address is found from its quantum or one of the six before
// it.
// Invariant: slots and runs do not overlap; a slab without a live slot is free quanta.
// Cost: O(log n) for a run, O(1) for a slot; 56 bytes per slab, per run 8 bytes more than best_fit_runs. Less than 20 %
// of a block is unused from four units up. Threads: one at a time.
// Source: jemalloc's size classes and runs, 2005; Netty's second arena, 2020, which keeps runs by class instead.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/category/fit.hpp>
#include <allot/fit/best.hpp>
#include <allot/fit/slab_table.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

/// An allocator of addresses by size class. It never reads or writes the memory that they name. A call that cannot
/// allocate metadata changes nothing; release() needs none.
/// Threads: one at a time.
template <class Memory = host_metadata> class slab_runs {
    // A live run of quanta is the slab of this number, or a block where that is 0.
    struct slab_tag {
        std::uint32_t slab = 0;
        static constexpr std::uint32_t key() noexcept { return 0; }
        static constexpr bool may_join(const slab_tag&, const slab_tag&) noexcept { return true; }
        static constexpr slab_tag join(const slab_tag&, const slab_tag&) noexcept { return {}; }
    };
    using quanta_type = best_fit_runs<slab_tag, Memory>;
    using table_type = detail::slab_table<Memory>;
    using number = typename table_type::number;

  public:
    static constexpr std::size_t quantum = std::size_t{8} << 10;
    static constexpr std::size_t max_slot = 28 << 10; // bytes; larger blocks are runs

    /// address 0: none.
    struct run {
        std::uintptr_t address = 0;
        std::size_t bytes = 0;
        explicit operator bool() const noexcept { return address != 0; }
    };

    explicit slab_runs(std::size_t unit = 256, Memory memory = {}) noexcept
        : memory_(memory), shift_(log2_floor(unit)), quanta_(quantum, std::move(memory)) {
        ALLOT_ASSERT(is_power_of_two(unit) && unit <= quantum,
                     "the unit of a slab fit must be a power of two up to 8 KiB");
    }
    slab_runs(const slab_runs&) = delete;
    slab_runs& operator=(const slab_runs&) = delete;
    ~slab_runs() { table_.free(memory_); }

    /// As those of best_fit_runs, in whole quanta.
    bool add(std::uintptr_t address, std::size_t bytes, std::uint32_t segment) noexcept {
        return quanta_.add(address, bytes, segment);
    }
    bool remove(const run& of, std::uintptr_t from, std::size_t bytes) noexcept {
        return quanta_.remove({of.address, of.bytes, {}}, from, bytes);
    }

    /// Allocates a block of the smallest class that holds `bytes` (0 counts as 1), at a multiple of `align`.
    /// Returns: none if nothing fits, or metadata cannot be allocated (see prepare()).
    run allocate(std::size_t bytes, std::size_t align) noexcept {
        if (bytes > max_bytes || align > max_bytes || !is_power_of_two(align)) return {};
        std::size_t size = round_up(bytes > align && bytes != 0 ? bytes : align);
        while (!is_aligned(size, align < quantum ? align : quantum)) size = round_up(size + 1);
        if (size <= max_slot && align <= quantum) return take_slot(size);
        auto r = quanta_.allocate(size = round_up(bytes), align, 0);
        if (!r && align_up(bytes, quantum) < size) r = quanta_.allocate(bytes, align, 0);
        return r ? count_allocated(r.address, r.bytes) : run{};
    }
    /// Frees the block at this address, and its slab with its last live slot.
    /// Returns: its bytes; 0, and nothing changed, if no live block begins there.
    std::size_t release(std::uintptr_t address) noexcept {
        if (const number x = slab_of(address); x != 0) {
            if (!table_.has_slot(x, address)) return 0;
            const std::size_t bytes = table_[x].slot_bytes, run_at = table_[x].address;
            if (table_.give_slot(x, address)) {
                table_.remove(x);
                quanta_.release(run_at);
            }
            return count_released(bytes);
        }
        const std::size_t bytes = quanta_.release(address);
        return bytes == 0 ? 0 : count_released(bytes);
    }
    /// Extends a live block to `bytes`: a run by the free quanta after it; a slot never grows.
    /// Returns: false, and nothing changed, if that fails or no live block begins there.
    bool grow(std::uintptr_t address, std::size_t bytes) noexcept {
        const std::size_t now = bytes_of(address);
        if (bytes <= now || now == 0) return now != 0;
        if (bytes > max_bytes || slab_of(address) != 0) return false;
        const auto any = [](const slab_tag&) { return true; };
        if (!quanta_.grow(address, round_up(bytes), any) && !quanta_.grow(address, bytes, any)) return false;
        live_ += quanta_.bytes_of(address) - now;
        return true;
    }
    /// Frees the last quanta of a live run, down to `bytes`.
    /// Returns: false if no live block begins there, it is smaller, metadata cannot be allocated, or it is a slot of a
    /// larger class.
    bool shrink(std::uintptr_t address, std::size_t bytes) noexcept {
        const std::size_t now = bytes_of(address);
        if (now == 0 || bytes > now) return false;
        if (slab_of(address) != 0) return round_up(bytes) == now;
        if (!quanta_.shrink(address, bytes)) return false;
        live_ -= now - quanta_.bytes_of(address);
        return true;
    }
    /// The bytes of the live block at this address; 0: none.
    std::size_t bytes_of(std::uintptr_t address) const noexcept {
        if (const number x = slab_of(address); x != 0) return table_.has_slot(x, address) ? table_[x].slot_bytes : 0;
        return quanta_.bytes_of(address);
    }
    /// Reserves the metadata of the next allocate(), so that its failure means that nothing fits.
    /// Returns: false on lack of host memory.
    bool prepare() noexcept { return quanta_.prepare() && table_.prepare(memory_); }

    // --- statistics ----------------------------------------------------------------------------------------
    /// The largest free run of quanta; none if there is none.
    run largest() const noexcept {
        const auto r = quanta_.largest();
        return {r.address, r.bytes};
    }
    std::size_t unit() const noexcept { return std::size_t{1} << shift_; }
    std::size_t bytes() const noexcept { return quanta_.bytes(); }
    std::size_t live_bytes() const noexcept { return live_; }
    std::size_t free_bytes() const noexcept { return bytes() - live_; } // with free slots
    std::size_t live_runs() const noexcept { return live_blocks_; }
    std::size_t ranges() const noexcept { return quanta_.ranges(); }
    std::size_t slabs() const noexcept { return table_.size(); }
    std::size_t metadata_bytes() const noexcept { return quanta_.metadata_bytes() + table_.metadata_bytes(); }
    /// Calls visit(run) for the free runs of quanta of at least `least` bytes, the smallest first, until it returns
    /// false.
    /// Requires: `visit` does not call this object.
    template <class Visit> void visit_free(std::uint32_t, std::size_t least, Visit visit) const noexcept {
        quanta_.visit_free(0, least, [&](const auto& r) { return visit(run{r.address, r.bytes}); });
    }
    /// Calls visit(run, is_live, segment) for blocks, free slots and free runs in address order, until it returns
    /// false.
    /// Requires: `visit` does not call this object.
    template <class Visit> void visit(Visit visit) const noexcept {
        quanta_.visit([&](const auto& r, bool live, std::uint32_t segment) {
            const number x = live ? r.tag.slab : 0;
            if (x == 0) return visit(run{r.address, r.bytes}, live, segment);
            const detail::slab& s = table_[x];
            bool more = true;
            for (std::uint32_t i = 0; more && i != s.slots; ++i)
                more = visit(run{s.address + std::size_t{i} * s.slot_bytes, s.slot_bytes},
                             (s.free[i / 64] >> i % 64 & 1) == 0, segment);
            const std::size_t used = std::size_t{s.slots} * s.slot_bytes;
            return more && (used == s.bytes || visit(run{s.address + used, s.bytes - used}, false, segment));
        });
    }
    /// Whether the counts of live blocks (slots and runs) agree, and each slab is a live run. For tests.
    bool valid() const noexcept {
        std::size_t live = 0, blocks = 0;
        visit([&](const run& b, bool is_live, std::uint32_t) {
            live += is_live ? b.bytes : 0;
            blocks += is_live;
            return true;
        });
        return quanta_.valid() && live == live_ && blocks == live_blocks_ && table_.valid([&](number x) {
            const slab_tag* const tag = quanta_.tag_of(table_[x].address);
            return tag != nullptr && tag->slab == x && quanta_.bytes_of(table_[x].address) == table_[x].bytes;
        });
    }

  private:
    static constexpr unsigned max_quanta = 7; // of a slab: sizes are 4, 5, 6 or 7 times a power of two, up to 28 KiB
    static constexpr std::size_t max_bytes = std::size_t{1} << 44; // of a range of quanta

    // The class's size: up to four units a multiple of the unit, then four classes per doubling.
    std::size_t round_up(std::size_t n) const noexcept {
        if (n <= unit() << 2) return n == 0 ? unit() : align_up(n, unit());
        const std::size_t step = std::size_t{1} << (log2_floor(n - 1) - 2);
        return align_up(n, step);
    }
    unsigned class_of(std::size_t size) const noexcept {
        if (size <= unit() << 2) return static_cast<unsigned>(size >> shift_) - 1;
        const unsigned top = log2_floor(size - 1);
        return 4 + (top - shift_ - 2) * 4 + static_cast<unsigned>((size - 1) >> (top - 2) & 3);
    }
    run take_slot(std::size_t size) noexcept {
        const unsigned c = class_of(size);
        number x = table_.slab_with_free_slot(c);
        if (x == 0 && (x = make_slab(c, size)) == 0) return {};
        return count_allocated(table_.take_slot(x), size);
    }
    // The slab that an address is in; 0: none.
    number slab_of(std::uintptr_t address) const noexcept {
        std::uintptr_t at = align_down(address, quantum);
        for (unsigned i = 0; i != max_quanta; ++i, at -= quantum)
            if (const slab_tag* const tag = quanta_.tag_of(at); tag != nullptr)
                return tag->slab != 0 && address - at < table_[tag->slab].bytes ? tag->slab : 0;
        return 0;
    }
    // Takes the fewest quanta that the size divides, else those that hold one slot. 0: neither is free, or no metadata.
    number make_slab(unsigned c, std::size_t size) noexcept {
        if (!table_.prepare(memory_)) return 0;
        std::size_t bytes = quantum;
        while (bytes % size != 0) bytes += quantum;
        auto r = quanta_.allocate(bytes, quantum, 0);
        if (!r) r = quanta_.allocate(bytes = align_up(size, quantum), quantum, 0);
        if (!r) return 0;
        const number x = table_.add(r.address, r.bytes, c, size);
        quanta_.tag_of(r.address)->slab = x;
        return x;
    }
    run count_allocated(std::uintptr_t address, std::size_t bytes) noexcept {
        live_ += bytes;
        ++live_blocks_;
        return {address, bytes};
    }
    std::size_t count_released(std::size_t bytes) noexcept {
        live_ -= bytes;
        --live_blocks_;
        return bytes;
    }

    ALLOT_NO_UNIQUE_ADDRESS Memory memory_;
    unsigned shift_;
    quanta_type quanta_;
    table_type table_;
    std::size_t live_ = 0, live_blocks_ = 0;
};

} // namespace detail

namespace fit {

/// Size classes, four per doubling, from slabs and runs: little waste within blocks, and freed memory fits the next
/// request of its class. For chunk arenas.
struct runs {
    using category = category::fit;
    using needs = types<>;
    using provides = types<>;
    static constexpr std::string_view about =
        "size classes, four per doubling: slots of slabs, and best-fit runs of 8 KiB quanta; for chunk arenas";
    static constexpr std::string_view cost =
        "O(1) per slot, O(log n) per run; 56 bytes per slab, 48 to 56 per run; less than 20 % of a block is unused";

    static constexpr bool tags = false;
    static constexpr unsigned classes = 4;
    static constexpr bool whole_pages = false;
    template <detail::run_tag Tag = detail::no_tag, class Memory = detail::host_metadata>
        requires std::is_same_v<Tag, detail::no_tag>
    using of = detail::slab_runs<Memory>;
};
static_assert(category::fit::takes<runs>);

} // namespace fit
} // namespace allot::inline ALLOT_ABI
