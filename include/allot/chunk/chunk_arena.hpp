// The chunk arena: blocks of bytes of any size under one limit, from a named set of policies.
//
//   chunk_arena -- caches (of threads, of the arena) -- chunks: a fit -- pages (limit) -- arena (pages)
//              `-- blocks of more than a chunk, or (fit::best) 4 pages ----'
//
// For buffers: large blocks that threads share and the last user deallocates. Sizes are rounded up to the classes of
// the set's fit, which cuts blocks up to a chunk; larger blocks are pages of the same arena, so pooled memory never
// starves a large request. Block metadata is out of band, so the host need not be able to touch blocks
// (page::on_device).
// Invariant: the charged bytes are the pages held, and never exceed the limit. Cost: about 60 instructions each to
// allocate and to deallocate (bench/NOTES.md); 12 KiB per object (22 where the set counts) and 14 KiB per cache; 1/64
// of the arena's address space, touched where blocks begin. Threads: any, except for construction, destruction and
// valid().
// Source: Netty's pooled arenas as Drill uses them, 2013 to 2020.
#pragma once

#include <allot/account/forward.hpp>
#include <allot/chunk/chunk_core.hpp>
#include <allot/chunk/chunk_policies.hpp>
#include <allot/chunk/chunk_reports.hpp>
#include <allot/chunk/chunk_stats.hpp>
#include <allot/chunk/compiled_chunks.hpp>
#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/diagnose.hpp>
#include <allot/core/error.hpp>
#include <allot/core/min_max.hpp>
#include <allot/core/type_name.hpp>
#include <allot/core/units.hpp>
#include <allot/core/values.hpp>
#include <allot/page/page_steps.hpp>
#include <allot/request/ladder.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/request/tenant.hpp>
#include <allot/sys/lock_rank.hpp>
#include <allot/sys/poison.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

/// An allocator of blocks. A block is not a row: where the arena is shared with rows, never pass a block to
/// allot::link() and the like.
template <class Set> class chunk_arena {
    using policies = detail::chunk_policies<detail::answers_of<Set, product::chunk_arena>>;
    using core_type = detail::chunk_core<policies>;
    using classes = typename policies::classes;
    using map = detail::block_table;

  public:
    using set = Set;
    static constexpr std::size_t unit = classes::unit;        // the smallest block and alignment, 64 bytes
    static constexpr std::size_t max_align = page::max_bytes; // of a block, 16 MiB
    static constexpr std::size_t default_chunk_bytes = core_type::default_chunk_bytes;
    static constexpr bool host_access = policies::host_access; // whether the host may touch the blocks

    /// Takes, in any order: name, chunk_bytes (else a 32nd of the limit or the arena, 4 MiB at most), page_bytes,
    /// reserve_bytes, leak_sink; limit, unless the set names ledger::none; the account to charge under ledger::tree,
    /// and watermark of the chunk arena's own account below it; the arena under page::of<Arena>; the bytes to use under
    /// page::borrowed; a device_id, and the api unless it is an empty type, under page::on_device.
    /// Requires: name, account, arena and api outlive the chunk arena.
    /// Throws: out_of_memory if no address space can be reserved, or the account refuses the books (without exceptions:
    /// writes the report and aborts).
    template <class... Values>
    explicit chunk_arena(Values&&... values)
        : name_(value_or<allot::name>(allot::name{""}, values...).text),
          ledger_(value_or<allot::limit>({SIZE_MAX}, values...).bytes, name_, values...),
          arena_(name_, value_or<allot::limit>({SIZE_MAX}, values...).bytes, policies::charges ? &payer_ : nullptr,
                 values...),
          pages_(arena(), ledger_),
          core_(pages_, detail::books_of(ledger_, !arena().headers_out_of_band()),
                core_type::chunk_bytes_for(value_or<allot::chunk_bytes>({0}, values...).bytes,
                                           detail::min(limit_bytes(), arena().limit()), arena().page_bytes())),
          leaks_(value_or<leak_sink>({&detail::leaks_to_stderr}, values...)) {
        detail::check_values<product::chunk_arena, Set, accepted, Values...>();
        detail::check_needed<product::chunk_arena, Set, typename policies::arena::needed, Values...>();
        if (!core_.open()) core_.close(), raise_no_table();
        if constexpr (policies::in_tree)
            if (core_.books()) open_books();
        arena().add(tenant_); // from here on, others who are short of memory ask it
        if constexpr (policies::in_tree) ledger_.join(tenant_);
    }
    chunk_arena(const chunk_arena&) = delete;
    chunk_arena& operator=(const chunk_arena&) = delete;
    /// Reports the blocks that are still live to the leak sink, and gives all pages back.
    ~chunk_arena() {
        if constexpr (policies::in_tree) ledger_.leave();
        arena().remove(tenant_);
        core_.close();
        detail::report_leaked_blocks(*this, set_name(), leaks_);
        core_.heap().drop_pages();
    }

    // ---- blocks ---------------------------------------------------------------------------------------------

    /// Allocates a block of at least `bytes` (0 gives a block too) with unspecified contents. Aligned to more than a
    /// page it is whole pages, and needs room for `align` bytes more, which are idle memory afterwards.
    /// Requires: align is a power of two, max_align at most. Anything else, and more bytes than PTRDIFF_MAX, is
    /// reported as misuse and refused.
    /// Returns: the block; under oom::null none on failure.
    /// Throws: out_of_memory on failure, under oom::raise.
    ALLOT_ALWAYS_INLINE block allocate(std::size_t bytes, std::size_t align = unit) {
        const block b = pop(bytes, align);
        return ALLOT_LIKELY(b.address != nullptr) ? b : allocate_slow(bytes, align);
    }
    /// As allocate(). `why`: where it is not null, the status of the request, with what refused it.
    /// Returns: none on failure, under any oom policy.
    ALLOT_ALWAYS_INLINE block try_allocate(std::size_t bytes, std::size_t align = unit,
                                           charge_status* why = nullptr) noexcept {
        const block b = pop(bytes, align);
        if (ALLOT_UNLIKELY(b.address == nullptr)) return try_allocate_slow(bytes, align, why);
        if (why != nullptr) *why = {};
        return b;
    }
    /// As try_allocate(), and the block's first `bytes` are zero. Of a block of whole pages only those that had an
    /// earlier use are written.
    block try_allocate_zeroed(std::size_t bytes, std::size_t align = unit, charge_status* why = nullptr) noexcept
        requires(host_access)
    {
        const block b = try_allocate(bytes, align, why);
        if (b) zero(b.address, bytes);
        return b;
    }
    // Bytes of a new block.
    void zero(void* p, std::size_t bytes) noexcept
        requires(host_access)
    {
        auto* const first = static_cast<std::byte*>(p);
        const bool is_large = core_.map().at(core_.heap().distance(first)) == map::large;
        if (is_large) arena().zero(first, bytes);
        else std::memset(first, 0, bytes);
    }
    // For buffers.
    ALLOT_ALWAYS_INLINE block try_allocate(std::size_t bytes, std::size_t align, detail::from_caches) noexcept {
        return pop(bytes, align);
    }
    block try_allocate(detail::memory_request& asked, std::size_t align) noexcept {
        return is_possible(asked, align) ? find_block(asked, align) : block{};
    }
    bool climb(detail::memory_request& asked, const detail::account_node* by, detail::attempt_ref again) noexcept {
        auto own = steps(asked);
        return climb_for(asked, own, by, ledger_, most_cost, again) || refused();
    }
    /// As try_allocate(), and waits while the limit of an account refuses: until blocks are deallocated, bytes are
    /// refunded, or a limit is raised.
    /// Requires: the set has ledger::tree or ledger::pool. Inside a listener or reclaimer it does not wait.
    block allocate_for(std::size_t bytes, const wait_limit& wait, std::size_t align = unit,
                       charge_status* why = nullptr) noexcept
        requires(policies::in_tree)
    {
        detail::memory_request asked{bytes};
        asked.wait = &wait;
        const block b = request(asked, align);
        asked.report(why, b.address != nullptr);
        return b;
    }
    /// Deallocates a block. Null is ignored; anything but a live block too, and is misuse. Makes no system call.
    ALLOT_ALWAYS_INLINE void deallocate(const void* p) noexcept {
        detail::check_no_lock_is_held("deallocates a block");
        const std::size_t at = core_.heap().distance(p);
        if (ALLOT_LIKELY(is_unit(at))) {
            const std::uint8_t s = core_.map().at(at);
            if (ALLOT_LIKELY(map::is_block(s))) return put(map::class_in(s), at, p);
        }
        deallocate_slow(p);
    }
    /// The same, faster: the class follows from the block's bytes, not from the block table.
    /// Requires: a live block, and as its bytes those requested, aligned to `unit` at most, or its capacity; after
    /// resize() only its capacity. Otherwise undefined; checked builds report an address that is no block, and bytes
    /// that lead to another block.
    ALLOT_ALWAYS_INLINE void deallocate(const block& b) noexcept {
        detail::check_no_lock_is_held("deallocates a block");
        const std::size_t at = core_.heap().distance(b.address);
        if (ALLOT_LIKELY(is_of_class(b.bytes, unit) && is_unit(at))) {
            const unsigned c = classes::class_of(b.bytes);
            if (ALLOT_CHECKED == 0 || core_.map().at(at) == map::live(c)) return put(c, at, b.address);
        }
        if constexpr (ALLOT_CHECKED != 0)
            if (const std::size_t has = capacity(b.address); has != 0 && (b.bytes > has || is_of_class(b.bytes, unit)))
                report_misused(b.bytes > has ? misuse::size_too_large : misuse::other_request, b.address);
        deallocate(b.address);
    }
    /// The same for callers that know the bytes of the last allocate() or resize() of the block, and its alignment.
    /// Checked builds report more bytes than the block has.
    ALLOT_ALWAYS_INLINE void deallocate(const void* p, [[maybe_unused]] std::size_t bytes,
                                        [[maybe_unused]] std::size_t align = unit) noexcept {
        if constexpr (ALLOT_CHECKED != 0)
            if (const std::size_t has = capacity(p); has != 0 && bytes > has) report_misused(misuse::size_too_large, p);
        deallocate(p);
    }
    /// Grows or shrinks a block in place, to hold `bytes`. One of a class shrinks where a quarter of it becomes free,
    /// and 1 KiB at least.
    /// Returns: the block; none where it cannot, and the block is as before. Anything but a live block is reported as
    /// misuse.
    block resize(void* p, std::size_t bytes) noexcept {
        const std::size_t at = core_.heap().distance(p);
        const std::uint8_t s = is_unit(at) ? core_.map().at(at) : 0;
        auto* const start = static_cast<std::byte*>(p);
        if (s == map::large) return resize_large(start, bytes);
        if (ALLOT_UNLIKELY(!map::is_block(s))) return report_misused(misuse_of(p), p), block{};
        const unsigned from = map::class_in(s);
        if (bytes > core_.heap().largest_block())
            return core_.heap().note_growth(detail::ceil_div(bytes, arena().page_bytes())), block{};
        const unsigned to = classes::class_of(bytes != 0 ? bytes : 1);
        if (to != from) {
            const unsigned now = core_.heap().resize(start, from, to);
            if (now != from) core_.map().set(at, map::live(now));
            else if (to > from) return {};
        }
        return {p, capacity(p)};
    }
    /// The usable bytes of a block; 0 for an address that begins no block.
    std::size_t capacity(const void* p) const noexcept {
        const std::size_t at = core_.heap().distance(p);
        const std::uint8_t s = is_unit(at) ? core_.heap().map().at(at) : 0;
        if (map::is_block(s)) return core_.config().bytes[map::class_in(s)];
        return s == map::large ? core_.heap().pages_of(static_cast<const std::byte*>(p)) << arena().page_shift() : 0;
    }
    // For charged blocks: the capacity that resize() gives a block of whole pages; 0 for any other address.
    std::size_t capacity_resized(const void* p, std::size_t bytes) const noexcept {
        const std::size_t at = core_.heap().distance(p);
        return is_unit(at) && core_.map().at(at) == map::large ? pages_resized(bytes) << arena().page_shift() : 0;
    }
    /// The capacity that a request would get if there is memory; 0: this arena can never serve it.
    std::size_t capacity_for(std::size_t bytes, std::size_t align = unit) const noexcept {
        const std::size_t n = bytes != 0 ? bytes : 1;
        if (n > core_.heap().span() || !detail::is_power_of_two(align) || align > max_align) return 0;
        const unsigned c = class_for(n, align);
        const std::size_t has = c != no_class ? classes::bytes_of(c) : detail::align_up(n, arena().page_bytes());
        return has <= core_.heap().span() ? has : 0;
    }
    /// Whether an address is in the arena's range, which other managers may share.
    bool contains(const void* p) const noexcept { return arena().contains(p); }

    // ---- memory ---------------------------------------------------------------------------------------------

    /// Empties all caches and gives free pages back to the arena.
    /// Returns: their bytes.
    std::size_t release_empty_pages() noexcept { return core_.heap().reclaim() << arena().page_shift(); }
    /// The same, and returns the arena's free pages to the system.
    /// Returns: the bytes returned to the system.
    std::size_t trim() noexcept {
        release_empty_pages();
        return pages_.trim();
    }
    /// used(): bytes charged; peak(): the most so far; limit(). Absent under ledger::none.
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
    /// Applies to later requests; pages that are held stay.
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

    /// Exact while no other thread allocates or deallocates.
    /// Complexity: a walk over the classes of all caches.
    chunk_stats stats() const noexcept {
        chunk_stats f = core_.stats();
        f.idle = pages_.idle();
        f.books = detail::charged_books(ledger_);
        f.charged += f.idle + f.books;
        f.limit = limit_bytes();
        if constexpr (policies::charges) f.peak = ledger_.peak();
        else f.peak = arena().stats().peak_taken;
        f.refused = refused_.load(std::memory_order_relaxed);
        return f;
    }
    /// Calls visit(class_usage) for each class that was used, the smallest first.
    template <class Visit> void usage(Visit visit) const { core_.usage(visit); }
    /// Writes a page: limit, live bytes, the classes with the most, the arena, the account. Allocates nothing.
    void report(text_writer& out) const noexcept {
        detail::write_chunks(out, *this, set_name());
        arena().report(out);
        if constexpr (policies::in_tree) ledger_.report(out);
    }

    /// The chunk arena's own account, a child of the one passed in; its pages are charged to it. It lives as long as
    /// the chunk arena.
    allot::account& account() const noexcept
        requires(policies::in_tree)
    {
        return ledger_.account();
    }
    // For buffers: the account from which those of `by` take blocks over; null: it is in another tree.
    allot::account* lender_to(const allot::account& by) const noexcept
        requires(policies::lends)
    {
        return ledger_.lender_to(by);
    }
    const char* name() const noexcept { return name_; }
    page_arena& arena() const noexcept { return arena_.get(); }
    std::size_t chunk_bytes() const noexcept { return core_.heap().chunk_bytes(); }
    /// Whether chunks, counts and charged bytes agree. For tests.
    /// Threads: no other thread may use the chunk arena meanwhile.
    bool valid() const noexcept {
        if (!core_.heap().valid()) return false;
        if constexpr (policies::charges) return ledger_.used() == stats().charged;
        else return true;
    }

  private:
    template <class... Charged, class... More>
    static types<Charged..., allot::name, allot::chunk_bytes, leak_sink, More...> accepted_with(types<Charged...>,
                                                                                                types<More...>);
    using accepted = decltype(accepted_with(typename policies::ledger::values{}, typename policies::arena::accepted{}));

    static const char* set_name() noexcept { return detail::type_name_c_str<Set>(); }
    [[noreturn]] ALLOT_COLD void raise_no_table() const {
        detail::raise_refused([](text_writer& out) { out.put("out of memory: the block table of a chunk arena"); },
                              set_name(), name_, {.outcome = charge_outcome::no_memory, .by = refuser::system}, 0,
                              [](text_writer& out) { out.put("  to mend: more of ulimit -v or vm.max_map_count"); });
    }
    // Its own bytes, the first and last OS pages of its block table, and those of its arena's tables.
    void open_books() {
        const std::size_t bytes = sizeof(chunk_arena) + 4 * detail::sys::os_page_bytes() +
                                  (policies::shares_arena ? 0 : detail::arena_tables::used_bytes());
        detail::memory_request asked{bytes};
        if (!ledger_.open_books(bytes, asked)) core_.close(), ledger_.raise_no_books(asked, set_name(), name_);
    }
    struct block_tenant final : detail::caching_tenant {
        explicit block_tenant(chunk_arena& blocks) noexcept : detail::caching_tenant(blocks.name_), of(blocks) {}
        std::size_t held() const noexcept override { return of.core_.heap().held_bytes(); }
        std::size_t unused() const noexcept override { return of.pages_.leaves(); }
        std::size_t return_idle(std::size_t bytes, bool) noexcept override {
            if (!of.arena().has_payer()) return give_free_pages();
            std::size_t returned = of.pages_.trim_for(bytes);
            if ((returned < bytes || bytes == 0) && held() != 0) {
                static_cast<void>(give_free_pages()); // others may have given some, for requests of their own
                returned += of.pages_.trim_for(bytes - returned);
            }
            return returned;
        }
        bool set_shut(bool now) noexcept override { return of.core_.set_shut(now); }
        // Committed and resident bytes of a private arena; 0 where the arena is shared: they cannot be attributed.
        item_stats stats() const noexcept override {
            if constexpr (policies::shares_arena) return {charged(), 0, 0};
            else return {charged(), of.arena().stats().committed, of.arena().resident()};
        }
        std::size_t give_free_pages() noexcept {
            return of.core_.heap().reclaim_for_arena() << of.arena().page_shift();
        }
        std::size_t charged() const noexcept {
            if constexpr (policies::in_tree) return of.account().used();
            else if constexpr (policies::charges) return of.ledger_.used();
            else return held();
        }
        chunk_arena& of;
    };
    std::size_t limit_bytes() const noexcept {
        if constexpr (policies::charges) return ledger_.limit();
        else return arena().limit();
    }
    static constexpr bool has_class(std::size_t bytes) noexcept { return bytes - 1 < core_type::heap_type::max_chunk; }
    static constexpr unsigned no_class = ~0U; // pages
    unsigned class_for(std::size_t bytes, std::size_t align) const noexcept {
        const std::size_t largest = core_.heap().largest_block();
        if (bytes > largest || align > arena().page_bytes()) return no_class;
        const unsigned c = classes::class_of(bytes, detail::max(align, unit));
        return classes::bytes_of(c) <= largest ? c : no_class;
    }
    // Whether a distance from the arena's start is inside, and a multiple of the unit.
    ALLOT_ALWAYS_INLINE bool is_unit(std::size_t at) const noexcept {
        return at < core_.heap().span() && detail::is_aligned(at, unit);
    }
    // Whether a block of this request has a class that follows from its bytes alone.
    ALLOT_ALWAYS_INLINE bool is_of_class(std::size_t bytes, std::size_t align) const noexcept {
        return has_class(bytes) && bytes <= core_.heap().largest_block() && align <= unit;
    }
    ALLOT_ALWAYS_INLINE void put(unsigned c, std::size_t at, const void* p) noexcept {
        auto* const start = const_cast<std::byte*>(static_cast<const std::byte*>(p));
        core_.map().set(at, map::cached(c));
        if constexpr (host_access) detail::sys::poison(start, core_.config().bytes[c]);
        if (ALLOT_UNLIKELY(!core_.push(c, start))) core_.give(c, start);
    }
    // Makes a block that is `cached` in the block table live. It is poisoned until then.
    ALLOT_ALWAYS_INLINE block start(std::byte* p, unsigned c) noexcept {
        core_.map().set(core_.heap().distance(p), map::live(c));
        if constexpr (host_access) detail::sys::unpoison(p, core_.config().bytes[c]);
        return {p, core_.config().bytes[c]};
    }

    // A block from a cache, which has none of pages; none: try_again() may have one.
    ALLOT_ALWAYS_INLINE block pop(std::size_t bytes, std::size_t align) noexcept {
        detail::check_no_lock_is_held("allocates a block");
        if (ALLOT_LIKELY(has_class(bytes) && align <= unit && detail::is_power_of_two(align))) {
            const unsigned c = classes::class_of(bytes);
            if (std::byte* const p = core_.pop(c, bytes); ALLOT_LIKELY(p != nullptr)) {
                return start(p, c);
            }
        }
        return {};
    }
    ALLOT_NOINLINE block try_allocate_slow(std::size_t bytes, std::size_t align, charge_status* why) noexcept {
        detail::memory_request asked{bytes};
        const block b = request(asked, align);
        asked.report(why, b.address != nullptr);
        return b;
    }
    ALLOT_NOINLINE block allocate_slow(std::size_t bytes, std::size_t align) {
        detail::memory_request asked{bytes};
        asked.judged = policies::waits;
        const block b = request(asked, align);
        if (ALLOT_LIKELY(b.address != nullptr)) return b;
        if constexpr (policies::waits) account().raise_verdict(asked.why);
        if constexpr (policies::raises) detail::raise_no_block(*this, set_name(), asked, align);
        else return b;
    }
    // Whether a block is found, made again after a refusal, step by step.
    block request(detail::memory_request& asked, std::size_t align) noexcept {
        if (ALLOT_UNLIKELY(!is_possible(asked, align))) return {};
        block b = find_block(asked, align);
        if (ALLOT_UNLIKELY(!b)) b = request_again(asked, align);
        return b ? b : refused();
    }
    bool is_possible(detail::memory_request& asked, std::size_t align) noexcept {
        if (ALLOT_UNLIKELY(!detail::is_power_of_two(align) || align > max_align))
            return refuse_misuse(asked, misuse::bad_alignment);
        return ALLOT_LIKELY(asked.bytes <= static_cast<std::size_t>(PTRDIFF_MAX)) ||
               refuse_misuse(asked, misuse::size_too_large);
    }
    static constexpr std::uint32_t most_cost = policies::asks ? UINT32_MAX : 0; // of those it asks
    auto steps(detail::memory_request& asked) noexcept {
        asked.waiting = &core_.heap().waiting();
        return detail::page_steps{arena(), core_.heap().in_transit(),
                                  [this](unsigned way) noexcept { return core_.heap().return_idle(way); }};
    }
    ALLOT_NOINLINE block request_again(detail::memory_request& asked, std::size_t align) noexcept {
        auto own = steps(asked);
        auto level = ledger_.steps(most_cost);
        return detail::climb(asked, own, level, [&] {
            const block b = pop(asked.bytes, align); // a step may have filled a cache
            return b ? b : find_block(asked, align);
        });
    }
    block find_block(detail::memory_request& asked, std::size_t align) noexcept {
        const std::size_t bytes = asked.bytes != 0 ? asked.bytes : 1;
        if (const unsigned c = class_for(bytes, align); c != no_class) {
            std::byte* const p = core_.take(c, align, asked);
            return p != nullptr ? start(p, c) : block{};
        }
        const std::size_t pages = detail::ceil_div(bytes, arena().page_bytes());
        std::byte* const p = core_.heap().take_pages(pages, align, asked);
        return p != nullptr ? block{p, pages << arena().page_shift()} : block{};
    }
    bool refuse_misuse(detail::memory_request& asked, misuse kind) noexcept {
        report_misused(kind, nullptr);
        asked.refuse(charge_outcome::misused, asked.bytes, text_of(kind).data());
        return bool{refused()};
    }
    block refused() noexcept {
        refused_.fetch_add(1, std::memory_order_relaxed);
        return {};
    }
    // Addresses that begin no block of a class: null, large blocks, misuse.
    ALLOT_NOINLINE void deallocate_slow(const void* p) noexcept {
        if (p == nullptr) return;
        const std::size_t at = core_.heap().distance(p);
        if (is_unit(at) && core_.map().at(at) == map::large)
            core_.heap().give_pages(const_cast<std::byte*>(static_cast<const std::byte*>(p)));
        else report_misused(misuse_of(p), p);
    }
    // The block stays larger than those of a class: deallocate(block) takes smaller ones for blocks of a class.
    std::size_t pages_resized(std::size_t bytes) const noexcept {
        return detail::max(detail::ceil_div(bytes, arena().page_bytes()),
                           (core_.heap().largest_block() >> arena().page_shift()) + 1);
    }
    block resize_large(std::byte* p, std::size_t bytes) noexcept {
        const std::size_t pages = pages_resized(bytes);
        if (!core_.heap().resize_pages(p, pages)) return {};
        return {p, pages << arena().page_shift()};
    }
    misuse misuse_of(const void* p) const noexcept {
        if (!arena().contains(p)) return misuse::foreign_pointer;
        const std::size_t at = core_.heap().distance(p);
        if (is_unit(at) && core_.map().at(at) == map::kept) return misuse::double_release;
        if (core_.heap().is_inside_a_block(p)) return misuse::interior_pointer;
        const bool ours = core_.heap().map().word(at >> arena().page_shift()) != 0;
        return ours && detail::is_aligned(at, unit) ? misuse::double_release : misuse::foreign_pointer;
    }
    ALLOT_COLD void report_misused(misuse kind, const void* p) const noexcept {
        detail::report_misuse({.kind = kind, .set = set_name(), .heap = name_, .type = "", .address = p});
    }

    const char* name_;
    ALLOT_NO_UNIQUE_ADDRESS typename policies::ledger ledger_;
    detail::ledger_payer<typename policies::ledger> payer_{ledger_};
    typename policies::arena arena_; // its memory is unmapped before it is refunded
    mutable typename core_type::pages_type pages_;
    mutable core_type core_;
    std::atomic<std::uint64_t> refused_{0};
    leak_sink leaks_;
    block_tenant tenant_{*this};
};

} // namespace allot::inline ALLOT_ABI

#include <allot/chunk/chunk_arena_refused.hpp>
