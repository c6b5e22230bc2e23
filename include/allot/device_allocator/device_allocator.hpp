// The device allocator: stream-ordered blocks of one device's memory under one limit, from a named set of policies.
//
//   device_allocator -- fit: free and live runs, on the host  --.
//                    -- stream registry: tickets, lazy events --+-- segments (mapped pieces) -- api (the device)
//                    -- ledger: the limit                     --'
// Members: stream_ordered_runs (runs, streams, requests that need no new memory), grown_segments (pieces), a ledger,
// and device_diagnostics. segment_growth is a call that grows or returns memory; device_report.hpp writes the report.
//
// Memory freed on stream S is free for S at once. Another stream T may use it after T has waited for an event recorded
// behind the free; the event is recorded only when T needs it. A request tries, in this order:
//   1. memory that its own stream freed;
//   2. memory that is free for every stream;
//   3. memory of other streams: already ordered before this one, then of streams that are done, then by a wait, then by
//      an event and a wait;
//   4. a new piece of device memory under the limit;
//   5. adjacent runs freed by several streams, joined after waits for those streams;
//   6. as `retain` allows, a new piece in place of wholly free pieces, after a wait of the host.
// Invariant: bytes held of the device never exceed the limit. A block is never handed to a stream that is not ordered
// after its last free.
// Cost: about 100 ns per allocate and deallocate beside two api calls each (stream id, capture state). An exhausted
// allocator refuses in O(streams) until memory is freed, then scans all runs once. 40 to 60 bytes of host memory per
// run; nothing is written to the device's memory.
// Threads: any. The lock of the runs guards streams too, and is held while events are recorded and waits queued. The
// growth lock alone is held while memory is created, mapped, unmapped or synchronised, so other requests proceed.
// Account listeners are called with neither held.
// Source: stream-ordered allocation, CUDA 11.2 (2020); RMM's pool (2020), without its event per free; best fit, Knuth
// (1968).
#pragma once

#include <allot/account/forward.hpp>
#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/error.hpp>
#include <allot/core/units.hpp>
#include <allot/core/values.hpp>
#include <allot/device/api_argument.hpp>
#include <allot/device_allocator/device_diagnostics.hpp>
#include <allot/device_allocator/device_policies.hpp>
#include <allot/device_allocator/device_report.hpp>
#include <allot/device_allocator/device_stats.hpp>
#include <allot/device_allocator/device_steps.hpp>
#include <allot/device_allocator/segment_growth.hpp>
#include <allot/device_allocator/stream_ordered_runs.hpp>
#include <allot/device_allocator/stream_tag.hpp>
#include <allot/reclaim/user_call.hpp>
#include <allot/request/ladder.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/request/shared_level.hpp>
#include <allot/sync/full_fence.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

/// Stream-ordered blocks of one device's memory, under the policies of Set.
/// Requires: Set names page::on_device<Api>. A set that makes no device allocator is rejected at compile time.
/// Threads: any, except construction and destruction.
template <class Set> class device_allocator {
    using policies = detail::device_policies<Set>;
    using growth = detail::segment_growth<Set>;
    using held_type = detail::stream_ordered_runs<Set>;
    using run = typename held_type::run;
    using key_type = typename held_type::key_type;
    using caller = typename held_type::caller;
    using guard = typename held_type::guard;
    using permitted = detail::permitted;
    static constexpr key_type no_key = held_type::registry_type::none;

  public:
    using set = Set;
    using api_type = typename policies::api;
    using stream_type = typename api_type::stream_type;
    /// Bytes: sizes are rounded up to it, and blocks are aligned to it.
    static constexpr std::size_t unit = detail::device_unit;
    /// Bytes: the most that growth takes in advance of a request.
    static constexpr std::size_t max_growth_step = growth::max_step;
    /// Bytes: larger blocks and alignments are refused.
    static constexpr std::size_t max_block_bytes = std::size_t{1} << 39;

    /// Constructs from values in any order; each has a default, except an api that is no empty type:
    /// - device_id: the device (0);
    /// - limit: of the bytes held of the device, where the set charges (none);
    /// - account: the parent of the allocator's own account, which takes a watermark too (ledger::tree);
    /// - name: for reports; leak_sink: where leaks and failures of returns are reported (standard error);
    /// - reserve_bytes: of address space (twice the device's memory);
    /// - the api's value.
    /// Effects: none on the device; the first request makes the first calls.
    template <class... Values>
    explicit device_allocator(Values&&... values) noexcept
        : api_(detail::api_argument<api_type>(values...)),
          ledger_(value_or<allot::limit>({SIZE_MAX}, values...).bytes,
                  value_or<allot::name>(allot::name{""}, values...).text, values...),
          held_(api_), diagnostics_(value_or<allot::name>(allot::name{""}, values...).text,
                                    value_or<leak_sink>({&detail::leaks_to_stderr}, values...),
                                    detail::level_of<api_type>(value_or<device_id>({0}, values...))),
          grown_(api_, value_or<device_id>({0}, values...), value_or<allot::reserve_bytes>({0}, values...).bytes) {
        detail::check_values<product::device_allocator, Set, accepted, Values...>();
        detail::check_needed<product::device_allocator, Set, detail::needed_api<api_type>, Values...>();
        if constexpr (requires { ledger_.waits_at(level()); }) ledger_.waits_at(level());
        if constexpr (policies::in_tree) ledger_.join(tenant_), level().add(tenant_);
    }
    device_allocator(const device_allocator&) = delete;
    device_allocator& operator=(const device_allocator&) = delete;
    /// Reports live blocks to the leak sink, waits for the device, and returns all memory.
    /// Requires: no other call is in progress. Work that uses a block has been submitted.
    ~device_allocator() {
        if constexpr (policies::in_tree) level().remove(tenant_), ledger_.leave();
        diagnostics_.report_live(held_.runs.live_runs(), held_.runs.live_bytes());
        auto& segments = grown_.segments;
        if (segments.size() == 0) return;
        diagnostics_.report_failure(held_.synchronize(device()));
        while (segments.size() != 0) diagnostics_.report_failure(segments.shrink(segments[segments.size() - 1]));
        detail::full_fence();
        level().gave();
        detail::the_system().gave();
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
    // For buffers.
    void* try_allocate(detail::memory_request& asked, std::size_t align, stream_type stream) noexcept {
        caller who;
        return is_possible(asked, align, stream, who) ? start(take(who, asked, align), stream) : nullptr;
    }
    bool climb(detail::memory_request& asked, const detail::account_node* by, detail::attempt_ref again) noexcept {
        auto own = steps();
        return climb_for(asked, own, by, ledger_, most_cost, again) || refused() != nullptr;
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
    /// Requires: its allocation and all use of it are ordered before this point, as for cudaFreeAsync. Null is ignored.
    /// Anything but a live block is reported as misuse in checked builds, and ignored in others.
    /// Effects: this stream may reuse the memory at once; under order::host every stream may. Memory that is freed in a
    /// capture is held until release_captured().
    void deallocate(void* p, stream_type stream) noexcept {
        if (ALLOT_UNLIKELY(p == nullptr)) return;
        caller who;
        const bool known = who.identify(api_, stream, diagnostics_);
        const auto address = reinterpret_cast<std::uintptr_t>(p);
        const guard hold{held_.lock};
        const std::size_t bytes = held_.runs.bytes_of(address);
        if (ALLOT_UNLIKELY(bytes == 0)) return diagnostics_.report_misused(held_.misuse_at(address), p);
        held_.count([](auto& c) { ++c.frees; });
        if constexpr (policies::in_tree) ledger_.notify_unused(); // who waits tries once the lock is free
        level().gave();
        if constexpr (policies::at_once) {
            held_.runs.release(address, detail::stream_tag::of(detail::stream_tag::clean));
            held_.streams.count_free();
            return;
        }
        const key_type key = known && who.allowed != permitted::captured ? held_.key_of(who) : no_key;
        if (ALLOT_UNLIKELY(key == no_key)) {
            held_.runs.release(address, detail::stream_tag::of(detail::stream_tag::held));
            return;
        }
        if constexpr (policies::tracks_blocks) api_.mark_freed(p, bytes, stream);
        held_.runs.release(address, held_.streams.tag_of_free(key));
        if (ALLOT_LIKELY(who.allowed == permitted::all)) held_.streams.record_periodically(key);
    }

    // ---- streams --------------------------------------------------------------------------------------------

    /// Call before a stream is destroyed: records an event behind its frees, so that other streams can wait for them.
    /// Without this call, other streams reuse that memory only after a wait for the whole device, when memory is short.
    void leave(stream_type stream) noexcept {
        caller who;
        if (!who.identify(api_, stream, diagnostics_)) return;
        const guard hold{held_.lock};
        if (const key_type key = held_.streams.find(who.id); key != no_key) (void)held_.streams.leave(key);
    }
    /// Frees, at this point of the stream, all memory that was freed in captures.
    /// Requires: the graphs that use it are not launched again, and their last launches are ordered before this point.
    /// Returns: bytes freed; 0 while the stream is being captured.
    std::size_t release_captured(stream_type stream) noexcept {
        caller who;
        if (!who.identify(api_, stream, diagnostics_) || who.allowed != permitted::all) return 0;
        const guard hold{held_.lock};
        const key_type key = held_.key_of(who);
        if (key == no_key) return 0;
        if constexpr (policies::tracks_blocks)
            held_.runs.visit([&](const run& r, bool live, std::uint32_t) {
                if (!live && r.tag.key() == detail::stream_tag::held)
                    api_.mark_freed(reinterpret_cast<void*>(r.address), r.bytes, stream);
                return true;
            });
        const std::size_t bytes = held_.runs.free_bytes(detail::stream_tag::held);
        if (bytes != 0)
            held_.runs.gather(held_.streams.tag_of_free(key),
                              [](const detail::stream_tag& t) { return t.key() == detail::stream_tag::held; });
        return bytes;
    }

    // ---- memory ---------------------------------------------------------------------------------------------

    /// Waits for the streams that freed memory, then returns every wholly free piece to the device.
    /// Returns: bytes returned; 0 under retain::never.
    std::size_t trim() noexcept {
        if constexpr (!policies::retain::when_called) return 0;
        else return grow().trim();
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
        const guard slow{grown_.lock};
        const guard hold{held_.lock};
        const auto& runs = held_.runs;
        const auto& streams = held_.streams;
        const auto& segments = grown_.segments;
        device_stats f;
        f.live = runs.live_bytes();
        f.live_blocks = runs.live_runs();
        f.limit = policies::limit_of(ledger_);
        if constexpr (policies::charges) f.peak = ledger_.peak();
        f.pieces = segments.size();
        for (std::size_t i = 0; i != f.pieces; ++i) {
            f.charged += segments[i].bytes;
            if (segments[i].segment == 0) f.mapped += segments[i].bytes;
        }
        f.largest_free_run = runs.largest().bytes;
        f.free_for_all = runs.free_bytes(detail::stream_tag::clean);
        f.captured = runs.free_bytes(detail::stream_tag::held);
        f.free_after_wait = runs.free_bytes() - f.free_for_all - f.captured;
        for (key_type k = detail::stream_tag::first; k < streams.keys(); ++k) f.streams += !streams[k].gone;
        f.metadata = runs.metadata_bytes() + streams.bytes();
        f.events = streams.events();
        f.waits = streams.waits();
        if constexpr (policies::counts) {
            const auto& counters = held_.counters;
            f.allocations = counters.allocations;
            f.frees = counters.frees;
            f.refused = counters.refused;
            f.steals = counters.steals;
            f.grown = counters.grown;
            f.released = counters.released;
            f.joined = counters.joined;
        }
        return f;
    }
    /// Calls visit(stream_stats) for each stream that was used and has not left, or that has free runs.
    /// Requires: visit does not call allot, since a lock is held.
    template <class Visit> void visit_streams(Visit visit) const {
        const guard hold{held_.lock};
        const detail::user_call here{detail::user_call::kind::visit};
        for (key_type k = detail::stream_tag::first; k < held_.streams.keys(); ++k) {
            const auto& e = held_.streams[k];
            if (!e.gone || held_.runs.free_runs(k) != 0)
                visit(stream_stats{e.id, held_.runs.free_bytes(k), held_.runs.free_runs(k), held_.runs.largest(k).bytes,
                                   e.freed, e.recorded, e.gone});
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
    // For buffers: the account from which those of `by` take blocks over; null: it is in another tree.
    allot::account* lender_to(const allot::account& by) const noexcept
        requires(policies::lends)
    {
        return ledger_.lender_to(by);
    }
    /// The error of the last device call that failed.
    device::error last_error() const noexcept { return diagnostics_.last_error(); }
    const char* name() const noexcept { return diagnostics_.name(); }
    device_id device() const noexcept { return grown_.segments.device(); }
    const api_type& api() const noexcept { return api_; }
    /// Whether all invariants hold; for tests. Complexity: O(n log n) in runs.
    /// Requires: no other call is in progress.
    bool valid() const noexcept {
        const guard slow{grown_.lock};
        const guard hold{held_.lock};
        std::size_t bytes = 0;
        for (std::size_t i = 0; i != grown_.segments.size(); ++i) bytes += grown_.segments[i].bytes;
        if constexpr (policies::charges)
            if (ledger_.used() != bytes) return false;
        return held_.runs.valid() && held_.runs.bytes() == bytes;
    }

  private:
    template <class... Cs>
    static types<Cs..., device_id, allot::name, allot::reserve_bytes, leak_sink, api_type> accepted_with(types<Cs...>);
    using accepted = decltype(accepted_with(typename policies::ledger::values{}));

    struct no_tenant {
        explicit no_tenant(device_allocator&) noexcept {}
    };
    struct device_tenant final : tenant {
        explicit device_tenant(device_allocator& gpu) noexcept : tenant(gpu.name()), of(gpu) {}
        std::size_t held() const noexcept override { return of.used(); }
        std::size_t return_idle(std::size_t, bool waits) noexcept override {
            return policies::retain::under_pressure || waits ? of.return_idle(waits) : 0;
        }
        device_allocator& of;
    };
    static constexpr std::uint32_t most_cost = policies::asks ? UINT32_MAX : 0; // of those it asks
    detail::shared_level& level() const noexcept { return diagnostics_.level(); }
    auto steps() noexcept {
        if constexpr (policies::in_tree) return detail::device_steps{level(), tenant_};
        else return detail::no_own_steps{};
    }
    growth grow(bool waits = true) noexcept { return {grown_, held_, ledger_, diagnostics_, api_, waits}; }
    ALLOT_ALWAYS_INLINE run take(const caller& who, detail::memory_request& asked, std::size_t align) noexcept {
        const bool asks = ledger_.strain().load(std::memory_order_relaxed) != 0;
        if (ALLOT_UNLIKELY(asks) && !may_take(asked)) return {};
        run r;
        {
            const guard hold{held_.lock};
            r = held_.take(who, asked.bytes, align);
        }
        if (ALLOT_UNLIKELY(!r)) return take_slow(who, asked, align);
        if constexpr (policies::in_tree)
            if (ALLOT_UNLIKELY(asks)) ledger_.took(asked);
        return r;
    }
    // As charged_pages says.
    ALLOT_COLD bool may_take([[maybe_unused]] detail::memory_request& asked) noexcept {
        if (ledger_.is_exceeded()) static_cast<void>(return_idle(false));
        if constexpr (policies::in_tree)
            return ledger_.may_take(asked, [this] { static_cast<void>(return_idle(false)); });
        else return true;
    }
    ALLOT_NOINLINE run take_slow(const caller& who, detail::memory_request& asked, std::size_t align) noexcept {
        return grow().take(who, asked, align);
    }
    // Does nothing while another thread grows or shrinks the memory, unless it waits.
    std::size_t return_idle(bool waits) noexcept {
        growth g = grow(waits);
        return g ? g.return_idle(waits) : 0;
    }
    void* request(detail::memory_request& asked, std::size_t align, stream_type stream) noexcept {
        caller who;
        if (ALLOT_UNLIKELY(!is_possible(asked, align, stream, who))) return nullptr;
        run r = take(who, asked, align);
        if (ALLOT_UNLIKELY(!r)) {
            auto own = steps();
            auto level = ledger_.steps(most_cost);
            r = detail::climb(asked, own, level, [&] { // the stream's state may have changed
                return who.identify(api_, stream, diagnostics_) ? take(who, asked, align) : run{};
            });
            if (!r) return refused();
        }
        return start(r, stream);
    }
    bool is_possible(detail::memory_request& asked, std::size_t align, stream_type stream, caller& who) noexcept {
        if (ALLOT_UNLIKELY(asked.bytes == 0)) return false;
        if (ALLOT_UNLIKELY(!detail::is_power_of_two(align))) {
            diagnostics_.report_misused(misuse::bad_alignment, nullptr);
            return refuse_misuse(asked, misuse::bad_alignment);
        }
        if (ALLOT_UNLIKELY(asked.bytes > max_block_bytes || align > max_block_bytes))
            return refuse_misuse(asked, misuse::size_too_large);
        if (ALLOT_UNLIKELY(!who.identify(api_, stream, diagnostics_)))
            return diagnostics_.refuse_stream(asked), refused(), false;
        if (who.allowed != permitted::all) asked.judged = false; // the stream is being captured
        return true;
    }
    void* start(const run& r, [[maybe_unused]] stream_type stream) noexcept {
        void* const p = reinterpret_cast<void*>(r.address);
        if constexpr (policies::tracks_blocks)
            if (p != nullptr) api_.mark_allocated(p, r.bytes, stream);
        return p;
    }
    bool refuse_misuse(detail::memory_request& asked, misuse kind) noexcept {
        asked.refuse(charge_outcome::misused, asked.bytes, text_of(kind).data());
        return refused() != nullptr;
    }
    void* refused() noexcept {
        const guard hold{held_.lock};
        held_.count([](auto& c) { ++c.refused; });
        return nullptr;
    }

    ALLOT_NO_UNIQUE_ADDRESS api_type api_;
    ALLOT_NO_UNIQUE_ADDRESS typename policies::ledger ledger_;
    held_type held_;
    detail::device_diagnostics<Set> diagnostics_;
    detail::grown_segments<Set> grown_;
    ALLOT_NO_UNIQUE_ADDRESS std::conditional_t<policies::in_tree, device_tenant, no_tenant> tenant_{*this};
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
