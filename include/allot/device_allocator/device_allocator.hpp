// The device allocator: stream-ordered blocks of one device's memory under one limit, from a named set of policies.
//
//   device_allocator -- fit: free and live runs, on the host  --.
//                    -- stream registry: tickets, lazy events --+-- segments (mapped pieces) -- api (the device)
//                    -- ledger: the limit                     --'
// Parts: device_allocator_state.hpp (requests that need no new memory), segment_growth.hpp (growth, joining, return),
// device_report.hpp and device_diagnostics.hpp (reports).
//
// Memory freed on stream S is free for S at once. Another stream T may use it after T has waited for an event recorded
// behind the free; the event is recorded only when T needs it. A request tries, in this order:
//   1. memory that its own stream freed;
//   2. memory that is free for every stream;
//   3. memory of other streams: already ordered before this one, then by a wait, then by an event and a wait;
//   4. a new piece of device memory under the limit;
//   5. adjacent runs freed by several streams, joined after waits for those streams;
//   6. as `retain` allows, a new piece in place of wholly free pieces, after a wait of the host.
// Invariant: bytes held of the device never exceed the limit. A block is never handed to a stream that is not ordered
// after its last free.
// Cost: about 100 ns per allocate and deallocate beside two api calls each (stream id, capture state). An exhausted
// allocator refuses in O(streams) until memory is freed, then scans all runs once. 40 to 60 bytes of host memory per
// run; nothing is written to the device's memory.
// Threads: any. state_lock_ guards runs and streams, and is held while events are recorded and waits queued.
// growth_lock_ alone is held while memory is created, mapped, unmapped or synchronised, so other requests proceed.
// Account listeners are called with neither held.
// Source: stream-ordered allocation, CUDA 11.2 (2020); RMM's pool (2020), without its event per free; best fit, Knuth
// (1968).
#pragma once

#include <allot/account/forward.hpp>
#include <allot/account/ladder.hpp>
#include <allot/account/memory_request.hpp>
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
#include <allot/reclaim/user_call.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

/// Stream-ordered blocks of one device's memory, under the policies of Set.
/// Requires: Set names page::on_device<Api>. A set that makes no device allocator is rejected at compile time.
/// Threads: any, except construction and destruction.
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
    /// Bytes: larger blocks and alignments are refused.
    static constexpr std::size_t max_block_bytes = std::size_t{1} << 39;

    /// Constructs from values in any order; each has a default, except an api that is no empty type:
    /// - device_id: the device (0);
    /// - limit: of the bytes held of the device, where the set charges (none);
    /// - account: the parent of the allocator's own account, which takes a reservation and grace too (ledger::tree);
    /// - name: for reports; leak_sink: where leaks and failures of returns are reported (standard error);
    /// - reserve_bytes: of address space (twice the device's memory);
    /// - the api's value.
    /// Effects: none on the device; the first request makes the first calls.
    /// Throws: out_of_memory if the account refuses the reservation.
    template <class... Values>
    explicit device_allocator(Values&&... values) noexcept(
        growth::policies::template cannot_be_refused<std::remove_reference_t<Values>...>)
        : growth(values...) {
        check_values<product::device_allocator, Set, accepted, Values...>();
        check_needed<product::device_allocator, Set, detail::needed_api<api_type>, Values...>();
        if constexpr (policies::in_tree) ledger_.join(tenant_);
        if constexpr (policies::idle::enabled) detail::idle_devices.add(tenant_);
    }
    device_allocator(const device_allocator&) = delete;
    device_allocator& operator=(const device_allocator&) = delete;
    /// Reports live blocks to the leak sink, waits for the device, and returns all memory.
    /// Requires: no other call is in progress. Work that uses a block has been submitted.
    ~device_allocator() {
        if constexpr (policies::idle::enabled) detail::idle_devices.remove(tenant_);
        if constexpr (policies::in_tree) ledger_.leave();
        diagnostics_.report_live(runs_.live_runs(), runs_.live_bytes());
        if (segments_.size() == 0) return;
        diagnostics_.report_failure(growth::synchronize_devices());
        while (segments_.size() != 0) diagnostics_.report_failure(segments_.shrink(segments_[segments_.size() - 1]));
    }

    // ---- blocks ---------------------------------------------------------------------------------------------

    /// Allocates a block for work that is submitted to this stream from now on; its contents are unspecified.
    /// In a capture, only memory that is free for every stream and new memory are used; no event, no wait.
    /// Requires: align is a power of two; any other fails, and is reported as misuse in checked builds.
    /// Returns: a block aligned to 256 bytes and to align, its size rounded up to 256 bytes; null for 0 bytes.
    /// Throws: out_of_memory under oom::raise; under oom::null a failed request returns null.
    void* allocate(std::size_t bytes, stream_type stream) { return allocate(bytes, unit, stream); }
    void* allocate(std::size_t bytes, std::size_t align, stream_type stream) {
        detail::memory_request asked{bytes};
        asked.judged = policies::waits;
        if (void* const p = request(asked, align, stream); ALLOT_LIKELY(p != nullptr || bytes == 0)) return p;
        if constexpr (policies::waits) account().raise_verdict(asked.why);
        if constexpr (policies::raises) detail::raise_out_of_device_memory(*this, asked, align);
        else return nullptr;
    }
    /// As allocate(), but returns null on failure under every oom policy.
    /// `why`: where it is not null, the status of the request, with what refused it.
    void* try_allocate(std::size_t bytes, stream_type stream, charge_status* why = nullptr) noexcept {
        return try_allocate(bytes, unit, stream, why);
    }
    void* try_allocate(std::size_t bytes, std::size_t align, stream_type stream,
                       charge_status* why = nullptr) noexcept {
        detail::memory_request asked{bytes};
        void* const p = request(asked, align, stream);
        asked.report(why, p != nullptr || bytes == 0);
        return p;
    }
    /// As try_allocate(), and waits while the limit of an account refuses: until blocks are deallocated, bytes are
    /// refunded, or a limit is raised.
    /// Requires: the set has ledger::tree. Inside a listener or reclaimer it does not wait.
    void* allocate_for(std::size_t bytes, stream_type stream, const wait_limit& wait, std::size_t align = unit,
                       charge_status* why = nullptr) noexcept
        requires(policies::in_tree)
    {
        if (bytes == 0) return try_allocate(0, align, stream, why);
        detail::memory_request asked{bytes};
        asked.wait = &wait;
        void* const p = request(asked, align, stream);
        asked.report(why, p != nullptr);
        return p;
    }
    /// Frees a block at this point of the stream, which need not be the one that it was allocated for.
    /// Requires: all use of the block is ordered before this point. Null is ignored. Anything but a live block is
    /// reported as misuse in checked builds, and ignored in others.
    /// Effects: this stream may reuse the memory at once; under order::host every stream may. Memory that is freed in a
    /// capture is held until release_captured().
    void deallocate(void* p, stream_type stream) noexcept {
        if (ALLOT_UNLIKELY(p == nullptr)) return;
        caller who;
        const bool known = identify(stream, who);
        const auto address = reinterpret_cast<std::uintptr_t>(p);
        const guard hold{state_lock_};
        const std::size_t bytes = runs_.bytes_of(address);
        if (ALLOT_UNLIKELY(bytes == 0)) return diagnostics_.report_misused(growth::misuse_at(address), p);
        count([](auto& c) { ++c.frees; });
        if constexpr (policies::in_tree) ledger_.notify_unused(); // who waits tries once the lock is free
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

    /// Call before a stream is destroyed: records an event behind its frees, so that other streams can wait for them.
    /// Without this call, other streams reuse that memory only after a wait for the whole device, when memory is short.
    void leave(stream_type stream) noexcept {
        caller who;
        if (!identify(stream, who)) return;
        const guard hold{state_lock_};
        if (const key_type key = streams_.find(who.id); key != registry_type::none) (void)streams_.leave(key);
    }
    /// Frees, at this point of the stream, all memory that was freed in captures.
    /// Requires: the graphs that use it are not launched again, and their last launches are ordered before this point.
    /// Returns: bytes freed; 0 while the stream is being captured.
    std::size_t release_captured(stream_type stream) noexcept {
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

    /// Waits for the streams that freed memory, then returns every wholly free piece to the device.
    /// Returns: bytes returned; 0 under retain::never.
    std::size_t trim() noexcept {
        if constexpr (!policies::retain::when_called) return 0;
        typename growth::transaction_type transaction{growth_lock_, ledger_, api_};
        (void)growth::wait_for_frees();
        std::size_t pieces = SIZE_MAX;
        return growth::return_segments(stream_tag::clean, SIZE_MAX, pieces, transaction);
    }
    /// retain::idle: one idle scan, for a program that makes no requests meanwhile (requests scan by themselves, and
    /// for other device allocators under retain::idle).
    /// Never waits. Returns: bytes returned to the device; 0 when no scan is due.
    std::size_t trim_idle() noexcept
        requires(policies::idle::enabled)
    {
        return idle_.due() ? growth::scan_idle() : 0;
    }
    /// Bytes held of the device now: of live blocks and of free runs.
    std::size_t used() const noexcept
        requires(policies::charges)
    {
        return ledger_.used();
    }
    /// The largest value of used() so far, in bytes.
    std::size_t peak() const noexcept
        requires(policies::charges)
    {
        return ledger_.peak();
    }
    /// Bytes; SIZE_MAX: none.
    std::size_t limit() const noexcept
        requires(policies::charges)
    {
        return ledger_.limit();
    }
    /// Sets the limit of later requests; memory that is held above it stays.
    void set_limit(std::size_t bytes) noexcept
        requires(policies::charges)
    {
        ledger_.set_limit(bytes);
    }

    /// The statistics now, consistent with each other. Complexity: O(pieces + streams).
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
            f.charged += segments_[i].bytes;
            if (segments_[i].segment == 0) f.mapped += segments_[i].bytes;
        }
        f.largest_free_run = runs_.largest().bytes;
        f.idle = runs_.free_bytes(stream_tag::resting);
        f.free_for_all = runs_.free_bytes(stream_tag::clean) + f.idle;
        f.captured = runs_.free_bytes(stream_tag::held);
        f.free_after_wait = runs_.free_bytes() - f.free_for_all - f.captured;
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
    /// Calls visit(stream_stats) for each stream that was used and has not left, or that has free runs.
    /// Requires: visit does not call allot, since a lock is held.
    template <class Visit> void visit_streams(Visit visit) const {
        const guard hold{state_lock_};
        const detail::user_call here{detail::user_call::kind::visit};
        for (key_type k = stream_tag::first; k < streams_.keys(); ++k) {
            const auto& e = streams_[k];
            if (!e.gone || runs_.free_runs(k) != 0)
                visit(stream_stats{e.id, runs_.free_bytes(k), runs_.free_runs(k), runs_.largest(k).bytes, e.freed,
                                   e.recorded, e.gone});
        }
    }
    /// Writes one page: limit, live and reserved bytes, the largest free run, the streams with the most free bytes, the
    /// last error of the device. Allocates nothing.
    void report(text_writer& out) const noexcept { detail::write_device_report(out, *this); }
    /// The allocator's own account, a child of the one passed in.
    allot::account& account() const noexcept
        requires(policies::in_tree)
    {
        return ledger_.account();
    }
    /// The error of the last device call that failed.
    device::error last_error() const noexcept { return diagnostics_.last_error(); }
    const char* name() const noexcept { return diagnostics_.name(); }
    device_id device() const noexcept { return device_; }
    const api_type& api() const noexcept { return api_; }
    /// Whether all invariants hold; for tests. Complexity: O(n log n) in runs.
    /// Requires: no other call is in progress.
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

    static constexpr bool has_levels = policies::in_tree || policies::idle::enabled;
    struct no_tenant {
        explicit no_tenant(device_allocator&) noexcept {}
    };
    struct device_tenant final : tenant {
        explicit device_tenant(device_allocator& gpu) noexcept : tenant(gpu.name()), of(gpu) {}
        std::size_t held() const noexcept override {
            if constexpr (policies::charges) return of.used();
            else return of.stats().charged;
        }
        std::size_t return_idle(std::size_t, bool waits) noexcept override { return of.growth::return_idle(waits); }
        std::size_t return_resting() noexcept override {
            if constexpr (policies::idle::enabled) return of.trim_idle();
            else return 0;
        }
        device_allocator& of;
    };
    ALLOT_NOINLINE void trim_idle_and_others() noexcept {
        if (!detail::user_call::may_do_steps_for_others()) return;
        if (detail::idle_devices.return_resting_of_others(tenant_, SIZE_MAX) == 0) (void)growth::scan_idle();
    }
    void* request(detail::memory_request& asked, std::size_t align, stream_type stream) noexcept {
        if (ALLOT_UNLIKELY(asked.bytes == 0)) return nullptr;
        if (ALLOT_UNLIKELY(!is_power_of_two(align))) {
            diagnostics_.report_misused(misuse::bad_alignment, nullptr);
            return refused_as_misuse(asked, misuse::bad_alignment);
        }
        caller who;
        if (ALLOT_UNLIKELY(asked.bytes > max_block_bytes || align > max_block_bytes))
            return refused_as_misuse(asked, misuse::size_too_large);
        if (ALLOT_UNLIKELY(!identify(stream, who))) return growth::refuse_device_error(asked), refused();
        if constexpr (policies::idle::enabled)
            if (ALLOT_UNLIKELY(idle_.due()) && who.allowed == permitted::all) trim_idle_and_others();
        run r;
        {
            const guard hold{state_lock_};
            r = growth::take(who, asked.bytes, align);
        }
        if (ALLOT_UNLIKELY(!r) && !(r = growth::take_slow(who, asked, align))) {
            if (who.allowed != permitted::all) asked.judged = false; // the stream is being captured
            detail::no_own_steps none;
            auto level = ledger_.steps(policies::asks ? UINT32_MAX : 0);
            r = detail::climb(asked, none, level, [&] { // the stream's state may have changed
                return identify(stream, who) ? growth::take_slow(who, asked, align) : run{};
            });
            if (!r) return refused();
        }
        void* const p = reinterpret_cast<void*>(r.address);
        if constexpr (policies::tracks_blocks) api_.mark_allocated(p, r.bytes, stream);
        return p;
    }
    void* refused_as_misuse(detail::memory_request& asked, misuse kind) noexcept {
        asked.refuse(charge_outcome::misused, asked.bytes, text_of(kind).data());
        return refused();
    }
    void* refused() noexcept {
        const guard hold{state_lock_};
        count([](auto& c) { ++c.refused; });
        return nullptr;
    }

    ALLOT_NO_UNIQUE_ADDRESS std::conditional_t<has_levels, device_tenant, no_tenant> tenant_{*this};
};

// The stub of a set that makes no device allocator: one error, and no further ones.
template <class Set>
    requires(!detail::makes_device_allocator<Set>())
class device_allocator<Set> : public detail::refused<Set, product::device_allocator> {
    using checked = decltype(detail::check_device_allocator<Set>());

  public:
    using detail::refused<Set, product::device_allocator>::refused;
};

} // namespace allot::inline ALLOT_ABI
