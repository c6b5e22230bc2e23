// Growth of a device allocator's memory: the slow path of a request that no held run can serve, and the return of
// pieces.
//
//   a new piece -> adjacent runs, joined after waits of the stream -> a wait of the host, then a new piece in place of
//   wholly free pieces, as `retain` allows
// Invariant: after a request fails for want of space, requests that are no smaller fail at once, until memory is freed
// or the limit rises. A piece is returned only after the host has waited for all its users.
// Cost: four driver calls per piece; one scan of all runs if no run fits. Threads: one transaction at a time
// (growth_transaction.hpp). state_lock_ is held only while the state is read or written, so other requests proceed.
// Source: as device_allocator.hpp.
#pragma once

#include <allot/account/memory_request.hpp>
#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/units.hpp>
#include <allot/core/values.hpp>
#include <allot/device_allocator/device_allocator_state.hpp>
#include <allot/device_allocator/device_segments.hpp>
#include <allot/device_allocator/free_spans.hpp>
#include <allot/device_allocator/growth_transaction.hpp>
#include <allot/sys/mutex.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Set> class segment_growth : protected device_allocator_state<Set> {
  protected:
    using state_base = device_allocator_state<Set>;
    using state_base::api_, state_base::streams_, state_base::state_lock_, state_base::count,
        state_base::count_allocation, state_base::device_, state_base::key_of, state_base::ledger_;
    using state_base::limit_now, state_base::runs_, state_base::take, state_base::diagnostics_, state_base::unit;
    using typename state_base::api_type, typename state_base::registry_type, typename state_base::caller,
        typename state_base::guard, typename state_base::key_type;
    using typename state_base::policies, typename state_base::run, typename state_base::permitted;
    using piece = device_piece;
    using transaction_type = growth_transaction<typename policies::ledger, api_type>;

    /// Bytes: the most that growth takes in advance of a request.
    static constexpr std::size_t max_growth_step = std::size_t{512} << 20;

    template <class... Values>
    explicit segment_growth(Values&... values) noexcept(policies::template cannot_be_refused<Values...>)
        : state_base(values...), segments_(api_, device_, value_or<allot::reserve_bytes>({0}, values...).bytes) {}

    // Serves a request with new memory, or with all that is free. One request at a time.
    ALLOT_NOINLINE run take_slow(const caller& who, memory_request& asked, std::size_t align) noexcept {
        const std::size_t bytes = asked.bytes;
        if (align < unit) align = unit;
        transaction_type transaction{growth_lock_, ledger_, api_};
        if (const run r = grow(who, asked, align, transaction)) return r;
        if (who.allowed != permitted::all) return {};
        std::uint64_t frees = 0;
        shortage cause;
        {
            const guard hold{state_lock_};
            frees = streams_.frees();
            if (frees == last_refused_.frees && bytes >= last_refused_.bytes && align >= last_refused_.align &&
                limit_now() <= last_refused_.limit)
                return {};
            if (const run r = join(who, bytes, align, cause)) return r;
        }
        if (cause.wait_may_help)
            if (const run r = wait_and_replace(who, asked, align, transaction, cause)) return r;
        if (cause.out_of_space) last_refused_ = {frees, bytes, align, limit_now()};
        return {};
    }
    // Why a request failed. wait_may_help: a wait of the host may free enough; out_of_space: there is not enough free
    // memory, and no other cause.
    struct shortage {
        bool wait_may_help = false, out_of_space = false;
    };
    // Whether a piece of this size has the alignment at its start: mapped pieces start at a multiple of the
    // granularity, plain segments at one of the unit.
    bool can_place(std::size_t size, std::size_t align) noexcept {
        return align <= unit || (align <= segments_.granularity() && segments_.can_map(size));
    }
    // The bytes of a piece that fits the request at any address. Cannot overflow: both are <= max_block_bytes.
    std::size_t piece_for(std::size_t bytes, std::size_t align) noexcept {
        const std::size_t step = segments_.granularity(), need = align_up(bytes, step);
        return can_place(need, align) ? need : align_up(bytes + align, step);
    }
    // The device refused a call about the stream: a wrong handle, or a device that fails.
    void refuse_device_error(memory_request& asked) const noexcept {
        if (diagnostics_.last_error().kind == device::failure::invalid_handle)
            asked.refuse(charge_outcome::misused, asked.bytes, "the stream is not a live one");
        else (void)refuse(asked, charge_outcome::no_memory, asked.bytes, 0, SIZE_MAX, refuser::device);
    }
    run refuse(memory_request& asked, charge_outcome why, std::size_t bytes, std::size_t used, std::size_t limit,
               refuser by) const noexcept {
        return asked.refuse({why, by, nullptr, bytes, used, limit, diagnostics_.name()}), run{};
    }
    // A block in a new piece, or in memory that other threads added meanwhile.
    run grow(const caller& who, memory_request& asked, std::size_t align, transaction_type& transaction) noexcept {
        const std::size_t bytes = asked.bytes;
        const std::size_t step = segments_.granularity();
        for (std::size_t refused = SIZE_MAX;;) {
            {
                const guard hold{state_lock_};
                if (const run r = take(who, bytes, align)) return r;
            }
            const std::size_t held = runs_.bytes(), most = limit_now(), need = piece_for(bytes, align);
            if (need >= refused) return {};
            const bool over = need > most || held > most - need;
            // An account refuses by itself: it has listeners and a grace.
            if (over && !policies::in_tree)
                return refuse(asked, charge_outcome::over_limit, need, held, most, refuser::limit);
            std::size_t want = align_up(held / 4, step);
            want = want > max_growth_step ? max_growth_step : want;
            if (!over && want > most - held) want = (most - held) / step * step;
            if (over || want < need || want >= refused || !can_place(want, align)) want = need;
            if (want > transaction.charged()) {
                if (!transaction.charge(want, asked)) refused = want;
                continue;
            }
            const auto made = segments_.grow(want);
            if (!made) {
                diagnostics_.set_last_error(made.error());
                (void)refuse(asked, charge_outcome::no_memory, want, held, most, refuser::device);
                refused = want;
                continue;
            }
            {
                const guard hold{state_lock_};
                if (runs_.open(stream_tag::held) &&
                    runs_.add(made->address, made->bytes, made->segment)) { // `held`: so that a free cannot fail
                    transaction.mapped(want);
                    count([](auto& c) { ++c.grown; });
                    if (const run r = take(who, bytes, align)) return r;
                    return cut_from(*made, stream_tag::clean, bytes, align);
                }
            }
            diagnostics_.report_failure(segments_.shrink(*made));
            return asked.refuse(charge_outcome::no_memory, need), run{};
        }
    }
    // Joins adjacent runs that several streams freed into one run of this stream, which waits for those streams.
    // Requires state_lock_.
    ALLOT_NOINLINE run join(const caller& who, std::size_t bytes, std::size_t align, shortage& cause) noexcept {
        const std::size_t held = runs_.bytes(), most = limit_now(), room = most > held ? most - held : 0;
        const key_type key = key_of(who);
        if (key == registry_type::none) return {};
        cause.out_of_space = true;
        if (runs_.free_bytes() - runs_.free_bytes(stream_tag::held) + room < bytes) return {};
        for (key_type s = stream_tag::first; s < streams_.keys(); ++s)
            if (runs_.free_runs(s) != 0) streams_.check_recordable(s);
        const free_spans<run> all{runs_, bytes, align,
                                  [&](const stream_tag& t) { return streams_.can_come_after(key, t); }, segments_};
        cause.wait_may_help = all.wait_may_help || (policies::retain::under_pressure && all.free_piece_bytes != 0 &&
                                                    all.free_piece_bytes + room >= piece_for(bytes, align));
        const auto* const best = all.best();
        if (best == nullptr) return {};
        for (std::size_t i = 0; i != best->n; ++i)
            if (!streams_.order_after(key, who.stream, best->runs[i].tag)) return {};
        const stream_tag tag = streams_.next_tag(key);
        for (std::size_t i = 0; i != best->n; ++i)
            (void)runs_.retag(best->runs[i], tag); // false: it has joined the run before it
        count([](auto& c) { ++c.joined; });
        if (const run r = count_allocation(runs_.allocate(bytes, align, key))) return r;
        return cut_from({best->begin, best->bytes()}, key, bytes, align);
    }
    // Cuts the block from the free run of this key at the piece; an aligned search of the fit may miss that run.
    // Requires state_lock_.
    run cut_from(const piece& p, key_type key, std::size_t bytes, std::size_t align) noexcept {
        const run in = free_run_of(p, key);
        return in ? count_allocation(runs_.allocate_at(in, align_up(p.address, align), bytes)) : run{};
    }
    // The host waits for all frees, which makes the memory free for every stream; then wholly free pieces are returned
    // to make room for a new one, as `retain` allows.
    run wait_and_replace(const caller& who, memory_request& asked, std::size_t align, transaction_type& transaction,
                         shortage& cause) noexcept {
        const std::size_t bytes = asked.bytes;
        const bool all = wait_for_frees();
        {
            const guard hold{state_lock_};
            if (const run r = count_allocation(runs_.allocate(bytes, align, stream_tag::clean))) return r;
            cause.out_of_space = all && runs_.prepare(); // else a capture or host memory is the cause
        }
        std::size_t pieces = SIZE_MAX;
        if (!policies::retain::under_pressure ||
            return_segments(stream_tag::clean, piece_for(bytes, align), pieces, transaction) == 0)
            return {};
        return grow(who, asked, align, transaction);
    }
    // Waits for all frees before this call, and makes their memory clean. False: some could not be waited for.
    bool wait_for_frees() noexcept {
        bool all = true;
        for (key_type k = stream_tag::first;; ++k) {
            typename api_type::event_type event{};
            std::uint64_t ticket = 0;
            {
                const guard hold{state_lock_};
                if (k >= streams_.keys()) break;
                streams_.begin_wait(k);
                if (streams_[k].done == streams_[k].freed || runs_.free_runs(k) == 0) continue;
                if (streams_[k].recorded != streams_[k].freed && !streams_.record(k)) {
                    all = false;
                    continue;
                }
                event = streams_[k].event;
                ticket = streams_[k].recorded;
                streams_.pin(k);
            }
            const auto done = api_.synchronize(event);
            const guard hold{state_lock_};
            streams_.pin(0);
            if (done) streams_.mark_done(k, ticket);
            else all = false;
        }
        if (!all) {
            bool captured = false;
            {
                const guard hold{state_lock_};
                captured = streams_.any_captured();
            }
            if (!captured && synchronize_devices()) { // during a capture this call would invalidate the capture
                const guard hold{state_lock_};
                for (key_type k = stream_tag::first; k < streams_.keys(); ++k) streams_.end_wait(k);
                all = true;
            }
        }
        const guard hold{state_lock_};
        gather_done();
        return all;
    }
    device::result<> synchronize_devices() noexcept {
        auto done = api_.synchronize(device_);
        std::uint64_t others = 0;
        {
            const guard hold{state_lock_};
            for (key_type k = stream_tag::first; k < streams_.keys(); ++k)
                if (const int d = streams_[k].device.index; d != device_.index && d >= 0 && d < 64)
                    others |= std::uint64_t{1} << d;
        }
        for (int d = 0; d != 64; ++d)
            if ((others >> d & 1) != 0)
                if (const auto one = api_.synchronize(device_id{d}); !one) done = one;
        return done;
    }
    // Returns pieces that are wholly free under this key to the device, the highest first, until `enough` bytes or
    // `pieces` pieces are returned; counts `pieces` down. Returns the bytes.
    std::size_t return_segments(key_type key, std::size_t enough, std::size_t& pieces,
                                transaction_type& transaction) noexcept {
        std::size_t bytes = 0;
        for (std::size_t i = segments_.size(); i != 0 && bytes < enough && pieces != 0; --i) {
            const piece p = segments_[i - 1];
            {
                const guard hold{state_lock_};
                if (const run in = free_run_of(p, key); !in || !runs_.remove(in, p.address, p.bytes)) continue;
            }
            --pieces;
            diagnostics_.report_failure(segments_.shrink(p));
            transaction.unmapped(p.bytes);
            count([](auto& c) { ++c.released; });
            bytes += p.bytes;
        }
        return bytes;
    }
    // The free run of this key that contains the piece; none: the piece is not wholly free under the key. Requires
    // state_lock_.
    run free_run_of(const piece& p, key_type key) const noexcept {
        run found;
        runs_.visit_free(key, p.bytes, [&](const run& r) {
            if (r.address <= p.address && p.address - r.address <= r.bytes - p.bytes) found = r;
            return !found;
        });
        return found;
    }
    // retain::idle: returns up to pieces_per_scan pieces that have been resting since the last scan, then marks wholly
    // free pieces as resting. Never waits: if another transaction is running, this one does nothing.
    ALLOT_NOINLINE std::size_t scan_idle() noexcept
        requires policies::idle::enabled
    {
        transaction_type transaction{growth_lock_, ledger_, api_, false};
        if (!transaction || !idle_.due()) return 0;
        std::size_t pieces = policies::idle::pieces_per_scan;
        const std::size_t bytes = return_segments(stream_tag::resting, SIZE_MAX, pieces, transaction);
        if (pieces == 0) return bytes; // the next request continues this scan
        const guard hold{state_lock_};
        poll_frees();
        for (std::size_t i = 0; i != segments_.size(); ++i)
            if (const run in = free_run_of(segments_[i], stream_tag::clean))
                (void)runs_.retag(in, segments_[i].address, segments_[i].bytes, stream_tag::of(stream_tag::resting));
        idle_.scanned();
        return bytes;
    }
    // For others who are short: returns the pieces that are wholly free for every stream. Unless `waits`: as far as is
    // known without a wait of the host, and 0 while another thread grows or shrinks the memory.
    ALLOT_NOINLINE std::size_t return_idle(bool waits) noexcept {
        if (!policies::retain::under_pressure && !waits) return 0;
        transaction_type transaction{growth_lock_, ledger_, api_, waits};
        if (!transaction) return 0;
        if (waits) (void)wait_for_frees();
        if constexpr (!policies::retain::under_pressure) return 0;
        {
            const guard hold{state_lock_};
            poll_frees();
        }
        std::size_t pieces = SIZE_MAX, bytes = return_segments(stream_tag::clean, SIZE_MAX, pieces, transaction);
        if constexpr (policies::idle::enabled)
            bytes += return_segments(stream_tag::resting, SIZE_MAX, pieces, transaction);
        return bytes;
    }
    // Makes memory clean whose streams are done with it. Requires state_lock_.
    void poll_frees() noexcept {
        for (key_type k = stream_tag::first; k < streams_.keys(); ++k)
            if (runs_.free_runs(k) != 0) streams_.poll(k);
        gather_done();
    }
    // Makes memory clean whose users the host knows to be done. Requires state_lock_.
    void gather_done() noexcept {
        runs_.gather(stream_tag::of(stream_tag::clean),
                     [this](const stream_tag& t) { return streams_.is_after(stream_tag::clean, t); });
    }

    ALLOT_NO_UNIQUE_ADDRESS typename policies::idle idle_;
    mutable sys::mutex growth_lock_{lock_rank::device_growth}; // locked before state_lock_
    device_segments<api_type> segments_;                       // requires growth_lock_

  private:
    struct {
        std::uint64_t frees = UINT64_MAX;
        std::size_t bytes = 0, align = 0, limit = 0;
    } last_refused_; // the last request that failed for want of space; requires growth_lock_
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
