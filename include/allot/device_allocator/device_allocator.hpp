// The device allocator: stream-ordered blocks of one device's memory under one limit, from a named set of policies.
//
//   device_allocator -- fit: free and live runs, on the host --.
//                    -- book: streams, tickets, lazy events ---+-- segments (mapped pieces) -- api (the device)
//                    -- ledger (limit)                        --'
// Its parts: device_allocator_state.hpp (who asks, and what is there), segment_growth.hpp (how memory grows, is joined
// and goes back), device_report.hpp and device_diagnostics.hpp (what it says); this file is what a program calls.
//
// Memory freed on stream S is free for S at once, and for another stream T after T's wait for an event behind the free,
// which is recorded only then. A request takes, in this order: what its stream freed; what is free for all; what other
// streams freed and it already comes after; what it comes after by a wait alone; by an event and a wait; a new piece;
// what lies side by side, joined, after waits for those who freed it; and, as `retain` allows, a piece in place of
// pieces that are wholly free.
// Invariant: bytes held of the device never exceed the limit; a block is never handed to a stream that does not come
// after its last free. Cost: some 100 ns a pair beside the api's two questions a call (whose id, whether captured); an
// exhausted allocator answers in O(streams) until something is freed, then with one look at all runs. The host keeps 40
// to 60 bytes a run, and writes nothing to the device's memory.
// Threads: any; one mutex for the books, one more for who grows. Calls that record and wait are made under the first,
// those that create, map, unmap and synchronise under the second alone, so hits go on meanwhile. An account's listeners
// are called under none.
// Source: stream-ordered allocation, CUDA 11.2 2020; RMM's pool 2020, without its event a free; best fit, Knuth 1968.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/error.hpp>
#include <allot/core/units.hpp>
#include <allot/core/values.hpp>
#include <allot/device/api_argument.hpp>
#include <allot/device_allocator/device_policies.hpp>
#include <allot/device_allocator/device_report.hpp>
#include <allot/device_allocator/device_stats.hpp>
#include <allot/device_allocator/segment_growth.hpp>
#include <allot/ledger/forward.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

template <class Set> class device_allocator : detail::segment_growth<Set> {
    using growth = detail::segment_growth<Set>;
    using growth::api_, growth::streams_, growth::state_lock_, growth::count, growth::counters_, growth::device_,
        growth::growth_lock_;
    using growth::identify, growth::idle_, growth::key_of, growth::ledger_, growth::limit_now, growth::runs_,
        growth::segments_, growth::diagnostics_;
    using typename growth::policies, typename growth::run, typename growth::permitted;
    using typename growth::registry_type, typename growth::caller, typename growth::guard, typename growth::key_type;

  public:
    using set = Set;
    using growth::unit, growth::max_growth_step;
    using typename growth::api_type, typename growth::stream_type;
    static constexpr std::size_t max_block_bytes = std::size_t{1} << 39; // a block; beyond is refused

    // Takes, in any order: device_id (the first device unless told), limit (where the set charges), the account to
    // charge (ledger::tree), name, reserve_bytes (of addresses; else twice the device's memory), leak_sink, and the
    // api's value, which an api that is no empty type needs. Asks nothing of the device: the first request does.
    template <class... Values> explicit device_allocator(Values&&... values) noexcept : growth(values...) {
        check_values<product::device_allocator, Set, accepted, Values...>();
        check_needed<product::device_allocator, Set, detail::needed_api<api_type>, Values...>();
    }
    device_allocator(const device_allocator&) = delete;
    device_allocator& operator=(const device_allocator&) = delete;
    // Tells what was not freed, waits for the device, and gives all back.
    ~device_allocator() {
        diagnostics_.report_live(runs_.live_runs(), runs_.live_bytes());
        if (segments_.size() == 0) return;
        diagnostics_.report_failure(growth::synchronize_devices());
        while (segments_.size() != 0) diagnostics_.report_failure(segments_.shrink(segments_[segments_.size() - 1]));
    }

    // ---- blocks ---------------------------------------------------------------------------------------------

    // Memory for work of this stream from now on, its contents unspecified, aligned to 256 bytes or as told: any power
    // of two. 0 bytes give null, which may be freed, as in CUDA. On failure what the set's oom policy says: oom::raise
    // throws out_of_memory, oom::null gives null. In a capture: only what is free for all, and growth; never a wait.
    void* allocate(std::size_t bytes, stream_type stream) { return allocate(bytes, unit, stream); }
    void* allocate(std::size_t bytes, std::size_t align, stream_type stream) {
        if (void* const p = try_allocate(bytes, align, stream); ALLOT_LIKELY(p != nullptr || bytes == 0)) return p;
        if constexpr (policies::raises) detail::raise_out_of_device_memory(*this, bytes, align);
        else return nullptr;
    }
    // The same; null on failure.
    void* try_allocate(std::size_t bytes, stream_type stream) noexcept { return try_allocate(bytes, unit, stream); }
    void* try_allocate(std::size_t bytes, std::size_t align, stream_type stream) noexcept {
        if (ALLOT_UNLIKELY(bytes == 0)) return nullptr;
        if (ALLOT_UNLIKELY(!is_power_of_two(align))) {
            diagnostics_.misused(misuse::bad_alignment, nullptr);
            return nullptr;
        }
        caller who;
        if (ALLOT_UNLIKELY(bytes > max_block_bytes || align > max_block_bytes || !identify(stream, who)))
            return refused();
        if constexpr (policies::idle::enabled)
            if (ALLOT_UNLIKELY(idle_.due()) && who.allowed == permitted::all) (void)growth::scan_idle();
        run r;
        {
            const guard hold{state_lock_};
            r = growth::take(who, bytes, align);
        }
        if (ALLOT_UNLIKELY(!r) && !(r = growth::take_slow(who, bytes, align))) return refused();
        void* const p = reinterpret_cast<void*>(r.address);
        if constexpr (policies::tracks_blocks) api_.mark_allocated(p, r.bytes, stream);
        return p;
    }
    // All use of the block so far is ordered before this point of the stream; it need not be the one it was allocated
    // for. In a capture the block is held until release_held(). Null is nothing; a block that is none is told as
    // misuse, and nothing happens.
    void deallocate(void* p, stream_type stream) noexcept {
        if (ALLOT_UNLIKELY(p == nullptr)) return;
        caller who;
        const bool known = identify(stream, who);
        const auto address = reinterpret_cast<std::uintptr_t>(p);
        const guard hold{state_lock_};
        const std::size_t bytes = runs_.bytes_of(address);
        if (ALLOT_UNLIKELY(bytes == 0)) return diagnostics_.misused(growth::misuse_at(address), p);
        count([](auto& c) { ++c.frees; });
        if constexpr (policies::at_once) {
            runs_.release(address, stream_tag::of(stream_tag::clean));
            streams_.count_free();
            return;
        }
        const key_type key = known && who.allowed != permitted::captured ? key_of(who) : registry_type::none;
        if (ALLOT_UNLIKELY(key == registry_type::none)) {
            runs_.release(address, stream_tag::of(stream_tag::held));
            return;
        }
        if constexpr (policies::tracks_blocks) api_.mark_freed(p, bytes, stream);
        runs_.release(address, streams_.tag_of_free(key));
        if (ALLOT_LIKELY(who.allowed == permitted::all)) streams_.record_periodically(key);
    }

    // ---- streams --------------------------------------------------------------------------------------------

    // Before a stream is destroyed: an event behind its frees, so that others can wait for them; its place serves
    // another. What a stream freed that was destroyed untold serves others only after a wait for the whole device, when
    // memory is short.
    void leave(stream_type stream) noexcept {
        caller who;
        if (!identify(stream, who)) return;
        const guard hold{state_lock_};
        if (const key_type key = streams_.find(who.id); key != registry_type::none) (void)streams_.leave(key);
    }
    // What was freed in captures becomes free at this point of the stream, which comes after the last run of every
    // graph that used it; the graphs are not launched again. Returns bytes.
    std::size_t release_held(stream_type stream) noexcept {
        caller who;
        if (!identify(stream, who) || who.allowed != permitted::all) return 0;
        const guard hold{state_lock_};
        const key_type key = key_of(who);
        if (key == registry_type::none) return 0;
        if constexpr (policies::tracks_blocks)
            runs_.visit([&](const run& r, bool live, std::uint32_t) {
                if (!live && r.tag.key() == stream_tag::held)
                    api_.mark_freed(reinterpret_cast<void*>(r.address), r.bytes, stream);
                return true;
            });
        const std::size_t bytes = runs_.free_bytes(stream_tag::held);
        if (bytes != 0)
            runs_.gather(streams_.tag_of_free(key), [](const stream_tag& t) { return t.key() == stream_tag::held; });
        return bytes;
    }

    // ---- memory ---------------------------------------------------------------------------------------------

    // Waits for what was freed, and gives every piece that is wholly free back to the device; returns bytes.
    std::size_t trim() noexcept {
        if constexpr (!policies::retain::when_called) return 0;
        typename growth::transaction_type transaction{growth_lock_, ledger_, api_};
        (void)growth::wait_for_frees();
        std::size_t pieces = SIZE_MAX;
        return growth::return_segments(stream_tag::clean, SIZE_MAX, pieces, transaction);
    }
    // retain::idle: a look, as requests take them, for a program without requests; returns bytes. It waits for nobody.
    std::size_t trim_idle() noexcept
        requires(policies::idle::enabled)
    {
        return idle_.due() ? growth::scan_idle() : 0;
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
    // Takes effect for later requests; what is held stays.
    void set_limit(std::size_t bytes) noexcept
        requires(policies::charges)
    {
        ledger_.set_limit(bytes);
    }

    device_stats stats() const noexcept {
        const guard slow{growth_lock_};
        const guard hold{state_lock_};
        device_stats f;
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
        f.resting = runs_.free_bytes(stream_tag::resting);
        f.clean = runs_.free_bytes(stream_tag::clean) + f.resting;
        f.held = runs_.free_bytes(stream_tag::held);
        f.stranded = runs_.free_bytes() - f.clean - f.held;
        for (key_type k = stream_tag::first; k < streams_.keys(); ++k) f.streams += !streams_[k].gone;
        f.metadata = runs_.metadata_bytes() + streams_.bytes();
        f.events = streams_.events();
        f.waits = streams_.waits();
        if constexpr (policies::counts) {
            f.allocations = counters_.allocations;
            f.frees = counters_.frees;
            f.refused = counters_.refused;
            f.steals = counters_.steals;
            f.grown = counters_.grown;
            f.released = counters_.released;
            f.joined = counters_.joined;
        }
        return f;
    }
    // Visits (stream_stats) of each stream that was seen and has not left, or has free runs. It must not call back.
    template <class Visit> void visit_streams(Visit visit) const {
        const guard hold{state_lock_};
        for (key_type k = stream_tag::first; k < streams_.keys(); ++k) {
            const auto& e = streams_[k];
            if (!e.gone || runs_.free_runs(k) != 0)
                visit(stream_stats{e.id, runs_.free_bytes(k), runs_.free_runs(k), runs_.largest(k).bytes, e.freed,
                                   e.recorded, e.gone});
        }
    }
    // One page: limit, live, reserved, the largest free run, the streams that hold most of what is free.
    void report(text_writer& out) const noexcept { detail::write_device_report(out, *this); }
    // Its own, which what it holds of the device is charged to, below the one that it was given.
    allot::account& account() const noexcept
        requires(policies::in_tree)
    {
        return ledger_.account();
    }
    // What the device answered to the last call that failed.
    device::error last_error() const noexcept { return diagnostics_.last_error(); }
    const char* name() const noexcept { return diagnostics_.name(); }
    device_id device() const noexcept { return device_; }
    const api_type& api() const noexcept { return api_; }
    // The invariants of its books, while no other call is under way. O(n log n).
    bool valid() const noexcept {
        const guard slow{growth_lock_};
        const guard hold{state_lock_};
        std::size_t bytes = 0;
        for (std::size_t i = 0; i != segments_.size(); ++i) bytes += segments_[i].bytes;
        if constexpr (policies::charges)
            if (ledger_.used() != bytes) return false;
        return runs_.valid() && runs_.bytes() == bytes;
    }

  private:
    template <class... Cs>
    static types<Cs..., device_id, allot::name, allot::reserve_bytes, leak_sink, api_type> accepted_with(types<Cs...>);
    using accepted = decltype(accepted_with(typename policies::ledger::values{}));

    void* refused() noexcept {
        const guard hold{state_lock_};
        count([](auto& c) { ++c.refused; });
        return nullptr;
    }
};

// A set that makes no device allocator: its mistake is told once, and everything else is quiet.
template <class Set>
    requires(!detail::makes_device_allocator<Set>())
class device_allocator<Set> : public detail::refused<Set, product::device_allocator> {
    using checked = decltype(detail::check_device_allocator<Set>());

  public:
    using detail::refused<Set, product::device_allocator>::refused;
};

} // namespace allot::inline ALLOT_ABI
