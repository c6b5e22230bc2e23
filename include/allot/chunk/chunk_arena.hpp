// The chunk arena: blocks of bytes of any size under one limit, from a named set of policies.
//
//   chunk_arena -- caches (of threads, of the arena) -- chunks: a fit -- pages (limit) -- arena (pages)
//              `-- blocks of more than a chunk ----------------------------'
//
// For buffers: large blocks, shared between threads, given back by whoever is the last. Sizes are rounded to the
// classes of the set's fit, so every block has a capacity that its address tells; up to a chunk the fit cuts it, beyond
// it is pages of the same arena, so pooled memory never starves a large request. What is known about blocks stands
// beside the memory, which the host need not be able to touch (page::on_device).
// Invariant: charged bytes are the pages held, and never exceed the limit. Cost: some 60 instructions each to allocate
// and to give back (bench/NOTES.md); 9 KiB an object (15 where the set counts) and 9 a cache, 1/64 of the arena's
// address space, touched where blocks begin. Threads: any, but for construction, destruction and valid(). Blocks are
// given back before the arena ends: those that are left are told. A block is no row: allot::link and its like must not
// be asked about one, where an arena is shared with rows.
// Source: Netty's pooled arenas as Drill uses them, 2013 to 2020.
#pragma once

#include <allot/chunk/chunk_core.hpp>
#include <allot/chunk/chunk_policies.hpp>
#include <allot/chunk/chunk_reports.hpp>
#include <allot/chunk/chunk_stats.hpp>
#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/diagnose.hpp>
#include <allot/core/error.hpp>
#include <allot/core/min_max.hpp>
#include <allot/core/type_name.hpp>
#include <allot/core/units.hpp>
#include <allot/core/values.hpp>
#include <allot/ledger/forward.hpp>
#include <allot/page/arena_client.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

template <class Set> class chunk_arena {
    using policies = detail::chunk_policies<Set>;
    using core_type = detail::chunk_core<policies>;
    using classes = typename policies::classes;
    using map = detail::block_table;

  public:
    using set = Set;
    static constexpr std::size_t unit = classes::unit; // blocks are aligned to it, and not smaller
    static constexpr std::size_t default_chunk_bytes = std::size_t{4} << 20;
    static constexpr bool host_access = policies::host_access; // whether the host may touch the blocks

    // Takes, in any order: limit (where the set charges), the account to charge (where it says ledger::tree), name,
    // chunk_bytes (else 4 MiB, less where the limit is small), page_bytes, reserve_bytes, leak_sink; the arena where
    // the set says page::of<Arena>, the caller's bytes where it says page::borrowed, the api (unless it is an empty
    // type) and a device_id where it says page::on_device. Throws out_of_memory when no address space can be had
    // (without exceptions: aborts with its page).
    template <class... Values>
    explicit chunk_arena(Values&&... values)
        : name_(value_or<allot::name>({""}, values...).text),
          arena_(name_, value_or<allot::limit>({SIZE_MAX}, values...).bytes, values...),
          ledger_(value_or<allot::limit>({SIZE_MAX}, values...).bytes, name_, values...), pages_(arena(), ledger_),
          core_(pages_, chunk_bytes_for(value_or<allot::chunk_bytes>({0}, values...).bytes, limit_bytes(),
                                        arena().page_bytes())),
          leaks_(value_or<leak_sink>({&detail::leaks_to_stderr}, values...)),
          client_(arena(), name_, &held, this, &reclaim_for_arena) {
        check_values<product::chunk_arena, Set, accepted, Values...>();
        check_needed<product::chunk_arena, Set, typename policies::arena::needed, Values...>();
        if (core_.open()) {
            if constexpr (policies::in_tree) ledger_.set_stats_source(this, &item_stats_of<item_stats>);
            return;
        }
        client_.leave();
        core_.close();
        raise(out_of_memory("allot: out of memory: a chunk arena cannot get what it keeps about blocks",
                            [&](text_writer& out) {
                                out.put("chunk arena ")
                                    .put(name_)
                                    .put(" (set ")
                                    .put(set_name())
                                    .put("): no room for its map")
                                    .newline();
                            }));
    }
    chunk_arena(const chunk_arena&) = delete;
    chunk_arena& operator=(const chunk_arena&) = delete;
    ~chunk_arena() {
        if constexpr (policies::in_tree) ledger_.set_stats_source(nullptr, nullptr);
        client_.leave();
        core_.close();
        detail::report_leaked_blocks(*this, set_name(), leaks_);
        core_.heap().drop_pages();
    }

    // ---- blocks ---------------------------------------------------------------------------------------------

    // Memory of so many bytes or more, its contents unspecified, aligned to 64 or as told, up to a page; 0 bytes are a
    // block, too. On failure what the set's oom policy says: oom::raise throws out_of_memory, oom::null gives none.
    ALLOT_ALWAYS_INLINE block allocate(std::size_t bytes, std::size_t align = unit) {
        const block b = try_allocate(bytes, align);
        if (ALLOT_LIKELY(b.address != nullptr) || !policies::raises) return b;
        detail::raise_no_block(*this, set_name(), bytes, align);
    }
    // The same; none on failure.
    ALLOT_ALWAYS_INLINE block try_allocate(std::size_t bytes, std::size_t align = unit) noexcept {
        if (ALLOT_LIKELY(has_class(bytes) && align <= unit &&
                         is_power_of_two(align))) { // no cache has more than a chunk
            const unsigned c = classes::class_of(bytes);
            if (std::byte* const p = core_.pop(c, bytes); ALLOT_LIKELY(p != nullptr)) {
                core_.map().set(core_.heap().distance(p), map::live(c));
                return {p, core_.config().bytes[c]};
            }
        }
        return allocate_slow(bytes, align);
    }
    // The block's memory may be used again, by any thread from now on. Null is nothing; what is no block is told as
    // misuse, and nothing happens. Makes no call to the system.
    ALLOT_ALWAYS_INLINE void deallocate(const void* p) noexcept {
        const std::size_t at = core_.heap().distance(p);
        if (ALLOT_LIKELY(is_unit(at))) {
            const std::uint8_t s = core_.map().at(at);
            if (ALLOT_LIKELY(map::is_block(s))) return put(map::class_in(s), at, p);
        }
        deallocate_slow(p);
    }
    // The same, told the bytes that were asked for, or that it has (since it was resized: that it has), and the
    // alignment where it was more than 64: its class is known before the map is read. Other bytes, or what is no block,
    // are undefined; checked builds tell, bytes where they are too many.
    ALLOT_ALWAYS_INLINE void deallocate(const void* p, std::size_t bytes, std::size_t align = unit) noexcept {
        const std::size_t at = core_.heap().distance(p);
        if (ALLOT_LIKELY(ALLOT_CHECKED == 0 && has_class(bytes) && bytes <= chunk_bytes() && align <= unit &&
                         is_unit(at)))
            return put(classes::class_of(bytes), at, p);
        if constexpr (ALLOT_CHECKED != 0)
            if (const std::size_t has = capacity(p); has != 0 && bytes > has) misused(misuse::absurd_size, p);
        deallocate(p);
    }
    // The block has room for so many bytes where it stands, more or fewer than it had; none where that cannot be, and
    // then it is as it was.
    block resize(void* p, std::size_t bytes) noexcept {
        const std::size_t at = core_.heap().distance(p);
        const std::uint8_t s = is_unit(at) ? core_.map().at(at) : 0;
        auto* const start = static_cast<std::byte*>(p);
        if (s == map::large) return resize_large(start, bytes);
        if (ALLOT_UNLIKELY(!map::is_block(s))) return misused(misuse_of(p), p), block{};
        const unsigned from = map::class_in(s);
        if (bytes > core_.heap().chunk_bytes()) return {};
        const unsigned to = classes::class_of(bytes != 0 ? bytes : 1);
        if (to != from) {
            const unsigned now = core_.heap().resize(start, from, to);
            if (now != from) core_.map().set(at, map::live(now));
            else if (to > from) return {};
        }
        return {p, capacity(p)};
    }
    // What the block may use; 0 for what is no block.
    std::size_t capacity(const void* p) const noexcept {
        const std::size_t at = core_.heap().distance(p);
        const std::uint8_t s = is_unit(at) ? core_.heap().map().at(at) : 0;
        if (map::is_block(s)) return core_.config().bytes[map::class_in(s)];
        return s == map::large ? core_.heap().pages_of(static_cast<const std::byte*>(p)) << arena().page_shift() : 0;
    }
    // What a request of so many bytes gets, if there is memory; 0: none of this arena's ever does.
    std::size_t capacity_for(std::size_t bytes, std::size_t align = unit) const noexcept {
        const std::size_t n = bytes != 0 ? bytes : 1;
        if (n > core_.heap().span() || !is_power_of_two(align) || align > arena().page_bytes()) return 0;
        const unsigned c = class_for(n, align);
        const std::size_t has = c != no_class ? classes::bytes_of(c) : align_up(n, arena().page_bytes());
        return has <= core_.heap().span() ? has : 0;
    }
    bool contains(const void* p) const noexcept { return arena().contains(p); }

    // ---- memory ---------------------------------------------------------------------------------------------

    // Empties all caches and gives free pages back to the arena; returns bytes.
    std::size_t release_empty_pages() noexcept { return core_.heap().reclaim(true) << arena().page_shift(); }
    // The same, and the arena's free pages go back to the system; returns bytes of the latter.
    std::size_t trim() noexcept {
        release_empty_pages();
        const std::size_t bytes = arena().trim();
        pages_.record(watch_event::trimmed, bytes);
        return bytes;
    }
    std::size_t used() const noexcept
        requires(policies::charges)
    {
        return ledger_.used();
    }
    std::size_t peak() const noexcept
        requires(policies::charges)
    {
        return ledger_.peak();
    }
    std::size_t limit() const noexcept
        requires(policies::charges)
    {
        return ledger_.limit();
    }
    // Takes effect for later requests; pages already held stay.
    void set_limit(std::size_t bytes) noexcept
        requires(policies::charges)
    {
        ledger_.set_limit(bytes);
    }
    charge_stats charges() const noexcept
        requires(policies::counts)
    {
        return ledger_.charges();
    }

    // Exact while no other thread allocates or gives back.
    chunk_stats stats() const noexcept {
        chunk_stats f = core_.stats();
        f.limit = limit_bytes();
        if constexpr (policies::charges) f.peak = ledger_.peak();
        else f.peak = arena().stats().peak_taken;
        f.refused = refused_.load(std::memory_order_relaxed);
        return f;
    }
    // Visits (class_usage) of every class that was used, the smallest first.
    template <class Visit> void usage(Visit visit) const { core_.usage(visit); }
    // One page: limit, live, the classes that hold most, the arena.
    void report(text_writer& out) const noexcept {
        detail::write_chunks(out, *this, set_name());
        arena().report(out);
        if constexpr (policies::in_tree) ledger_.report(out);
    }

    // Its own, which its pages are charged to, below the one that it was given; it lives as long as the arena.
    allot::account& account() const noexcept
        requires(policies::in_tree)
    {
        return ledger_.account();
    }
    const char* name() const noexcept { return name_; }
    arena_base& arena() const noexcept { return arena_.get(); }
    std::size_t chunk_bytes() const noexcept { return core_.heap().chunk_bytes(); }
    // The invariants of its books; no other thread may use it meanwhile.
    bool valid() const noexcept {
        if (!core_.heap().valid()) return false;
        if constexpr (policies::charges) return ledger_.used() == stats().held;
        else return true;
    }

  private:
    template <class... Charged, class... More>
    static types<Charged..., allot::name, allot::chunk_bytes, leak_sink, More...> accepted_with(types<Charged...>,
                                                                                                types<More...>);
    using accepted = decltype(accepted_with(typename policies::ledger::values{}, typename policies::arena::accepted{}));

    static const char* set_name() noexcept { return type_name_c_str<Set>(); }
    static std::size_t held(const void* self) noexcept {
        return static_cast<const chunk_arena*>(self)->core_.heap().held_bytes();
    }
    // What the system gives to an arena of its own; one that is shared is nobody's alone.
    template <class Stats> static Stats item_stats_of(const void* self) noexcept {
        const auto& blocks = *static_cast<const chunk_arena*>(self);
        if constexpr (policies::shares_arena) return {blocks.ledger_.used(), 0, 0};
        else return {blocks.ledger_.used(), blocks.arena().stats().committed, blocks.arena().resident()};
    }
    static std::size_t reclaim_for_arena(const void* self) noexcept {
        return static_cast<const chunk_arena*>(self)->core_.heap().reclaim_for_arena();
    }
    std::size_t limit_bytes() const noexcept {
        if constexpr (policies::charges) return ledger_.limit();
        else return arena().limit();
    }
    // A power of two, a page at least; a limit has room for 32.
    static std::size_t chunk_bytes_for(std::size_t asked, std::size_t limit, std::size_t page) noexcept {
        const std::size_t wanted = asked != 0 ? asked : detail::min(default_chunk_bytes, limit / 32);
        return detail::clamp(std::size_t{1} << log2_floor(wanted | 1), page, core_type::heap_type::most_chunk);
    }
    static constexpr bool has_class(std::size_t bytes) noexcept { return bytes - 1 < core_type::heap_type::most_chunk; }
    static constexpr unsigned no_class = ~0U; // more than a chunk: pages
    unsigned class_for(std::size_t bytes, std::size_t align) const noexcept {
        const std::size_t chunk = chunk_bytes();
        if (bytes > chunk || align > chunk) return no_class;
        const unsigned c = classes::class_of(bytes, detail::max(align, unit));
        return classes::bytes_of(c) <= chunk ? c : no_class;
    }
    // Whether a distance is one of the arena's units.
    ALLOT_ALWAYS_INLINE bool is_unit(std::size_t at) const noexcept {
        return at < core_.heap().span() && is_aligned(at, unit);
    }
    ALLOT_ALWAYS_INLINE void put(unsigned c, std::size_t at, const void* p) noexcept {
        auto* const start = const_cast<std::byte*>(static_cast<const std::byte*>(p));
        core_.map().set(at, map::cached(c));
        if (ALLOT_UNLIKELY(!core_.push(c, start))) core_.give(c, start);
    }

    ALLOT_NOINLINE block allocate_slow(std::size_t bytes, std::size_t align) noexcept {
        if (ALLOT_UNLIKELY(!is_power_of_two(align) || align > arena().page_bytes()))
            return misused(misuse::bad_alignment, nullptr), refused();
        if (ALLOT_UNLIKELY(bytes > static_cast<std::size_t>(PTRDIFF_MAX)))
            return misused(misuse::absurd_size, nullptr), refused();
        const std::size_t n = bytes != 0 ? bytes : 1;
        if (const unsigned c = class_for(n, align); c != no_class) {
            std::byte* const p = core_.take(c, align, n);
            if (p == nullptr) return refused();
            core_.map().set(core_.heap().distance(p), map::live(c));
            return {p, classes::bytes_of(c)};
        }
        const std::size_t pages = ceil_div(n, arena().page_bytes());
        std::byte* const p = core_.heap().take_pages(pages);
        return p != nullptr ? block{p, pages << arena().page_shift()} : refused();
    }
    block refused() noexcept {
        refused_.fetch_add(1, std::memory_order_relaxed);
        return {};
    }
    // What is no block of a class.
    ALLOT_NOINLINE void deallocate_slow(const void* p) noexcept {
        if (p == nullptr) return;
        const std::size_t at = core_.heap().distance(p);
        if (is_unit(at) && core_.map().at(at) == map::large)
            core_.heap().give_pages(const_cast<std::byte*>(static_cast<const std::byte*>(p)));
        else misused(misuse_of(p), p);
    }
    block resize_large(std::byte* p, std::size_t bytes) noexcept {
        // More than a chunk it stays: who gives it back may tell its bytes, and no more than a chunk is a class.
        const std::size_t pages =
            detail::max(ceil_div(bytes, arena().page_bytes()), (chunk_bytes() >> arena().page_shift()) + 1);
        if (!core_.heap().resize_pages(p, pages)) return {};
        return {p, pages << arena().page_shift()};
    }
    misuse misuse_of(const void* p) const noexcept {
        if (!arena().contains(p)) return misuse::foreign_pointer;
        if (core_.heap().is_inside_a_block(p)) return misuse::interior_pointer;
        const std::size_t at = core_.heap().distance(p);
        const bool ours = core_.heap().map().word(at >> arena().page_shift()) != 0;
        return ours && is_aligned(at, unit) ? misuse::double_release : misuse::foreign_pointer;
    }
    ALLOT_COLD void misused(misuse kind, const void* p) const noexcept {
        report_misuse({.kind = kind, .set = set_name(), .heap = name_, .type = "", .address = p});
    }

    const char* name_;
    typename policies::arena arena_;
    ALLOT_NO_UNIQUE_ADDRESS typename policies::ledger ledger_;
    mutable typename core_type::pages_type pages_;
    mutable core_type core_;
    std::atomic<std::uint64_t> refused_{0};
    leak_sink leaks_;
    arena_client client_; // last: others may ask from now on
};

// A set that makes no chunk arena: its mistake is told once, and everything else is quiet.
template <class Set>
    requires(!detail::makes_chunk_arena<Set>())
class chunk_arena<Set> : public detail::refused<Set, product::chunk_arena> {
    using checked = decltype(detail::check_chunk_arena<Set>());

  public:
    using detail::refused<Set, product::chunk_arena>::refused;

    template <class... As> block allocate(As&&...) const noexcept; // whose members are asked for
    template <class... As> block try_allocate(As&&...) const noexcept;
    template <class... As> block resize(As&&...) const noexcept;
    template <class... As> chunk_stats stats(As&&...) const noexcept;
};

} // namespace allot::inline ALLOT_ABI
