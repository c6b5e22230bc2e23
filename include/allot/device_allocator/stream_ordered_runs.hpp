// The memory that a device allocator holds: live blocks, free runs, and the order of the streams that freed them. It
// serves requests that need no new memory, in three steps: what the stream freed, what is free for every stream, what
// other streams freed.
//
// Invariant: a run is handed to a stream only if the stream is ordered after the run's tag.
// Cost: that of the fit and of the stream registry. Threads: all requires `lock`, unless it says otherwise. Nothing here
// creates or maps memory.
// Source: as device_allocator.hpp.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/error.hpp>
#include <allot/device_allocator/device_policies.hpp>
#include <allot/device_allocator/device_segments.hpp>
#include <allot/device_allocator/free_spans.hpp>
#include <allot/device_allocator/relaxed_capture.hpp>
#include <allot/device_allocator/stream_caller.hpp>
#include <allot/device_allocator/stream_registry.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/mutex.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Set> struct stream_ordered_runs {
    using policies = device_policies<Set>;
    using api_type = typename policies::api;
    using registry_type = stream_registry<api_type>;
    using runs_type = typename policies::runs;
    using run = typename runs_type::run;
    using key_type = typename registry_type::key_type;
    using caller = stream_caller<api_type>;
    using guard = lock_guard<sys::mutex>;
    static constexpr unsigned most_asked = 16; // streams that a request asks whether they are done

    mutable sys::mutex lock{lock_rank::device_state};
    runs_type runs{device_unit};
    registry_type streams;
    key_type next_asked = 0; // steal_done() begins here
    ALLOT_NO_UNIQUE_ADDRESS std::conditional_t<policies::counts, device_counters, no_device_counters> counters;

    explicit stream_ordered_runs(const api_type& api) noexcept : streams(api) {
        (void)(runs.open(stream_tag::clean) && runs.open(stream_tag::held)); // on failure, growth opens them
    }

    template <class Count> void count(Count what) noexcept {
        if constexpr (policies::counts) what(counters);
    }
    // None: no host memory for the stream's entry.
    key_type key_of(const caller& who) noexcept {
        key_type key = streams.find(who.id);
        if (ALLOT_UNLIKELY(key == registry_type::none))
            key = streams.open(who.id, who.stream, [this](key_type k) { return runs.free_runs(k) == 0; });
        if (ALLOT_UNLIKELY(key == registry_type::none || !runs.open(key))) return registry_type::none;
        streams.update_handle(key, who.stream);
        return key;
    }

    // ---- requests -----------------------------------------------------------------------------------------------

    // A run without new memory from the device; none: there is no such run.
    run take(const caller& who, std::size_t bytes, std::size_t align) noexcept {
        if (ALLOT_UNLIKELY(who.allowed == permitted::captured))
            return count_allocation(runs.allocate(bytes, align, stream_tag::clean));
        const key_type key = key_of(who);
        if (ALLOT_LIKELY(key != registry_type::none))
            if (const run r = runs.allocate(bytes, align, key); ALLOT_LIKELY(bool(r))) return count_allocation(r);
        if (const run r = runs.allocate(bytes, align, stream_tag::clean)) return count_allocation(r);
        if (key == registry_type::none || runs.free_bytes() < bytes) return {};
        const run r = steal(who, key, bytes, align);
        if (r) count([](auto& c) { ++c.steals; });
        return count_allocation(r);
    }
    run count_allocation(const run& r) noexcept {
        if (r) count([](auto& c) { ++c.allocations; });
        return r;
    }
    // From the runs of other streams: those that this stream is ordered after; those whose work the device has done;
    // then those that need a wait; then, by an event and a wait, the stream with the most free bytes and the others.
    ALLOT_NOINLINE run steal(const caller& who, key_type key, std::size_t bytes, std::size_t align) noexcept {
        const auto each = [&](auto take_from) {
            run r;
            for (key_type s = stream_tag::first; s < streams.keys() && !r; ++s)
                if (s != key && runs.free_bytes(s) >= bytes) r = take_from(s);
            return r;
        };
        const auto at_cost = [&](int most) {
            return each([&](key_type s) { return steal_from(who, key, s, bytes, align, most); });
        };
        if (const run r = at_cost(0)) return r;
        if (const run r = steal_done(who, key, bytes, align)) return r;
        if (who.allowed != permitted::all) return {};
        if (const run r = at_cost(1)) return r;
        key_type richest = stream_tag::clean;
        (void)each([&](key_type s) {
            if (runs.largest(s).bytes >= bytes &&
                (richest == stream_tag::clean || runs.free_bytes(s) > runs.free_bytes(richest)))
                richest = s;
            return run{};
        });
        if (richest == stream_tag::clean) return {};
        if (const run r = steal_from(who, key, richest, bytes, align, 2)) return r;
        return at_cost(2);
    }
    // From streams whose work the device has done, which this stream need not wait for. Asks `most_asked` streams, each
    // request beginning behind the last one asked: so one beyond them is asked later.
    ALLOT_NOINLINE run steal_done(const caller& who, key_type key, std::size_t bytes, std::size_t align) noexcept {
        std::optional<relaxed_capture<api_type>> queries_allowed;
        const key_type n = streams.keys() - stream_tag::first;
        unsigned asked = 0;
        for (key_type i = 0; i != n && asked != most_asked; ++i) {
            const key_type s = stream_tag::first + next_asked++ % n;
            if (s == key || runs.largest(s).bytes < bytes || streams.ordering_cost(key, s) == 0) continue;
            if (asked++ == 0) queries_allowed.emplace(streams.api());
            streams.learn(s);
            if (const run r = steal_from(who, key, s, bytes, align, 0)) return r;
        }
        return {};
    }
    // A run of s at this cost at most: the best fit where all runs of s are; else of the first 16 that are large enough
    // one that was freed early enough.
    run steal_from(const caller& who, key_type key, key_type s, std::size_t bytes, std::size_t align,
                   int most) noexcept {
        run r;
        if (streams.ordering_cost(key, s) <= most) {
            r = runs.allocate(bytes, align, s);
        } else if (streams.ordering_cost(key, s, 1) <= most) { // of its first free
            run early;
            runs.visit_free(s, bytes, [&, tries = 16](const run& one) mutable {
                const std::size_t front = align_up(one.address, align) - one.address;
                if (front <= one.bytes - bytes && streams.ordering_cost(key, s, one.tag.ticket()) <= most) early = one;
                return !early && --tries != 0;
            });
            if (early) r = runs.allocate_at(early, align_up(early.address, align), bytes);
        }
        if (!r || streams.order_after(key, who.stream, r.tag)) return r;
        runs.release(r.address, r.tag); // could not be ordered: unchanged
        return {};
    }

    // ---- what is behind a request that found no run ------------------------------------------------------------

    // Why a request failed. wait_may_help: a wait of the host may free enough; out_of_space: there is not enough free
    // memory, and no other cause.
    struct shortage {
        bool wait_may_help = false, out_of_space = false;
    };
    // Whether all that is free, or room of these bytes beside it, may serve a request.
    bool may_serve(std::size_t bytes, std::size_t room) const noexcept {
        return runs.free_bytes() - runs.free_bytes(stream_tag::held) + room >= bytes;
    }
    // Joins adjacent runs that several streams freed into one run of this stream, which waits for those streams.
    // Requires the growth lock, for the segments. room: bytes that growth may still add.
    ALLOT_NOINLINE run join(const caller& who, std::size_t bytes, std::size_t align, std::size_t room,
                            device_segments<api_type>& segments, shortage& cause) noexcept {
        const key_type key = key_of(who);
        if (key == registry_type::none) return {};
        cause.out_of_space = true;
        if (!may_serve(bytes, room)) return {};
        for (key_type s = stream_tag::first; s < streams.keys(); ++s)
            if (runs.free_runs(s) != 0) streams.check_recordable(s);
        const auto spans = [&](bool waits) {
            return free_spans<run>{
                runs, bytes, align,
                [&](const stream_tag& t) { return waits ? streams.can_come_after(key, t) : streams.is_after(key, t); },
                segments};
        };
        auto all = spans(false);
        if (all.best() == nullptr) all = spans(true);
        cause.wait_may_help = all.wait_may_help || (policies::retain::under_pressure && all.free_piece_bytes != 0 &&
                                                    all.free_piece_bytes + room >= segments.piece_for(bytes, align));
        const auto* const best = all.best();
        if (best == nullptr) return {};
        for (std::size_t i = 0; i != best->n; ++i)
            if (!streams.order_after(key, who.stream, best->runs[i].tag)) return {};
        const stream_tag tag = streams.next_tag(key);
        for (std::size_t i = 0; i != best->n; ++i)
            (void)runs.retag(best->runs[i], tag); // false: it has joined the run before it
        count([](auto& c) { ++c.joined; });
        if (const run r = count_allocation(runs.allocate(bytes, align, key))) return r;
        return cut_from({best->begin, best->bytes()}, key, bytes, align);
    }
    // Cuts the block from the free run of this key at the piece; an aligned search of the fit may miss that run.
    run cut_from(const device_piece& p, key_type key, std::size_t bytes, std::size_t align) noexcept {
        const run in = free_run_of(p, key);
        return in ? count_allocation(runs.allocate_at(in, align_up(p.address, align), bytes)) : run{};
    }
    // The free run of this key that contains the piece; none: the piece is not wholly free under the key.
    run free_run_of(const device_piece& p, key_type key) const noexcept {
        run found;
        runs.visit_free(key, p.bytes, [&](const run& r) {
            if (r.address <= p.address && p.address - r.address <= r.bytes - p.bytes) found = r;
            return !found;
        });
        return found;
    }
    // Makes memory clean whose streams are done with it.
    void poll_frees() noexcept {
        for (key_type k = stream_tag::first; k < streams.keys(); ++k)
            if (runs.free_runs(k) != 0) streams.poll(k);
        gather_done();
    }
    // Makes memory clean whose users the host knows to be done.
    void gather_done() noexcept {
        runs.gather(stream_tag::of(stream_tag::clean),
                    [this](const stream_tag& t) { return streams.is_after(stream_tag::clean, t); });
    }

    ALLOT_COLD misuse misuse_at(std::uintptr_t address) const noexcept {
        misuse why = misuse::foreign_pointer;
        runs.visit([&](const run& r, bool live, std::uint32_t) {
            if (address >= r.address && address - r.address < r.bytes)
                why = live ? misuse::interior_pointer : misuse::double_release;
            return r.address <= address;
        });
        return why;
    }

    // ---- waits of the host: none requires the lock; one thread at a time -----------------------------------------

    // Waits for all frees before this call, and makes their memory clean. False: some could not be waited for.
    bool wait_for_frees(device_id own) noexcept {
        bool all = true;
        for (key_type k = stream_tag::first;; ++k) {
            typename api_type::event_type event{};
            std::uint64_t ticket = 0;
            {
                const guard hold{lock};
                if (k >= streams.keys()) break;
                streams.begin_wait(k);
                if (streams[k].done == streams[k].freed || runs.free_runs(k) == 0) continue;
                if (streams[k].recorded != streams[k].freed && !streams.record(k)) {
                    all = false;
                    continue;
                }
                event = streams[k].event;
                ticket = streams[k].recorded;
                streams.pin(k);
            }
            const auto done = streams.api().synchronize(event);
            const guard hold{lock};
            streams.pin(0);
            if (done) streams.mark_done(k, ticket);
            else all = false;
        }
        if (!all) {
            bool captured = false;
            {
                const guard hold{lock};
                captured = streams.any_captured();
            }
            if (!captured && synchronize(own)) { // during a capture this call would invalidate the capture
                const guard hold{lock};
                for (key_type k = stream_tag::first; k < streams.keys(); ++k) streams.end_wait(k);
                all = true;
            }
        }
        const guard hold{lock};
        gather_done();
        return all;
    }
    device::result<> synchronize(device_id own) noexcept {
        auto done = streams.api().synchronize(own);
        std::uint64_t others = 0;
        {
            const guard hold{lock};
            for (key_type k = stream_tag::first; k < streams.keys(); ++k)
                if (const int d = streams[k].device.index; d != own.index && d >= 0 && d < 64)
                    others |= std::uint64_t{1} << d;
        }
        for (int d = 0; d != 64; ++d)
            if ((others >> d & 1) != 0)
                if (const auto one = streams.api().synchronize(device_id{d}); !one) done = one;
        return done;
    }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
