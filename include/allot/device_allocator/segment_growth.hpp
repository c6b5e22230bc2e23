// Growth of a device allocator's memory: the slow path of a request that no held run can serve, and the return of
// pieces. An object is one call: it holds the growth lock from its construction to its end.
//
//   a new piece -> adjacent runs, joined after waits of the stream -> a wait of the host, then a new piece in place of
//   wholly free pieces, as `retain` allows
// Invariant: after a request fails for want of space, requests that are no smaller fail at once, until memory is freed
// or the limit rises. A piece is returned only after the host has waited for all its users.
// Cost: four driver calls per piece; one scan of all runs if no run fits. Threads: one call at a time
// (growth_transaction.hpp). The lock of the runs is held only while they are read or written, so other requests
// proceed.
// Source: as device_allocator.hpp.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/min_max.hpp>
#include <allot/device_allocator/device_diagnostics.hpp>
#include <allot/device_allocator/device_policies.hpp>
#include <allot/device_allocator/device_segments.hpp>
#include <allot/device_allocator/growth_transaction.hpp>
#include <allot/device_allocator/stream_ordered_runs.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/request/shared_level.hpp>
#include <allot/sync/full_fence.hpp>
#include <allot/sys/mutex.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

// The pieces of a device allocator, and what growth notes about them between its calls.
template <class Set> struct grown_segments {
    using policies = device_policies<Set>;

    grown_segments(const typename policies::api& api, device_id device, std::size_t reserve_bytes) noexcept
        : segments(api, device, reserve_bytes) {}

    mutable sys::mutex lock{lock_rank::device_growth}; // locked before that of the runs; all below requires it
    device_segments<typename policies::api> segments;
    struct {
        std::uint64_t frees = UINT64_MAX;
        std::size_t bytes = 0, align = 0, limit = 0;
    } last_refused; // the last request that failed for want of space
};

template <class Set> class segment_growth {
    using policies = device_policies<Set>;
    using runs_type = stream_ordered_runs<Set>;
    using run = typename runs_type::run;
    using caller = typename runs_type::caller;
    using guard = typename runs_type::guard;
    using ledger = typename policies::ledger;
    using api_type = typename policies::api;

  public:
    /// Bytes: the most that growth takes in advance of a request.
    static constexpr std::size_t max_step = std::size_t{512} << 20;

    // `waits` = false: false, and of no use, while another call holds the growth lock.
    segment_growth(grown_segments<Set>& grown, runs_type& held, ledger& charged, device_diagnostics<Set>& diagnostics,
                   const api_type& api, bool waits = true) noexcept
        : grown_(grown), held_(held), ledger_(charged), diagnostics_(diagnostics),
          transaction_(grown.lock, charged, api, waits) {}
    explicit operator bool() const noexcept { return bool(transaction_); }

    // Serves a request with new memory, or with all that is free.
    run take(const caller& who, memory_request& asked, std::size_t align) noexcept {
        const std::size_t bytes = asked.bytes;
        if (align < device_unit) align = device_unit;
        if (const run r = grow(who, asked, align)) return r;
        auto& last = grown_.last_refused;
        std::uint64_t frees = 0;
        typename runs_type::shortage cause;
        {
            const guard hold{held_.lock};
            frees = held_.streams.frees();
            if (frees == last.frees && bytes >= last.bytes && align >= last.align && limit() <= last.limit) return {};
            const std::size_t room = room_beside(held_.runs.bytes());
            if (held_.may_serve(bytes, room)) {
                held_.poll_frees();
                if (const run r = held_.take(who, bytes, align)) return r;
            }
            if (who.allowed != permitted::all) return {};
            if (const run r = held_.join(who, bytes, align, room, grown_.segments, cause)) return r;
        }
        if (cause.wait_may_help)
            if (const run r = wait_and_replace(who, asked, align, cause)) return r;
        if (cause.out_of_space) last = {frees, bytes, align, limit()};
        return {};
    }
    // Waits for the streams that freed memory, then returns every wholly free piece to the device. Returns the bytes.
    std::size_t trim() noexcept {
        (void)wait_for_frees();
        return return_segments();
    }
    // For others who are short: returns the pieces that are wholly free for every stream. Unless `waits`: as far as is
    // known without a wait of the host.
    ALLOT_NOINLINE std::size_t return_idle(bool waits) noexcept {
        if (waits) (void)wait_for_frees();
        if constexpr (!policies::retain::under_pressure) return 0;
        {
            const guard hold{held_.lock};
            held_.poll_frees();
        }
        return return_segments();
    }

  private:
    std::size_t limit() const noexcept { return policies::limit_of(ledger_); }
    // Bytes that the allocator's own limit still allows.
    std::size_t room_beside(std::size_t held) const noexcept {
        const std::size_t most = limit();
        return most > held ? most - held : 0;
    }
    bool wait_for_frees() noexcept { return held_.wait_for_frees(grown_.segments.device()); }
    // A block in a new piece, or in memory that other threads added meanwhile.
    run grow(const caller& who, memory_request& asked, std::size_t align) noexcept {
        auto& segments = grown_.segments;
        const std::size_t bytes = asked.bytes;
        const std::size_t step = segments.granularity();
        for (std::size_t refused = SIZE_MAX;;) {
            {
                const guard hold{held_.lock};
                if (const run r = held_.take(who, bytes, align)) return r;
            }
            const std::size_t held = held_.runs.bytes(), most = limit(), need = segments.piece_for(bytes, align);
            if (need >= refused) return {};
            const bool over = need > most || held > most - need;
            // An account refuses by itself: it has listeners.
            if (over && !policies::in_tree)
                return diagnostics_.refuse(asked, charge_outcome::over_limit, refuser::limit, need, held, most), run{};
            std::size_t want = align_up(held / 4, step);
            want = want > max_step ? max_step : want;
            if (!over && want > most - held) want = (most - held) / step * step;
            if (over || want < need || want >= refused || !segments.can_place(want, align)) want = need;
            if (want > transaction_.charged()) {
                if (!transaction_.charge(want, asked, want > need)) refused = want;
                continue;
            }
            const auto made = segments.grow(want);
            if (!made) {
                diagnostics_.set_last_error(made.error());
                const std::size_t whole = segments.device_bytes();
                diagnostics_.refuse(asked, charge_outcome::no_memory, refuser::device, want, held, min(most, whole));
                refused = want;
                continue;
            }
            {
                const guard hold{held_.lock};
                if (held_.runs.open(stream_tag::held) &&
                    held_.runs.add(made->address, made->bytes, made->segment)) { // `held`: so that a free cannot fail
                    transaction_.mapped(want);
                    held_.count([](auto& c) { ++c.grown; });
                    if (const run r = held_.take(who, bytes, align)) return r;
                    return held_.cut_from(*made, stream_tag::clean, bytes, align);
                }
            }
            diagnostics_.report_failure(segments.shrink(*made));
            return asked.refuse(charge_outcome::no_memory, need), run{};
        }
    }
    // Wholly free pieces are returned to make room for a new one, as `retain` allows: those that are free for every
    // stream, if they are enough; else all, after the host has waited for all frees, which makes their memory free for
    // every stream.
    run wait_and_replace(const caller& who, memory_request& asked, std::size_t align,
                         typename runs_type::shortage& cause) noexcept {
        const std::size_t bytes = asked.bytes, need = grown_.segments.piece_for(bytes, align);
        if (can_replace(need))
            if (const run r = replace(who, asked, align, need)) return r;
        const bool all = wait_for_frees();
        {
            const guard hold{held_.lock};
            if (const run r = held_.count_allocation(held_.runs.allocate(bytes, align, stream_tag::clean))) return r;
            cause.out_of_space = all && held_.runs.prepare(); // else a capture or host memory is the cause
        }
        return replace(who, asked, align, need);
    }
    run replace(const caller& who, memory_request& asked, std::size_t align, std::size_t need) noexcept {
        if (!policies::retain::under_pressure || return_segments(need) == 0) return {};
        return grow(who, asked, align);
    }
    // Whether pieces that are wholly free for every stream, and what the limit leaves, are this many bytes.
    bool can_replace(std::size_t need) const noexcept {
        std::size_t room = SIZE_MAX;
        if constexpr (policies::in_tree) room = ledger_.account().headroom();
        const guard hold{held_.lock};
        if constexpr (!policies::in_tree) room = room_beside(held_.runs.bytes());
        for (std::size_t i = 0; i != grown_.segments.size() && room < need; ++i)
            if (held_.free_run_of(grown_.segments[i], stream_tag::clean)) room += grown_.segments[i].bytes;
        return room >= need;
    }
    // Returns pieces that are wholly free for every stream to the device, the highest first, until `enough` bytes are
    // returned. Returns the bytes.
    std::size_t return_segments(std::size_t enough = SIZE_MAX) noexcept {
        auto& segments = grown_.segments;
        std::size_t bytes = 0;
        for (std::size_t i = segments.size(); i != 0 && bytes < enough; --i) {
            const device_piece p = segments[i - 1];
            {
                const guard hold{held_.lock};
                if (const run in = held_.free_run_of(p, stream_tag::clean);
                    !in || !held_.runs.remove(in, p.address, p.bytes))
                    continue;
            }
            diagnostics_.report_failure(segments.shrink(p));
            transaction_.unmapped(p.bytes);
            held_.count([](auto& c) { ++c.released; });
            bytes += p.bytes;
        }
        if (bytes != 0) {
            full_fence();
            diagnostics_.level().gave();
            the_system().gave();
        }
        return bytes;
    }

    grown_segments<Set>& grown_;
    runs_type& held_;
    ledger& ledger_;
    device_diagnostics<Set>& diagnostics_;
    growth_transaction<ledger, api_type> transaction_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
