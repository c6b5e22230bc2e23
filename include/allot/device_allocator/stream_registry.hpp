// The streams of a device allocator: their frees, the last event behind them, and the order between streams.
//
//     const auto key = registry.open(id, stream, reusable);  // a small number for a stream, for tags
//     tag = registry.tag_of_free(key);                       // a free: the next ticket, no call to the device
//     registry.order_after(t, stream_t, tag)                 // records and waits only if that was not done before
//
// An event is recorded on stream S only when another stream needs memory that S freed since S's last event; it covers
// all frees before it. For each pair (T, S) the highest ticket of S that T waited for is kept, so T never waits twice
// for one. An event is recorded only while the handle still has the stream's id, since CUDA reuses handles of destroyed
// streams, and never while the stream is captured.
// Invariant: done <= freed, recorded <= freed, and a waited ticket <= recorded. Keys of streams that left are reused.
// Cost: O(1) per free; 96 bytes per stream, and 8 per pair where one waited for the other.
// Threads: one at a time; requires the lock of stream_ordered_runs.
// Source: tickets as the epochs of deferred reclamation; one event per stream, RMM (2021).
#pragma once

#include <allot/config.hpp>
#include <allot/core/hash.hpp>
#include <allot/device/api.hpp>
#include <allot/device/current_device.hpp>
#include <allot/device_allocator/stream_tag.hpp>
#include <allot/fit/run_array.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Api> class stream_registry {
  public:
    using stream_type = typename Api::stream_type;
    using event_type = typename Api::event_type;
    using key_type = std::uint32_t;
    static constexpr key_type none = UINT32_MAX;
    static constexpr std::uint64_t frees_per_event = 32; // on a per-thread stream: other threads cannot record on it

    struct entry {
        std::uint64_t id = 0;
        std::uint64_t freed = 0;                 // the ticket of its last free
        std::uint64_t recorded = 0;              // its event covers the frees up to this ticket
        std::uint64_t done = 0;                  // the host has waited for the frees up to this ticket
        std::uint64_t host_waits_for = 0;        // the ticket that begin_wait() noted
        std::uint64_t* waited_tickets = nullptr; // by key: this stream is ordered after the frees up to it
        key_type waited_capacity = 0;            // the size of waited_tickets
        key_type next = 0;                       // in the chain of its hash; 0: the last
        stream_type handle{};
        event_type event{};
        device_id device{};
        bool has_event = false;
        bool gone = false;
        bool recordable = false; // the last result of check_recordable()
        bool per_thread = false; // only its own thread can record on it
    };

    explicit stream_registry(const Api& api) noexcept : api_(api) {
        if (!entries_.reserve(memory_, stream_tag::first)) return;
        for (; n_ != stream_tag::first; ++n_) entries_[n_] = {};
    }
    stream_registry(const stream_registry&) = delete;
    stream_registry& operator=(const stream_registry&) = delete;
    ~stream_registry() {
        for (key_type k = stream_tag::first; k < n_; ++k) {
            if (entries_[k].waited_tickets != nullptr) memory_.resize(entries_[k].waited_tickets, 0, 0);
            if (entries_[k].has_event) (void)api_.destroy_event(entries_[k].event);
        }
        entries_.free(memory_);
        heads_.free(memory_);
    }

    Api& api() noexcept { return api_; }
    key_type keys() const noexcept { return n_; }
    const entry& operator[](key_type k) const noexcept { return entries_[k]; }
    std::uint64_t events() const noexcept { return events_; }
    std::uint64_t waits() const noexcept { return waits_; }

    // The stream's key; none if it has no key yet.
    key_type find(std::uint64_t id) noexcept {
        if (ALLOT_LIKELY(last_ < n_ && entries_[last_].id == id && last_ >= stream_tag::first)) return last_;
        if (heads_.capacity() == 0) return none;
        key_type k = heads_[bucket(id)];
        while (k != 0 && entries_[k].id != id) k = entries_[k].next;
        if (k == 0) return none;
        return last_ = k;
    }
    // A key for a new stream. reusable(key): no run has this key. None: no host memory or no key is left.
    template <class Reusable> key_type open(std::uint64_t id, stream_type handle, Reusable reusable) noexcept {
        key_type k = none;
        for (key_type i = stream_tag::first; i < n_ && k == none; ++i)
            if (entries_[i].gone && i != pinned_ && reusable(i)) k = i;
        if (k != none) {
            unlink(k);
        } else {
            if (n_ < stream_tag::first || n_ == stream_tag::most || !entries_.reserve(memory_, std::size_t{n_} + 1) ||
                !reserve_chains(n_))
                return none;
            k = n_++;
            entries_[k] = {};
        }
        entry& e = entries_[k];
        const device_id device = api_.device_of(handle).value_or({});
        if (e.has_event && e.device != device) {
            (void)api_.destroy_event(e.event);
            e.has_event = false;
        }
        if (e.waited_tickets != nullptr) // those were waits of the stream that had the key before
            for (key_type i = 0; i != e.waited_capacity; ++i) e.waited_tickets[i] = 0;
        e.done = e.recorded = e.freed; // no run has an earlier ticket
        e.id = id;
        e.handle = handle;
        e.device = device;
        e.per_thread = is_per_thread(id, handle);
        e.gone = false;
        link(k);
        return last_ = k;
    }
    // The stream is used through this handle now, so it is not destroyed.
    void update_handle(key_type k, stream_type handle) noexcept {
        entries_[k].handle = handle;
        entries_[k].gone = false;
    }

    // Counts a free on this stream and returns its tag.
    stream_tag tag_of_free(key_type k) noexcept {
        ++frees_;
        return next_tag(k);
    }
    void count_free() noexcept { ++frees_; }
    // The tag of runs that become this stream's: as if it had freed them now.
    stream_tag next_tag(key_type k) noexcept { return stream_tag::of(k, ++entries_[k].freed); }
    // The number of frees of all streams so far.
    std::uint64_t frees() const noexcept { return frees_; }
    // On a per-thread stream, records an event every frees_per_event frees, since other threads cannot. Call on its
    // thread.
    void record_periodically(key_type k) noexcept {
        const entry& e = entries_[k];
        if (ALLOT_UNLIKELY(e.per_thread) && e.freed - e.recorded >= frees_per_event) (void)record(k);
    }
    // Before the stream is destroyed: records an event behind its frees. False: only a wait for the device covers them.
    bool leave(key_type k) noexcept {
        const bool recorded = entries_[k].recorded == entries_[k].freed || record(k);
        entries_[k].gone = true;
        return recorded;
    }

    // What T must do before it may use memory that S freed, up to this ticket: 0 nothing, 1 wait, 2 record and wait.
    int ordering_cost(key_type t, key_type s, std::uint64_t ticket) const noexcept {
        const entry& e = entries_[s];
        if (ticket <= e.done || ticket <= waited_ticket(t, s)) return 0;
        return ticket <= e.recorded ? 1 : 2;
    }
    int ordering_cost(key_type t, key_type s) const noexcept { return ordering_cost(t, s, entries_[s].freed); }
    // Whether T is ordered after that free already.
    bool is_after(key_type t, stream_tag run) const noexcept {
        const key_type s = run.key();
        if (s < stream_tag::first) return s != stream_tag::held;
        return s == t || run.ticket() <= entries_[s].done || run.ticket() <= waited_ticket(t, s);
    }
    // Orders T's later work after that free. False: impossible; nothing has changed, except that an event may be
    // recorded.
    bool order_after(key_type t, stream_type handle, stream_tag run) noexcept {
        if (is_after(t, run)) return true;
        const key_type s = run.key();
        if (s == stream_tag::held || (entries_[s].recorded < run.ticket() && !record(s))) return false;
        if (!api_.wait(handle, entries_[s].event)) return false;
        ++waits_;
        set_waited_ticket(t, s, entries_[s].recorded);
        return true;
    }
    // Whether an event can be recorded on S now; can_come_after() uses the result.
    bool check_recordable(key_type s) noexcept {
        entry& e = entries_[s];
        e.recordable = false;
        if (e.gone || !is_same(e)) return false;
        const auto captured = api_.capturing(e.handle);
        if (!captured || *captured != device::capture_state::none) return false;
        return e.recordable = true;
    }
    // Whether order_after() can succeed, as far as check_recordable() has shown.
    bool can_come_after(key_type t, stream_tag run) const noexcept {
        if (is_after(t, run)) return true;
        const entry& e = entries_[run.key()];
        return run.key() != stream_tag::held && (run.ticket() <= e.recorded || e.recordable);
    }
    // Records an event behind all frees of S so far.
    bool record(key_type s) noexcept {
        entry& e = entries_[s];
        if (!check_recordable(s)) return false;
        if (!e.has_event) {
            const auto made = api_.create_event(e.device);
            if (!made) return false;
            e.event = *made;
            e.has_event = true;
        }
        if (!api_.record(e.event, e.handle)) return false;
        e.recorded = e.freed;
        ++events_;
        return true;
    }
    // --- waits of the host: begin_wait(), wait for the device or the event without a lock, end_wait() --------------
    // The key whose event the host waits for is not reused while it is pinned; 0: none.
    void pin(key_type s) noexcept { pinned_ = s; }
    void begin_wait(key_type s) noexcept { entries_[s].host_waits_for = entries_[s].freed; }
    void end_wait(key_type s) noexcept { mark_done(s, entries_[s].host_waits_for); }
    void mark_done(key_type s, std::uint64_t ticket) noexcept {
        if (entries_[s].done < ticket) entries_[s].done = ticket;
    }
    // Updates `done` without waiting or recording: S itself if it has done all its work, else its event. Costs at most
    // four calls. Requires a relaxed capture mode, since captures of other threads can forbid a query.
    void learn(key_type s) noexcept {
        entry& e = entries_[s];
        if (e.done == e.freed) return;
        if (check_recordable(s))
            if (const auto idle = api_.query(e.handle); idle && *idle) return mark_done(s, e.freed);
        if (e.done < e.recorded) query_event(s);
    }
    // The same; where work that S has still to do hides whether its frees are done, an event shows it to the next poll.
    void poll(key_type s) noexcept {
        learn(s);
        const entry& e = entries_[s];
        if (e.done == e.recorded && e.recorded < e.freed && record(s)) query_event(s);
    }
    bool any_captured() noexcept {
        for (key_type k = stream_tag::first; k < n_; ++k)
            if (!entries_[k].gone && is_same(entries_[k]))
                if (const auto c = api_.capturing(entries_[k].handle); !c || *c != device::capture_state::none)
                    return true;
        return false;
    }
    std::size_t bytes() const noexcept {
        std::size_t n = entries_.bytes() + heads_.bytes();
        for (key_type k = stream_tag::first; k < n_; ++k) n += entries_[k].waited_capacity * sizeof(std::uint64_t);
        return n;
    }

  private:
    void query_event(key_type s) noexcept {
        if (const auto done = api_.query(entries_[s].event); done && *done) mark_done(s, entries_[s].recorded);
    }
    // Whether the handle still has this stream's id, on this thread.
    bool is_same(entry& e) noexcept {
        const auto now = api_.stream_id(e.handle);
        if (now && *now == e.id) return true;
        if (!device::detail::is_default_stream<Api>(e.handle)) e.gone = true; // destroyed without leave()
        return false;
    }
    // Under per-thread default streams, a null handle is the per-thread stream.
    bool is_per_thread(std::uint64_t id, stream_type handle) noexcept {
        if (handle == Api::per_thread_stream()) return true;
        if (handle != stream_type{}) return false;
        const auto own = api_.stream_id(Api::per_thread_stream());
        return own && *own == id;
    }
    std::uint64_t waited_ticket(key_type t, key_type s) const noexcept {
        return s < entries_[t].waited_capacity ? entries_[t].waited_tickets[s] : 0;
    }
    // Without host memory nothing is noted, and T waits again next time.
    void set_waited_ticket(key_type t, key_type s, std::uint64_t ticket) noexcept {
        entry& e = entries_[t];
        if (s >= e.waited_capacity) {
            const key_type to = n_ + n_ / 2 + 8;
            void* const p =
                memory_.resize(e.waited_tickets, e.waited_capacity * sizeof(std::uint64_t), to * sizeof(std::uint64_t));
            if (p == nullptr) return;
            e.waited_tickets = static_cast<std::uint64_t*>(p);
            for (; e.waited_capacity != to; ++e.waited_capacity) e.waited_tickets[e.waited_capacity] = 0;
        }
        if (e.waited_tickets[s] < ticket) e.waited_tickets[s] = ticket;
    }

    std::size_t bucket(std::uint64_t id) const noexcept {
        return multiplicative_hash(id, 32) & (heads_.capacity() - 1);
    }
    void link(key_type k) noexcept {
        key_type& head = heads_[bucket(entries_[k].id)];
        entries_[k].next = head;
        head = k;
    }
    void unlink(key_type k) noexcept {
        key_type* at = &heads_[bucket(entries_[k].id)];
        while (*at != k) at = &entries_[*at].next;
        *at = entries_[k].next;
    }
    // Grows the hash table for this many keys. False: no host memory.
    bool reserve_chains(std::size_t keys) noexcept {
        if (keys < heads_.capacity()) return true;
        if (!heads_.resize(memory_, heads_.capacity() == 0 ? 64 : 2 * heads_.capacity())) return false;
        for (std::size_t i = 0; i != heads_.capacity(); ++i) heads_[i] = 0;
        for (key_type k = stream_tag::first; k < n_; ++k) link(k);
        return true;
    }

    Api api_;
    host_metadata memory_;
    run_array<entry, host_metadata> entries_; // by key; those below stream_tag::first are unused
    run_array<key_type, host_metadata> heads_;
    key_type n_ = 0;
    key_type last_ = 0;
    key_type pinned_ = 0;
    std::uint64_t frees_ = 0;
    std::uint64_t events_ = 0;
    std::uint64_t waits_ = 0;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
