// rows_in_flight: releases links once the kernels that use the rows are done, and copies lists of rows for kernels.
//
//     allot::rows_in_flight in_flight{rows, api};
//     const auto view = in_flight.upload(stream, {list, n});      // a rows_view: the addresses, copied on the stream
//     kernel<<<grid, threads, 0, stream>>>(*view);
//     in_flight.release_list_after(stream, *view);                // the list
//     in_flight.release_after(stream, {list, n});                 // rows that the host no longer needs
//     in_flight.poll();                                           // now and then: releases what is done
//
// Invariant: each link is released once, after an event recorded behind its release_after, or after the device was
// waited for. Links wait in batches of one stream; a batch's event is recorded when it is full, or by poll().
// Cost: an event per 60 rows, and 560 bytes of host memory per batch, used again. Threads: one at a time; others may
// use the manager. Source: events behind deferred frees, as in RMM's and PyTorch's stream-ordered pools.
#pragma once

#include <allot/config.hpp>
#include <allot/device/api.hpp>
#include <allot/row/device/row_copier.hpp>
#include <allot/row/device/rows_view.hpp>
#include <allot/row/moving/compaction.hpp>
#include <allot/row/row_access.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <utility>

namespace allot::inline ALLOT_ABI {

/// Holds links for kernels in flight. `Rows` is a row manager over the memory of `device`.
/// Release rows that kernels use only through it: a released row's slot is free for the next row at once.
/// Requires: the manager outlives it. Call poll() before a stream is destroyed; otherwise its links wait for drain().
template <class Rows, device::api Api> class rows_in_flight {
  public:
    using stream_type = typename Api::stream_type;

    explicit rows_in_flight(Rows& rows, const Api& api, device_id device = {}) noexcept
        : rows_(rows), api_(api), device_(device) {}
    rows_in_flight(const rows_in_flight&) = delete;
    rows_in_flight& operator=(const rows_in_flight&) = delete;
    /// Waits for the device if links are pending, then releases them, also on a lost device: it runs no kernels.
    ~rows_in_flight() {
        if (pending_ != 0) static_cast<void>(api_.synchronize(device_));
        release_all();
        while (spare_ != nullptr) {
            batch* const b = std::exchange(spare_, spare_->next);
            if (b->has_event) static_cast<void>(api_.destroy_event(b->done));
            delete b;
        }
    }

    /// Takes over one link of each row, and releases it once the work that is now on the stream is done. Never waits.
    /// Returns: false if there is no host memory, or `stream` is not a stream; the caller keeps the links.
    bool release_after(stream_type stream, std::span<const void* const> rows) noexcept {
        const auto id = api_.stream_id(stream);
        if (!id || !reserve(stream, *id, rows.size())) return false;
        for (const void* const row : rows) add(*id, row);
        return true;
    }
    bool release_after(stream_type stream, const void* row) noexcept { return release_after(stream, {&row, 1}); }
    /// The same for the list of a view from upload().
    bool release_list_after(stream_type stream, const rows_view& view) noexcept {
        return view.list == nullptr || release_after(stream, view.list);
    }

    /// Copies a list of these rows to the device, for kernels launched on the stream from now on. Adds no links.
    /// Returns: the view, or an error if the list cannot be allocated or copied. The list is a row of the manager;
    /// release it by release_list_after().
    device::result<rows_view> upload(stream_type stream, std::span<const void* const> rows) noexcept {
        if (rows.empty()) return rows_view{};
        void* const list = rows_.try_allocate(rows.size_bytes());
        if (list == nullptr)
            return device::error{"rows_in_flight::upload", device::detail::native_code(device::failure::out_of_memory),
                                 device::failure::out_of_memory};
        if (const auto copied = api_.copy_async(list, rows.data(), rows.size_bytes(), stream); !copied) {
            rows_.release(list);
            return copied.error();
        }
        return rows_view{static_cast<const void* const*>(list), rows.size()};
    }

    /// Compacts rows of the span, as row_manager::compact() does for rows in the host's memory: copies them on the
    /// stream, in batches. Their old slots are free, and pages empty, once poll() finds the copies done.
    /// Requires: only kernels launched on the stream, or behind its work, use the rows from now on, by the new addresses.
    /// Call it again only when pending() is 0: old rows that still wait count as rows of others.
    /// Returns: what was done. Rows stay where there is no host memory, or the device refuses a copy.
    compaction compact(stream_type stream, std::span<void*> rows, const compaction_budget& budget = {}) noexcept {
        poll(); // old rows whose copies are done hold no page
        const auto id = api_.stream_id(stream);
        const auto copy = [&](void* const* to, void* const* from, const std::size_t* bytes, std::size_t n) noexcept {
            const bool can_wait = id && reserve(stream, *id, n);
            const bool copied = can_wait && copy_all(to, from, bytes, n, stream);
            for (std::size_t i = 0; i != n; ++i) {
                void* const unused = copied ? from[i] : to[i];
                if (can_wait) add(*id, unused); // some copies may be on their way
                else rows_.release(unused);
            }
            return copied;
        };
        return detail::row_access::compact<detail::row_copier>(
            rows_, [rows](auto call) noexcept { call(rows); }, budget,
            [&](detail::row_copier& by, std::span<void*> some) noexcept { by.copy(some, copy); });
    }

    /// Releases the links whose events have happened. Returns: their number. Never waits.
    std::size_t poll() noexcept {
        for (batch** at = &open_; *at != nullptr;)
            if (record(**at)) move(at, recorded_);
            else at = &(*at)->next;
        std::size_t dropped = 0;
        for (batch** at = &recorded_; *at != nullptr;) {
            const auto done = api_.query((*at)->done);
            if (!done || !*done) {
                at = &(*at)->next;
                continue;
            }
            dropped += release(**at);
            move(at, spare_);
        }
        return dropped;
    }
    /// Waits for the device and releases all links; none if waiting fails, which it returns as an error.
    device::result<> drain() noexcept {
        const auto waited = api_.synchronize(device_);
        if (waited) release_all();
        return waited;
    }
    /// Returns: the number of links that are not released yet.
    std::size_t pending() const noexcept { return pending_; }

  private:
    static constexpr std::size_t max_rows = 60;
    struct batch {
        batch* next = nullptr;
        stream_type stream{};
        std::uint64_t id = 0; // of the stream: a later stream may have the same handle
        typename Api::event_type done{};
        bool has_event = false;
        std::size_t count = 0;
        const void* rows[max_rows];
    };

    // By one call, where the api has one for many copies.
    device::result<> copy_all(void* const* to, void* const* from, const std::size_t* bytes, std::size_t n,
                              stream_type stream) noexcept {
        if constexpr (requires { api_.copy_batch_async(to, from, bytes, n, stream); }) {
            return api_.copy_batch_async(to, from, bytes, n, stream);
        } else {
            for (std::size_t i = 0; i != n; ++i)
                if (auto copied = api_.copy_async(to[i], from[i], bytes[i], stream); !copied) return copied;
            return {};
        }
    }
    static void move(batch** from, batch*& to) noexcept {
        batch* const b = *from;
        *from = b->next;
        b->next = to;
        to = b;
    }
    // Opens batches of the stream for n more rows. False: no host memory, and none is opened.
    bool reserve(stream_type stream, std::uint64_t id, std::size_t n) noexcept {
        std::size_t room = 0, spare = 0;
        for (const batch* b = open_; b != nullptr; b = b->next)
            if (b->id == id) room += max_rows - b->count;
        const std::size_t more = n > room ? (n - room + max_rows - 1) / max_rows : 0;
        for (const batch* b = spare_; b != nullptr && spare != more; b = b->next) ++spare;
        for (; spare != more; ++spare) {
            batch* const made = new (std::nothrow) batch;
            if (made == nullptr) return false; // batches made so far stay spare
            made->next = spare_;
            spare_ = made;
        }
        for (std::size_t i = 0; i != more; ++i) {
            move(&spare_, open_);
            open_->stream = stream;
            open_->id = id;
        }
        return true;
    }
    void add(std::uint64_t id, const void* row) noexcept {
        batch** at = &open_;
        while ((*at)->id != id || (*at)->count == max_rows) at = &(*at)->next;
        batch& b = **at;
        b.rows[b.count++] = row;
        ++pending_;
        if (b.count == max_rows && record(b)) move(at, recorded_);
    }
    bool record(batch& b) noexcept {
        if (b.count == 0) return false;
        const auto id = api_.stream_id(b.stream);
        if (!id || *id != b.id) return false;
        if (!b.has_event) {
            const auto made = api_.create_event(device_);
            if (!made) return false;
            b.done = *made;
            b.has_event = true;
        }
        return static_cast<bool>(api_.record(b.done, b.stream));
    }
    std::size_t release(batch& b) noexcept {
        for (std::size_t i = 0; i != b.count; ++i) rows_.release(b.rows[i]);
        pending_ -= b.count;
        return std::exchange(b.count, 0);
    }
    void release_all() noexcept {
        for (batch** list : {&open_, &recorded_})
            while (*list != nullptr) {
                release(**list);
                move(list, spare_);
            }
    }

    Rows& rows_;
    const Api api_;
    const device_id device_;
    batch* open_ = nullptr; // without a recorded event
    batch* recorded_ = nullptr;
    batch* spare_ = nullptr; // empty
    std::size_t pending_ = 0;
};

} // namespace allot::inline ALLOT_ABI
