// rows_in_flight: links that kernels on their way hold, dropped once the kernels are done; and lists of rows for
// kernels.
//
//     allot::rows_in_flight lent{rows, api};
//     const auto view = lent.upload(stream, {list, n});     // rows_view: the addresses, copied to the device on the
//     stream kernel<<<grid, block, 0, stream>>>(*view); lent.release_list_after(stream, *view);               // the
//     list; and rows that nobody else needs: lent.release_after(stream, {list, n});
//     ...
//     lent.poll();                                          // now and then: releases what is done
//
// A row that a kernel reads must not be released before the kernel is done: its slot is free for the next row at once.
// So a link goes where it is dropped behind the stream's work so far: into batches, each with one event, recorded when
// the batch is full or looked at. Nothing here waits but drain() and the destructor.
// Invariant: a row's link is dropped once, after an event that was recorded behind its release_after, or after its
// device was waited for. A stream that goes is polled before: no event can be recorded on it later, and its rows wait
// for drain().
// Cost: an event for 60 rows; 560 bytes of host memory a batch, used again. Threads: one at a time; others may use the
// manager.
// Source: events behind deferred frees, as in RMM's and PyTorch's stream-ordered pools.
#pragma once

#include <allot/config.hpp>
#include <allot/device/api.hpp>
#include <allot/row/rows_view.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <utility>

namespace allot::inline ALLOT_ABI {

/// `Rows` is a row manager over the device's memory; it outlives this.
template <class Rows, device::api Api> class rows_in_flight {
  public:
    using stream_type = typename Api::stream_type;

    explicit rows_in_flight(Rows& rows, const Api& api, device_id device = {}) noexcept
        : rows_(rows), api_(api), device_(device) {}
    rows_in_flight(const rows_in_flight&) = delete;
    rows_in_flight& operator=(const rows_in_flight&) = delete;
    // Waits for the device where rows are in flight. One that is lost has no kernels: its rows are released, too.
    ~rows_in_flight() {
        if (pending_ != 0) static_cast<void>(api_.synchronize(device_));
        release_all();
        while (spare_ != nullptr) {
            batch* const b = std::exchange(spare_, spare_->next);
            if (b->has_event) static_cast<void>(api_.destroy_event(b->done));
            delete b;
        }
    }

    /// Drops a link of the caller's to each row once the work that the stream has by now is done. False without host
    /// memory for it, or where the stream is none: then the links are the caller's still.
    bool release_after(stream_type stream, std::span<const void* const> rows) noexcept {
        const auto id = api_.stream_id(stream);
        if (!id || !reserve(stream, *id, rows.size())) return false;
        for (const void* const row : rows) add(*id, row);
        return true;
    }
    bool release_after(stream_type stream, const void* row) noexcept { return release_after(stream, {&row, 1}); }
    bool release_list_after(stream_type stream, const rows_view& view) noexcept {
        return view.list == nullptr || release_after(stream, view.list);
    }

    /// A list of these rows for kernels that are launched on the stream from now on. It lies in a row of the manager,
    /// which release_list_after(stream, view) gives back; it does not link the rows.
    device::result<rows_view> upload(stream_type stream, std::span<const void* const> rows) noexcept {
        if (rows.empty()) return rows_view{};
        void* const list = rows_.try_allocate(rows.size_bytes());
        if (list == nullptr)
            return device::error{"rows_in_flight::upload", device::native_code(device::failure::out_of_memory),
                                 device::failure::out_of_memory};
        if (const auto copied = api_.copy_async(list, rows.data(), rows.size_bytes(), stream); !copied) {
            rows_.release(list);
            return copied.error();
        }
        return rows_view{static_cast<const void* const*>(list), rows.size()};
    }

    /// Drops the links whose streams have come so far; returns how many. Never waits.
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
    /// Waits for the device, and drops all links; where waiting fails, none.
    device::result<> drain() noexcept {
        const auto waited = api_.synchronize(device_);
        if (waited) release_all();
        return waited;
    }
    /// Links that wait to be dropped.
    std::size_t pending() const noexcept { return pending_; }

  private:
    static constexpr std::size_t max_rows = 60;
    struct batch {
        batch* next = nullptr;
        stream_type stream{};
        std::uint64_t id = 0; // of the stream: its handle may be another one's later
        typename Api::event_type done{};
        bool has_event = false;
        std::size_t count = 0;
        const void* rows[max_rows];
    };

    static void move(batch** from, batch*& to) noexcept {
        batch* const b = *from;
        *from = b->next;
        b->next = to;
        to = b;
    }
    // Room for n rows more in open batches of the stream, or nothing.
    bool reserve(stream_type stream, std::uint64_t id, std::size_t n) noexcept {
        std::size_t room = 0, spare = 0;
        for (const batch* b = open_; b != nullptr; b = b->next)
            if (b->id == id) room += max_rows - b->count;
        const std::size_t more = n > room ? (n - room + max_rows - 1) / max_rows : 0;
        for (const batch* b = spare_; b != nullptr && spare != more; b = b->next) ++spare;
        for (; spare != more; ++spare) {
            batch* const made = new (std::nothrow) batch;
            if (made == nullptr) return false; // the others stay for later
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
    batch* open_ = nullptr; // to be recorded
    batch* recorded_ = nullptr;
    batch* spare_ = nullptr; // empty
    std::size_t pending_ = 0;
};

} // namespace allot::inline ALLOT_ABI
