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
#include <allot/device_allocator/stream_caller.hpp>
#include <allot/device_allocator/stream_registry.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/mutex.hpp>

#include <cstddef>
#include <cstdint>
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

    mutable sys::mutex lock{lock_rank::device_state};
    runs_type runs{device_unit};
    registry_type streams;
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
    // From the runs of other streams: those that this stream is ordered after, then those that need a wait, then, by an
    // event and a wait, the stream with the most free bytes and the others.
    ALLOT_NOINLINE run steal(const caller& who, key_type key, std::size_t bytes, std::size_t align) noexcept {
        key_type richest = stream_tag::clean;
        for (int cost = 0; cost <= 1; ++cost)
            for (key_type s = stream_tag::first; s < streams.keys(); ++s) {
                if (s == key || runs.free_bytes(s) < bytes) continue;
                const int its = streams.ordering_cost(key, s);
                if (its == 2 && runs.free_bytes(s) > (richest == stream_tag::clean ? 0 : runs.free_bytes(richest)) &&
                    runs.largest(s).bytes >= bytes)
                    richest = s;
                if (its != cost) continue;
                if (const run r = steal_from(who, key, s, bytes, align)) return r;
            }
        if (richest == stream_tag::clean) return {};
        if (const run r = steal_from(who, key, richest, bytes, align)) return r;
        for (key_type s = stream_tag::first; s < streams.keys(); ++s)
            if (s != key && s != richest && runs.free_bytes(s) >= bytes && streams.ordering_cost(key, s) == 2)
                if (const run r = steal_from(who, key, s, bytes, align)) return r;
        return {};
    }
    run steal_from(const caller& who, key_type key, key_type s, std::size_t bytes, std::size_t align) noexcept {
        const run r = runs.allocate(bytes, align, s);
        if (!r) return {};
        if (streams.is_after(key, r.tag) ||
            (who.allowed == permitted::all && streams.order_after(key, who.stream, r.tag)))
            return r;
        runs.release(r.address, r.tag); // could not be ordered: unchanged
        return {};
    }

    // ---- what is behind a request that found no run ------------------------------------------------------------

    // Why a request failed. wait_may_help: a wait of the host may free enough; out_of_space: there is not enough free
    // memory, and no other cause.
    struct shortage {
        bool wait_may_help = false, out_of_space = false;
    };
    // Joins adjacent runs that several streams freed into one run of this stream, which waits for those streams.
    // Requires the growth lock, for the segments. room: bytes that growth may still add.
    ALLOT_NOINLINE run join(const caller& who, std::size_t bytes, std::size_t align, std::size_t room,
                            device_segments<api_type>& segments, shortage& cause) noexcept {
        const key_type key = key_of(who);
        if (key == registry_type::none) return {};
        cause.out_of_space = true;
        if (runs.free_bytes() - runs.free_bytes(stream_tag::held) + room < bytes) return {};
        for (key_type s = stream_tag::first; s < streams.keys(); ++s)
            if (runs.free_runs(s) != 0) streams.check_recordable(s);
        const free_spans<run> all{runs, bytes, align,
                                  [&](const stream_tag& t) { return streams.can_come_after(key, t); }, segments};
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
