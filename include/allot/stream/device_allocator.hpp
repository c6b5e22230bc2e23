// The device allocator: stream-ordered blocks of one device's memory under one limit, from a named set of policies.
//
//   device_allocator -- fit: free and live runs, on the host --.
//                    -- book: streams, tickets, lazy events ---+-- segments (mapped pieces) -- api (the device)
//                    -- ledger (limit)                        --'
//
// Memory freed on stream S is free for S at once, and for another stream T after T's wait for an event behind the free,
// which is recorded only then. A request takes, in this order: what its stream freed; what is free for all; what other streams
// freed and it already comes after; what it comes after by a wait alone; by an event and a wait; a new piece; what lies side
// by side, joined, after waits for those who freed it; and, as `retain` allows, a piece in place of pieces that are wholly free.
// Invariant: bytes held of the device never exceed the limit; a block is never handed to a stream that does not come after its
// last free. Cost: some 100 ns a pair beside the api's two questions a call (whose id, whether captured); an exhausted
// allocator answers in O(streams) until something is freed, then with one look at all runs. The host keeps 40 to 60 bytes a run, and writes nothing to the device's memory.
// Threads: any; one mutex for the books, one more for who grows. Calls that record and wait are made under the first, those that
// create, map, unmap and synchronise under the second alone, so hits go on meanwhile.
// Source: stream-ordered allocation, CUDA 11.2 2020; RMM's pool 2020, without its event a free; best fit, Knuth 1968.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/error.hpp>
#include <allot/core/type_name.hpp>
#include <allot/core/units.hpp>
#include <allot/core/values.hpp>
#include <allot/stream/device_figures.hpp>
#include <allot/stream/device_policies.hpp>
#include <allot/stream/device_segments.hpp>
#include <allot/stream/free_spans.hpp>
#include <allot/stream/relaxed_capture.hpp>
#include <allot/stream/stream_book.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <type_traits>
#include <utility>

namespace allot::inline ALLOT_ABI {

template <class Set> class device_allocator {
    using policies = detail::device_policies<Set>;
    using book_type = detail::stream_book<typename policies::api>;
    using runs_type = typename policies::runs;
    using run = typename runs_type::run;
    using key_type = typename book_type::key_type;
    using piece = detail::device_piece;
    using guard = std::lock_guard<std::mutex>;

  public:
    using set = Set;
    using api_type = typename policies::api;
    using stream_type = typename api_type::stream_type;

    static constexpr std::size_t unit = 256;                          // sizes are rounded up to it, blocks aligned to it
    static constexpr std::size_t most_bytes = std::size_t{1} << 39;   // a block; beyond is refused
    static constexpr std::size_t largest_step = std::size_t{512} << 20; // that growth takes ahead of a request

    // Takes, in any order: device_id (the first device unless told), limit (where the set charges), the account to charge (ledger::tree), name, reserve_bytes (of
    // addresses; else twice the device's memory), leak_sink, and the api's value, which an api that is no empty type needs.
    // Asks nothing of the device: the first request does.
    template <class... Values>
    explicit device_allocator(Values&&... values) noexcept
        : name_(value_or<allot::name>({""}, values...).text), device_(value_or<device_id>({0}, values...)),
          api_(api_of(values...)), ledger_(value_or<allot::limit>({SIZE_MAX}, values...).bytes, name_, values...), book_(api_),
          segments_(api_, device_, value_or<allot::reserve_bytes>({0}, values...).bytes),
          leaks_(value_or<leak_sink>({&detail::leaks_to_stderr}, values...)) {
        check_values<product::device_allocator, Set, accepted, Values...>();
        if constexpr (!std::is_empty_v<api_type>) check_needed<product::device_allocator, Set, types<api_type>, Values...>();
        (void)(runs_.open(stream_tag::clean) && runs_.open(stream_tag::held)); // else the first growth fails
    }
    device_allocator(const device_allocator&) = delete;
    device_allocator& operator=(const device_allocator&) = delete;
    // Tells what was not freed, waits for the device, and gives all back.
    ~device_allocator() {
        tell_leaks();
        if (segments_.size() == 0) return;
        tell(synchronize_devices());
        while (segments_.size() != 0) tell(segments_.shrink(segments_[segments_.size() - 1]));
    }

    // ---- blocks ---------------------------------------------------------------------------------------------

    // Memory for work of this stream from now on, its contents unspecified, aligned to 256 bytes or as told: any power of two.
    // 0 bytes give null, which may be freed, as in CUDA. On failure what the set's oom policy says: oom::raise throws
    // out_of_memory, oom::null gives null. In a capture: only what is free for all, and growth; never a wait.
    void* allocate(std::size_t bytes, stream_type stream) { return allocate(bytes, unit, stream); }
    void* allocate(std::size_t bytes, std::size_t align, stream_type stream) {
        if (void* const p = try_allocate(bytes, align, stream); ALLOT_LIKELY(p != nullptr || bytes == 0)) return p;
        if constexpr (policies::raises) raise_out_of_memory(bytes, align);
        else return nullptr;
    }
    // The same; null on failure.
    void* try_allocate(std::size_t bytes, stream_type stream) noexcept { return try_allocate(bytes, unit, stream); }
    void* try_allocate(std::size_t bytes, std::size_t align, stream_type stream) noexcept {
        if (ALLOT_UNLIKELY(bytes == 0)) return nullptr;
        if (ALLOT_UNLIKELY(!is_power_of_two(align))) {
            misused(misuse::bad_alignment, nullptr);
            return nullptr;
        }
        caller who;
        if (ALLOT_UNLIKELY(bytes > most_bytes || align > most_bytes || !identify(stream, who))) return refused();
        run r;
        {
            const guard hold{books_};
            r = take(who, bytes, align);
        }
        if (ALLOT_UNLIKELY(!r) && !(r = take_slowly(who, bytes, align))) return refused();
        void* const p = reinterpret_cast<void*>(r.address);
        if constexpr (policies::tells_blocks) api_.mark_allocated(p, r.bytes, stream);
        return p;
    }
    // All use of the block so far is ordered before this point of the stream; it need not be the one it was allocated for. In a
    // capture the block is held until release_held(). Null is nothing; a block that is none is told as misuse, and nothing happens.
    void deallocate(void* p, stream_type stream) noexcept {
        if (ALLOT_UNLIKELY(p == nullptr)) return;
        caller who;
        const bool known = identify(stream, who);
        const auto address = reinterpret_cast<std::uintptr_t>(p);
        const guard hold{books_};
        const std::size_t bytes = runs_.bytes_of(address);
        if (ALLOT_UNLIKELY(bytes == 0)) return misused(why_not_a_block(address), p);
        count([](auto& c) { ++c.frees; });
        if constexpr (policies::at_once) {
            runs_.release(address, stream_tag::of(stream_tag::clean));
            book_.freed_for_all();
            return;
        }
        const key_type key = known && who.state != uses::captured ? key_of(who) : book_type::none;
        if (ALLOT_UNLIKELY(key == book_type::none)) {
            runs_.release(address, stream_tag::of(stream_tag::held));
            return;
        }
        if constexpr (policies::tells_blocks) api_.mark_freed(p, bytes, stream);
        runs_.release(address, book_.freed(key));
        if (ALLOT_LIKELY(who.state == uses::all)) book_.keep_up(key);
    }

    // ---- streams --------------------------------------------------------------------------------------------

    // Before a stream is destroyed: an event behind its frees, so that others can wait for them; its place serves another. What a
    // stream freed that was destroyed untold serves others only after a wait for the whole device, when memory is short.
    void leave(stream_type stream) noexcept {
        caller who;
        if (!identify(stream, who)) return;
        const guard hold{books_};
        if (const key_type key = book_.find(who.id); key != book_type::none) (void)book_.leave(key);
    }
    // What was freed in captures becomes free at this point of the stream, which comes after the last run of every graph
    // that used it; the graphs are not launched again. Returns bytes.
    std::size_t release_held(stream_type stream) noexcept {
        caller who;
        if (!identify(stream, who) || who.state != uses::all) return 0;
        const guard hold{books_};
        const key_type key = key_of(who);
        if (key == book_type::none) return 0;
        if constexpr (policies::tells_blocks)
            runs_.visit([&](const run& r, bool live, std::uint32_t) {
                if (!live && r.tag.key() == stream_tag::held) api_.mark_freed(reinterpret_cast<void*>(r.address), r.bytes, stream);
                return true;
            });
        const std::size_t bytes = runs_.free_bytes(stream_tag::held);
        if (bytes != 0) runs_.gather(book_.freed(key), [](const stream_tag& t) { return t.key() == stream_tag::held; });
        return bytes;
    }

    // ---- memory ---------------------------------------------------------------------------------------------

    // Waits for what was freed, and gives every piece that is wholly free back to the device; returns bytes.
    std::size_t trim() noexcept {
        if constexpr (!policies::retain::when_called) return 0;
        const guard slow{growing_};
        const relaxed mode{api_};
        wait_for_frees();
        return give_back(SIZE_MAX);
    }
    std::size_t used() const noexcept requires(policies::charges) { return ledger_.used(); }
    std::size_t peak() const noexcept requires(policies::charges) { return ledger_.peak(); }
    std::size_t limit() const noexcept requires(policies::charges) { return ledger_.limit(); }
    // Takes effect for later requests; what is held stays.
    void set_limit(std::size_t bytes) noexcept requires(policies::charges) { ledger_.set_limit(bytes); }

    device_figures figures() const noexcept {
        const guard slow{growing_};
        const guard hold{books_};
        device_figures f;
        f.live = runs_.live_bytes();
        f.live_blocks = runs_.live_runs();
        f.limit = limit_now();
        if constexpr (policies::charges) f.peak = ledger_.peak();
        f.pieces = segments_.size();
        for (std::size_t i = 0; i != f.pieces; ++i) {
            f.reserved += segments_[i].bytes;
            if (segments_[i].segment == 0) f.mapped += segments_[i].bytes;
        }
        f.largest_free_run = runs_.largest().bytes;
        f.clean = runs_.free_bytes(stream_tag::clean);
        f.held = runs_.free_bytes(stream_tag::held);
        f.stranded = runs_.free_bytes() - f.clean - f.held;
        for (key_type k = stream_tag::first; k < book_.keys(); ++k) f.streams += !book_[k].gone;
        f.metadata = runs_.metadata_bytes() + book_.bytes();
        f.events = book_.events();
        f.waits = book_.waits();
        if constexpr (policies::counts) {
            f.allocations = counters_.allocations;
            f.frees = counters_.frees;
            f.refused = counters_.refused;
            f.steals = counters_.steals;
            f.grown = counters_.grown;
            f.given_back = counters_.given_back;
            f.joined = counters_.joined;
        }
        return f;
    }
    // Visits (stream_figures) of each stream that was seen and has not left, or has free runs. It must not call back.
    template <class Visit> void visit_streams(Visit visit) const {
        const guard hold{books_};
        for (key_type k = stream_tag::first; k < book_.keys(); ++k) {
            const auto& e = book_[k];
            if (!e.gone || runs_.free_runs(k) != 0)
                visit(stream_figures{e.id, runs_.free_bytes(k), runs_.free_runs(k), runs_.largest(k).bytes, e.freed, e.recorded, e.gone});
        }
    }
    // One page: limit, live, reserved, the largest free run, the streams that hold most of what is free.
    void report(text_writer& out) const noexcept {
        out.put("device allocator ").put(name_).put(" (set ").put(set_name()).put(") on device ");
        out.number(static_cast<std::uint64_t>(device_.index)).newline();
        write(out, figures());
        stream_figures top[4]{};
        visit_streams([&](stream_figures f) {
            for (stream_figures& t : top)
                if (t.free_bytes < f.free_bytes) std::swap(t, f);
        });
        for (const stream_figures& t : top) {
            if (t.free_bytes == 0) break;
            out.put("    stream ").number(t.id).put(t.gone ? " (gone): " : ": ").bytes(t.free_bytes).put(" free in ").number(t.free_runs);
            out.put(" runs, largest ").bytes(t.largest).newline();
        }
        device::error last;
        {
            const guard hold{telling_};
            last = last_error_;
        }
        if (last.kind != device::failure::none) {
            out.put("  the device last said ");
            write(out, last);
            out.newline();
        }
        if constexpr (policies::in_tree) ledger_.report(out);
    }
    // Its own, which what it holds of the device is charged to, below the one that it was given.
    allot::account& account() const noexcept requires(policies::in_tree) { return ledger_.account(); }
    const char* name() const noexcept { return name_; }
    device_id device() const noexcept { return device_; }
    const api_type& api() const noexcept { return api_; }
    // The invariants of its books. O(n log n).
    bool valid() const noexcept {
        const guard slow{growing_};
        const guard hold{books_};
        std::size_t bytes = 0;
        for (std::size_t i = 0; i != segments_.size(); ++i) bytes += segments_[i].bytes;
        if constexpr (policies::charges)
            if (ledger_.used() != bytes) return false;
        return runs_.valid() && runs_.bytes() == bytes;
    }

  private:
    template <class... Cs> static types<Cs..., device_id, allot::name, allot::reserve_bytes, leak_sink, api_type> accepted_with(types<Cs...>);
    using accepted = decltype(accepted_with(typename policies::ledger::values{}));
    // What a request may do on its stream.
    enum class uses : std::uint8_t { all, no_events, captured };
    struct caller {
        stream_type stream{};
        std::uint64_t id = 0;
        uses state = uses::all;
    };
    using relaxed = detail::relaxed_capture<api_type>;

    template <class... Values> static api_type api_of([[maybe_unused]] Values&... values) noexcept {
        if constexpr (given<api_type, Values&...>) return pick<api_type>(values...);
        else if constexpr (std::is_empty_v<api_type>) return api_type{};
        else return std::bit_cast<api_type>(std::array<std::byte, sizeof(api_type)>{}); // that it is missing was told
    }
    static const char* set_name() noexcept { return type_name_c_str<Set>(); }
    std::size_t limit_now() const noexcept {
        if constexpr (policies::charges) return ledger_.limit();
        else return SIZE_MAX;
    }
    template <class Count> void count(Count what) noexcept {
        if constexpr (policies::counts) what(counters_);
    }

    // False: it is no stream.
    bool identify(stream_type stream, caller& who) noexcept {
        const auto id = api_.stream_id(stream);
        if (ALLOT_UNLIKELY(!id)) {
            remember(id.error());
            return false;
        }
        who.stream = stream;
        who.id = *id;
        const auto captured = api_.capturing(stream);
        // An error: a blocking stream is captured, and the legacy one must not be used for what would order them.
        who.state = !captured ? uses::no_events : ALLOT_LIKELY(*captured == device::capture_state::none) ? uses::all : uses::captured;
        return true;
    }
    key_type key_of(const caller& who) noexcept {
        key_type key = book_.find(who.id);
        if (ALLOT_UNLIKELY(key == book_type::none)) {
            key = book_.open(who.id, who.stream, [this](key_type k) { return runs_.free_runs(k) == 0; });
            if (key == book_type::none || !runs_.open(key)) return book_type::none;
        }
        book_.seen(key, who.stream);
        return key;
    }

    // What is there and can be had without asking the device for memory. The books are locked.
    run take(const caller& who, std::size_t bytes, std::size_t align) noexcept {
        if (ALLOT_UNLIKELY(who.state == uses::captured)) return counted(runs_.allocate(bytes, align, stream_tag::clean));
        const key_type key = key_of(who);
        if (ALLOT_LIKELY(key != book_type::none))
            if (const run r = runs_.allocate(bytes, align, key); ALLOT_LIKELY(bool(r))) return counted(r);
        if (const run r = runs_.allocate(bytes, align, stream_tag::clean)) return counted(r);
        if (key == book_type::none || runs_.free_bytes() < bytes) return {};
        const run r = steal(who, key, bytes, align);
        if (r) count([](auto& c) { ++c.steals; });
        return counted(r);
    }
    run counted(const run& r) noexcept {
        if (r) count([](auto& c) { ++c.allocations; });
        return r;
    }
    // From what other streams freed: those it comes after first, then by a wait, then from whom most is free, then from anybody.
    ALLOT_NOINLINE run steal(const caller& who, key_type key, std::size_t bytes, std::size_t align) noexcept {
        key_type richest = stream_tag::clean;
        for (int cost = 0; cost <= 1; ++cost)
            for (key_type s = stream_tag::first; s < book_.keys(); ++s) {
                if (s == key || runs_.free_bytes(s) < bytes) continue;
                const int its = book_.cost(key, s);
                if (its == 2 && runs_.free_bytes(s) > (richest == stream_tag::clean ? 0 : runs_.free_bytes(richest)) && runs_.largest(s).bytes >= bytes) richest = s;
                if (its != cost) continue;
                if (const run r = steal_from(who, key, s, bytes, align)) return r;
            }
        if (richest == stream_tag::clean) return {};
        if (const run r = steal_from(who, key, richest, bytes, align)) return r;
        for (key_type s = stream_tag::first; s < book_.keys(); ++s)
            if (s != key && s != richest && runs_.free_bytes(s) >= bytes && book_.cost(key, s) == 2)
                if (const run r = steal_from(who, key, s, bytes, align)) return r;
        return {};
    }
    run steal_from(const caller& who, key_type key, key_type s, std::size_t bytes, std::size_t align) noexcept {
        const run r = runs_.allocate(bytes, align, s);
        if (!r) return {};
        if (book_.is_after(key, r.tag) || (who.state == uses::all && book_.order_after(key, who.stream, r.tag))) return r;
        runs_.release(r.address, r.tag); // as it was
        return {};
    }

    // By more memory, or by all that is free. One request at a time.
    ALLOT_NOINLINE run take_slowly(const caller& who, std::size_t bytes, std::size_t align) noexcept {
        const guard slow{growing_};
        const relaxed mode{api_};
        {
            const guard hold{books_};
            if (const run r = take(who, bytes, align)) return r; // another request has grown meanwhile
        }
        if (const run r = grow(who, bytes, align)) return r;
        if (who.state != uses::all) return {};
        std::uint64_t frees = 0;
        bool wait = false;
        {
            const guard hold{books_};
            frees = book_.frees();
            if (frees == fruitless_.frees && bytes >= fruitless_.bytes && limit_now() <= fruitless_.limit) return {};
            if (const run r = join(who, bytes, align, wait)) return r;
        }
        if (wait)
            if (const run r = replace(who, bytes, align)) return r;
        fruitless_ = {frees, bytes, limit_now()};
        return {};
    }
    // A piece more, and the block in it.
    run grow(const caller& who, std::size_t bytes, std::size_t align) noexcept {
        const std::size_t step = segments_.granularity(), held = runs_.bytes(), most = limit_now();
        std::size_t need = bytes + (align > (segments_.is_virtual() ? step : unit) ? align : 0); // both <= most_bytes
        need = align_up(need, step);
        if (need > most || held > most - need) return {};
        std::size_t want = align_up(held / 4, step);
        want = want > largest_step ? largest_step : want;
        if (want > most - held) want = (most - held) / step * step;
        want = want < need ? need : want;
        for (;; want = need) {
            if (!ledger_.try_charge(want)) {
                if (want == need) return {};
                continue;
            }
            const auto made = segments_.grow(want);
            if (made) {
                ledger_.confirm(want);
                const guard hold{books_};
                if (!runs_.add(made->address, made->bytes, made->segment)) {
                    tell(segments_.shrink(*made));
                    ledger_.refund(want);
                    return {};
                }
                count([](auto& c) { ++c.grown; });
                return take(who, bytes, align);
            }
            ledger_.cancel(want);
            remember(made.error());
            if (want == need) return {};
        }
    }
    // What lies side by side, freed by several streams, becomes one run of this stream, which waits for those. `wait`: there is
    // none, but a wait for the device would help. The books are locked.
    ALLOT_NOINLINE run join(const caller& who, std::size_t bytes, std::size_t align, bool& wait) noexcept {
        const std::size_t held = runs_.bytes(), most = limit_now(), room = most > held ? most - held : 0;
        const std::size_t need = bytes + (align > unit ? align - unit : 0);
        const key_type key = key_of(who);
        if (key == book_type::none || runs_.free_bytes() - runs_.free_bytes(stream_tag::held) + room < bytes) return {};
        for (key_type s = stream_tag::first; s < book_.keys(); ++s)
            if (runs_.free_runs(s) != 0) book_.look(s);
        const detail::free_spans<run> all{runs_, need, [&](const stream_tag& t) { return book_.can_come_after(key, t); }, segments_};
        wait = all.largest >= need || (policies::retain::under_pressure && all.pieces_bytes != 0 && all.pieces_bytes + room >= need);
        const auto* const best = all.best();
        if (best == nullptr) return {};
        for (std::size_t i = 0; i != best->n; ++i)
            if (!book_.order_after(key, who.stream, best->runs[i].tag)) return {};
        const stream_tag tag = book_.gathered(key);
        for (std::size_t i = 0; i != best->n; ++i) (void)runs_.retag(best->runs[i], tag); // false: one with the run before it
        count([](auto& c) { ++c.joined; });
        return counted(runs_.allocate(bytes, align, key));
    }
    // The host waits for all that was freed; then all is free for all, and pieces that are wholly free make room for a new one.
    run replace(const caller& who, std::size_t bytes, std::size_t align) noexcept {
        wait_for_frees();
        {
            const guard hold{books_};
            if (const run r = counted(runs_.allocate(bytes, align, stream_tag::clean))) return r;
        }
        if (!policies::retain::under_pressure || give_back(bytes) == 0) return {};
        return grow(who, bytes, align);
    }
    // What was freed before this call is free for all after it, as far as the device lets it be waited for.
    void wait_for_frees() noexcept {
        bool all = true;
        for (key_type k = stream_tag::first;; ++k) {
            typename api_type::event_type event{};
            std::uint64_t ticket = 0;
            {
                const guard hold{books_};
                if (k >= book_.keys()) break;
                book_.begin_wait(k);
                if (book_[k].done == book_[k].freed || runs_.free_runs(k) == 0) continue;
                if (book_[k].recorded != book_[k].freed && !book_.record(k)) {
                    all = false;
                    continue;
                }
                event = book_[k].event;
                ticket = book_[k].recorded;
            }
            const auto done = api_.synchronize(event);
            const guard hold{books_};
            if (done) book_.waited(k, ticket);
            else all = false;
        }
        if (!all) {
            bool captured = false;
            {
                const guard hold{books_};
                captured = book_.any_captured();
            }
            if (!captured && synchronize_devices()) { // not while a stream is captured: that would end the capture
                const guard hold{books_};
                for (key_type k = stream_tag::first; k < book_.keys(); ++k) book_.end_wait(k);
            }
        }
        const guard hold{books_};
        runs_.gather(stream_tag::of(stream_tag::clean), [&](const stream_tag& t) { return book_.is_after(stream_tag::clean, t); });
    }
    device::result<> synchronize_devices() noexcept {
        auto done = api_.synchronize(device_);
        std::uint64_t others = 0;
        {
            const guard hold{books_};
            for (key_type k = stream_tag::first; k < book_.keys(); ++k)
                if (const int d = book_[k].device.index; d != device_.index && d >= 0 && d < 64) others |= std::uint64_t{1} << d;
        }
        for (int d = 0; d != 64; ++d)
            if ((others >> d & 1) != 0)
                if (const auto one = api_.synchronize(device_id{d}); !one) done = one;
        return done;
    }
    // Pieces that are free for all go back, until so many bytes have; the highest first.
    std::size_t give_back(std::size_t enough) noexcept {
        std::size_t bytes = 0;
        for (std::size_t i = segments_.size(); i != 0 && bytes < enough; --i) {
            const piece p = segments_[i - 1];
            {
                const guard hold{books_};
                run in;
                runs_.visit([&](const run& r, bool live, std::uint32_t) {
                    if (r.address > p.address) return false;
                    if (!live && r.tag.key() == stream_tag::clean) in = r;
                    return true;
                });
                if (!in || p.address - in.address > in.bytes || in.bytes - (p.address - in.address) < p.bytes) continue;
                if (!runs_.remove(in, p.address, p.bytes)) continue;
            }
            tell(segments_.shrink(p));
            ledger_.refund(p.bytes);
            count([](auto& c) { ++c.given_back; });
            bytes += p.bytes;
        }
        return bytes;
    }

    // ---- what is told ---------------------------------------------------------------------------------------
    void* refused() noexcept {
        const guard hold{books_};
        count([](auto& c) { ++c.refused; });
        return nullptr;
    }
    void remember(const device::error& e) noexcept {
        const guard hold{telling_};
        last_error_ = e;
    }
    void tell(const device::result<>& r) noexcept {
        if (r) return;
        remember(r.error());
        char line[256];
        text_writer out{line};
        out.put("allot: device allocator ").put(name_).put(" (set ").put(set_name()).put("): ");
        write(out, r.error());
        out.newline();
        leaks_.write(leaks_.context, out.view());
    }
    void misused(misuse kind, const void* p) const noexcept {
        tell_misuse({.kind = kind, .set = set_name(), .heap = name_, .address = p});
    }
    ALLOT_COLD misuse why_not_a_block(std::uintptr_t address) const noexcept {
        misuse why = misuse::foreign_pointer;
        runs_.visit([&](const run& r, bool live, std::uint32_t) {
            if (address >= r.address && address - r.address < r.bytes) why = live ? misuse::interior_pointer : misuse::double_release;
            return r.address <= address;
        });
        return why;
    }
    void tell_leaks() noexcept {
        if (runs_.live_runs() == 0) return;
        char page[512];
        text_writer out{page};
        out.put("allot: device allocator ").put(name_).put(" (set ").put(set_name()).put(") ended with ");
        out.number(runs_.live_runs()).put(" blocks of ").bytes(runs_.live_bytes()).put(" not freed").newline();
        leaks_.write(leaks_.context, out.view());
    }
    [[noreturn]] ALLOT_COLD void raise_out_of_memory(std::size_t bytes, std::size_t align) {
        const device_figures f = figures();
        char line[out_of_memory::line_bytes];
        text_writer text{line};
        text.put("allot: out of device memory: ").bytes(bytes).put(" refused by ").put(set_name());
        if (*name_ != 0) text.put(" ").put(name_);
        text.put(": ").bytes(f.live).put(" live, ").bytes(f.reserved).put(" of ").bytes(f.limit).put(" reserved");
        raise(out_of_memory(text.view(), [&](text_writer& out) {
            out.put("out of device memory: ").bytes(bytes).put(" aligned to ").bytes(align).put(" refused").newline();
            report(out);
        }));
    }

    const char* name_;
    device_id device_;
    ALLOT_NO_UNIQUE_ADDRESS api_type api_;
    ALLOT_NO_UNIQUE_ADDRESS typename policies::ledger ledger_;
    mutable std::mutex growing_; // before books_
    mutable std::mutex books_;
    mutable std::mutex telling_;
    runs_type runs_{unit};
    book_type book_;
    detail::device_segments<api_type> segments_; // by who holds growing_
    ALLOT_NO_UNIQUE_ADDRESS std::conditional_t<policies::counts, detail::device_counters, detail::no_device_counters> counters_;
    struct {
        std::uint64_t frees = UINT64_MAX;
        std::size_t bytes = 0, limit = 0;
    } fruitless_; // the last request that nothing could help; by who holds growing_
    device::error last_error_{};
    leak_sink leaks_;
};

// A set that makes no device allocator: its mistake is told once, and everything else is quiet.
template <class Set>
    requires(!detail::makes_device_allocator<Set>())
class device_allocator<Set> : public detail::refused<Set, product::device_allocator> {
    using told = decltype(detail::check_device_allocator<Set>());

  public:
    using detail::refused<Set, product::device_allocator>::refused;
};

} // namespace allot::inline ALLOT_ABI
