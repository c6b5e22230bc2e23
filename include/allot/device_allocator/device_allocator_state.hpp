// The state of a device allocator, and the requests that it answers without new memory: from what the stream freed,
// what is free for every stream, and what other streams freed.
//
// Invariant: a run is handed to a stream only if the stream is ordered after the run's tag.
// Cost: that of the fit and of the stream registry, and two api calls per request (stream id, capture state).
// Threads: identify(), diagnostics_ and the ledger: any. All else requires state_lock_. Nothing here creates, maps or
// synchronises.
// Source: as device_allocator.hpp.
#pragma once

#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/units.hpp>
#include <allot/core/values.hpp>
#include <allot/device/api_argument.hpp>
#include <allot/device_allocator/device_diagnostics.hpp>
#include <allot/device_allocator/device_policies.hpp>
#include <allot/device_allocator/stream_registry.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/mutex.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Set> class device_allocator_state {
  protected:
    using policies = device_policies<Set>;
    using api_type = typename policies::api;
    using stream_type = typename api_type::stream_type;
    using registry_type = stream_registry<api_type>;
    using runs_type = typename policies::runs;
    using run = typename runs_type::run;
    using key_type = typename registry_type::key_type;
    using guard = lock_guard<sys::mutex>;

    /// Bytes: sizes are rounded up to it, and blocks are aligned to it.
    static constexpr std::size_t unit = 256;

    // Which calls a request may make on its stream: all; no records and waits; none, since the stream is captured.
    enum class permitted : std::uint8_t { all, no_events, captured };
    struct caller {
        stream_type stream{};
        std::uint64_t id = 0;
        permitted allowed = permitted::all;
    };

    template <class... Values>
    explicit device_allocator_state(Values&... values) noexcept(policies::template cannot_be_refused<Values...>)
        : api_(api_argument<api_type>(values...)), device_(value_or<device_id>({0}, values...)),
          ledger_(value_or<allot::limit>({SIZE_MAX}, values...).bytes, value_or<allot::name>({""}, values...).text,
                  values...),
          streams_(api_), diagnostics_(value_or<allot::name>({""}, values...).text,
                                       value_or<leak_sink>({&leaks_to_stderr}, values...)) {
        (void)(runs_.open(stream_tag::clean) && runs_.open(stream_tag::held));        // on failure, growth opens them
        if constexpr (policies::idle::enabled) (void)runs_.open(stream_tag::resting); // on failure, nothing rests
    }

    std::size_t limit_now() const noexcept {
        if constexpr (policies::charges) return ledger_.limit();
        else return SIZE_MAX;
    }
    template <class Count> void count(Count what) noexcept {
        if constexpr (policies::counts) what(counters_);
    }

    // ---- the stream of a request ------------------------------------------------------------------------------

    // False: not a stream.
    bool identify(stream_type stream, caller& who) noexcept {
        const auto id = api_.stream_id(stream);
        if (ALLOT_UNLIKELY(!id)) {
            diagnostics_.set_last_error(id.error());
            return false;
        }
        who.stream = stream;
        who.id = *id;
        const auto captured = api_.capturing(stream);
        who.allowed = ALLOT_LIKELY(captured && *captured == device::capture_state::none) ? permitted::all
                                                                                         : permitted_by(captured);
        return true;
    }
    // While a blocking stream is captured, CUDA forbids calls that would order the legacy stream after it. After any
    // other error the stream is treated as captured.
    static permitted permitted_by(const device::result<device::capture_state>& captured) noexcept {
        return captured.kind() == device::failure::not_permitted_in_capture ? permitted::no_events
                                                                            : permitted::captured;
    }
    // Requires state_lock_. None: no host memory for the stream's entry.
    key_type key_of(const caller& who) noexcept {
        key_type key = streams_.find(who.id);
        if (ALLOT_UNLIKELY(key == registry_type::none))
            key = streams_.open(who.id, who.stream, [this](key_type k) { return runs_.free_runs(k) == 0; });
        if (ALLOT_UNLIKELY(key == registry_type::none || !runs_.open(key))) return registry_type::none;
        streams_.update_handle(key, who.stream);
        return key;
    }

    // ---- memory that is held already (all require state_lock_) ------------------------------------------------

    // A run without new memory from the device; none: there is no such run.
    run take(const caller& who, std::size_t bytes, std::size_t align) noexcept {
        if (ALLOT_UNLIKELY(who.allowed == permitted::captured)) return count_allocation(take_clean(bytes, align));
        const key_type key = key_of(who);
        if (ALLOT_LIKELY(key != registry_type::none))
            if (const run r = runs_.allocate(bytes, align, key); ALLOT_LIKELY(bool(r))) return count_allocation(r);
        if (const run r = take_clean(bytes, align)) return count_allocation(r);
        if (key == registry_type::none || runs_.free_bytes() < bytes) return {};
        const run r = steal(who, key, bytes, align);
        if (r) count([](auto& c) { ++c.steals; });
        return count_allocation(r);
    }
    run take_clean(std::size_t bytes, std::size_t align) noexcept {
        const run r = runs_.allocate(bytes, align, stream_tag::clean);
        if constexpr (policies::idle::enabled)
            if (!r && runs_.free_bytes(stream_tag::resting) != 0) return take_resting(bytes, align);
        return r;
    }
    // Tries the resting runs; if none fits, makes all of them clean, so that they join with their neighbours.
    ALLOT_NOINLINE run take_resting(std::size_t bytes, std::size_t align) noexcept {
        if (const run r = runs_.allocate(bytes, align, stream_tag::resting)) return r;
        runs_.gather(stream_tag::of(stream_tag::clean),
                     [](const stream_tag& t) { return t.key() == stream_tag::resting; });
        return runs_.allocate(bytes, align, stream_tag::clean);
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
            for (key_type s = stream_tag::first; s < streams_.keys(); ++s) {
                if (s == key || runs_.free_bytes(s) < bytes) continue;
                const int its = streams_.ordering_cost(key, s);
                if (its == 2 && runs_.free_bytes(s) > (richest == stream_tag::clean ? 0 : runs_.free_bytes(richest)) &&
                    runs_.largest(s).bytes >= bytes)
                    richest = s;
                if (its != cost) continue;
                if (const run r = steal_from(who, key, s, bytes, align)) return r;
            }
        if (richest == stream_tag::clean) return {};
        if (const run r = steal_from(who, key, richest, bytes, align)) return r;
        for (key_type s = stream_tag::first; s < streams_.keys(); ++s)
            if (s != key && s != richest && runs_.free_bytes(s) >= bytes && streams_.ordering_cost(key, s) == 2)
                if (const run r = steal_from(who, key, s, bytes, align)) return r;
        return {};
    }
    run steal_from(const caller& who, key_type key, key_type s, std::size_t bytes, std::size_t align) noexcept {
        const run r = runs_.allocate(bytes, align, s);
        if (!r) return {};
        if (streams_.is_after(key, r.tag) ||
            (who.allowed == permitted::all && streams_.order_after(key, who.stream, r.tag)))
            return r;
        runs_.release(r.address, r.tag); // could not be ordered: unchanged
        return {};
    }
    ALLOT_COLD misuse misuse_at(std::uintptr_t address) const noexcept {
        misuse why = misuse::foreign_pointer;
        runs_.visit([&](const run& r, bool live, std::uint32_t) {
            if (address >= r.address && address - r.address < r.bytes)
                why = live ? misuse::interior_pointer : misuse::double_release;
            return r.address <= address;
        });
        return why;
    }

    ALLOT_NO_UNIQUE_ADDRESS api_type api_;
    device_id device_;
    ALLOT_NO_UNIQUE_ADDRESS typename policies::ledger ledger_;
    mutable sys::mutex state_lock_{lock_rank::device_state};
    runs_type runs_{unit};
    registry_type streams_;
    ALLOT_NO_UNIQUE_ADDRESS std::conditional_t<policies::counts, device_counters, no_device_counters> counters_;
    device_diagnostics<Set> diagnostics_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
