// The header of a packet, in host memory: how many rows and handles use the packet, and the buffer that it is.
//
//     page map of the arena:   | header | header | ...            the same one for each page of a packet
//     header:                  | ops ... | links of rows, of handles | bytes | buffer |
//
// A row in a packet is an address in it: link() and release() of the row count the links of the packet. Bytes that were
// received are never read as a header.
// Rows and handles are counted apart, so a release too many of a row takes no link of a handle.
// Invariant: while a packet has links, the page map has its header for each of its pages. The packet has one view of its
// block, so slices are views like any other.
// Cost: 256 bytes of the process' heap and 104 for the buffer's record; one atomic addition to link, one subtraction
// to release.
// Threads: any that holds a link. Source: the data buffers of HPCC roxiemem, 2009, whose headers are in the pages.
#pragma once

#include <allot/buffer/buffer.hpp>
#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/error.hpp>
#include <allot/core/intrusive_list.hpp>
#include <allot/heap/page_header.hpp>
#include <allot/page/arena_table.hpp>
#include <allot/page/page_arena.hpp>
#include <allot/row/row_ops.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/pause.hpp>
#include <allot/sync/spin_lock.hpp>
#include <allot/sys/poison.hpp>
#include <allot/sys/thread.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

class packet_header;

// The packets of an arena that have links.
struct packet_list;

class alignas(2 * out_of_band_mark) packet_header : public page_header { // its address has not the mark
    using spin = basic_spin_lock<lock_rank::block>;

  public:
    // One link, for the caller's handle. Null: the host has no memory; the buffer is as it was.
    static packet_header* make(buffer& b, packet_list& in) noexcept;
    packet_header(const packet_header&) = delete;
    packet_header& operator=(const packet_header&) = delete;

    void link_row() noexcept {
        const std::uint64_t now = links_.fetch_add(one_row, std::memory_order_relaxed) + one_row;
        if (ALLOT_UNLIKELY(static_cast<std::int64_t>(now) < 0))
            report_too_many(); // 2^31 rows: others may link meanwhile
    }
    void link_handle() noexcept {
        if (ALLOT_UNLIKELY(handles_in(links_.fetch_add(one_handle, std::memory_order_relaxed)) >= most_handles))
            report_too_many();
    }
    void release_row(const std::byte* row) noexcept {
        if (const std::uint64_t was = links_.fetch_sub(one_row, std::memory_order_acq_rel); was <= one_row)
            was == one_row ? end() : undo_release_of(row);
    }
    void release_handle() noexcept {
        if (links_.fetch_sub(one_handle, std::memory_order_acq_rel) == one_handle) end();
    }
    // Of rows and handles.
    std::size_t links() const noexcept {
        const std::uint64_t now = links_.load(std::memory_order_relaxed);
        return std::size_t{rows_in(now)} + handles_in(now);
    }

    std::byte* begin() const noexcept { return begin_; }
    std::size_t room() const noexcept { return room_; }
    // That were received.
    std::size_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
    void set_bytes(std::size_t n) noexcept {
        bytes_.store(n, std::memory_order_relaxed);
        sys::expose(begin_, n, sys::unit_ends::own);
        hide_behind(n);
    }
    // All of it may be written, until the next set_bytes().
    void open() const noexcept { sys::expose(begin_, room_, sys::unit_ends::own); }

    // A view, for the packet's account.
    buffer slice(std::size_t offset, std::size_t bytes) const noexcept {
        const lock_guard hold(lock_);
        return whole_.slice(offset, bytes);
    }
    account* holder() const noexcept {
        const lock_guard hold(lock_);
        return whole_.holder();
    }
    // Another account is charged; the status as of a buffer's transfer. Threads go one after the other: else one would
    // move what is charged elsewhere already.
    charge_status transfer(account& to, bool forced) noexcept {
        const std::uintptr_t me = sys::thread_token();
        for (std::uintptr_t none = 0; !mover_.compare_exchange_weak(none, me, std::memory_order_acquire); none = 0) {
            if (none == me) return to.status(charge_outcome::misused, room_, 0, 0); // inside a call about it
            yield();
        }
        const charge_status s = transfer_alone(to, forced);
        mover_.store(0, std::memory_order_release);
        return s;
    }

    list_hook<packet_header> place;

  private:
    charge_status transfer_alone(account& to, bool forced) noexcept {
        const buffer mine = slice(0, room_);
        transfer_result theirs = forced ? mine.transfer(to) : mine.try_transfer(to);
        if (theirs.view) {
            const lock_guard hold(lock_);
            whole_.swap(theirs.view); // the other view ends without the lock
        }
        return theirs.status;
    }
    static constexpr std::uint64_t one_handle = 1, one_row = std::uint64_t{1} << 32;
    static constexpr std::uint32_t most_handles = UINT32_MAX - (1U << 16); // others may link meanwhile
    static constexpr std::uint32_t rows_in(std::uint64_t links) noexcept {
        return static_cast<std::uint32_t>(links >> 32);
    }
    static constexpr std::uint32_t handles_in(std::uint64_t links) noexcept {
        return static_cast<std::uint32_t>(links);
    }
    ALLOT_COLD void report_too_many() const noexcept {
        report_misuse({.kind = misuse::too_many_views, .heap = "packet", .address = begin_});
    }
    // No row had a link: it would end the packet of a handle.
    ALLOT_COLD void undo_release_of(const std::byte* row) noexcept {
        if (links_.fetch_add(one_row, std::memory_order_acq_rel) + one_row == 0) end(); // its handles ended meanwhile
        report_misuse({.kind = misuse::double_release, .heap = "packet", .address = row});
    }

    // To the end of its pages, of which it has all.
    void hide_behind(std::size_t n) const noexcept;
    packet_header(buffer b, packet_list& in) noexcept;
    ~packet_header() = default;
    void end() noexcept;

    std::atomic<std::uint64_t> links_{one_handle};
    mutable spin lock_; // of whole_
    std::byte* const begin_;
    const std::size_t room_;
    std::atomic<std::size_t> bytes_{0};
    std::atomic<std::uintptr_t> mover_{0}; // the thread that transfers it
    buffer whole_;
    packet_list& all_;
};

struct packet_list {
    explicit packet_list(page_arena& of) noexcept : arena(of) {}

    void add(packet_header& h) noexcept {
        const lock_guard hold(lock);
        all.add(h);
    }
    void remove(packet_header& h) noexcept {
        const lock_guard hold(lock);
        all.remove(h);
    }
    // With the lock.
    template <class Visit> void visit(Visit visit) const noexcept {
        const lock_guard hold(lock);
        for (const packet_header* h = all.first(); h != nullptr; h = all.after(*h)) visit(*h);
    }

    page_arena& arena;
    mutable basic_spin_lock<lock_rank::heap> lock; // those of its packets are taken in it
    intrusive_list<packet_header, &packet_header::place> all;
};

// The calls of a row in a packet.
class packet_rows {
    static packet_header& of(page_header& h) noexcept { return static_cast<packet_header&>(h); }
    static void refuse(page_header&, std::byte* row) noexcept {
        report_misuse({.kind = misuse::received_row, .heap = "packet", .address = row});
    }

  public:
    static constexpr row_ops ops{
        [](page_header& h, std::byte*) noexcept { of(h).link_row(); },
        [](page_header& h, std::byte* row) noexcept { of(h).release_row(row); },
        [](page_header&, std::byte*) noexcept { return true; }, // others may be in its packet
        [](page_header&, std::byte*) noexcept { return std::size_t{0}; },
        &refuse, // it is no object of this process
        &refuse,
        [](page_header&, std::byte*) noexcept { return true; },
        [](page_header&, std::byte*, const void*) noexcept { return row_moves::pinned; },
        [](page_header&, std::byte*, const void*) noexcept -> heap_base* { return nullptr; },
        nullptr,
        [](page_header&, std::byte*, const void*) noexcept { return row_state{.is_of_other = true}; },
        nullptr,
    };
};

inline packet_header::packet_header(buffer b, packet_list& in) noexcept
    : page_header{.ops = &packet_rows::ops, .owner = &in}, begin_(b.data()), room_(b.size()), whole_(std::move(b)),
      all_(in) {}

inline packet_header* packet_header::make(buffer& b, packet_list& in) noexcept {
    void* const memory = ::operator new(sizeof(packet_header), std::align_val_t{alignof(packet_header)}, std::nothrow);
    if (memory == nullptr) return nullptr;
    auto* const h = ::new (memory) packet_header(std::move(b), in);
    for (std::size_t at = 0; at < h->room_; at += in.arena.page_bytes())
        in.arena.set_owner(h->begin_ + at, word_of_header(static_cast<page_header*>(h)));
    h->hide_behind(h->room_);
    in.add(*h);
    return h;
}
inline void packet_header::hide_behind(std::size_t n) const noexcept {
    sys::poison(begin_ + n, align_up(room_, all_.arena.page_bytes()) - n, sys::unit_ends::own);
}
ALLOT_OUTLINE void packet_header::end() noexcept {
    all_.remove(*this);
    for (std::size_t at = 0; at < room_; at += all_.arena.page_bytes()) all_.arena.set_owner(begin_ + at, nullptr);
    delete this; // and its view: the pages return when the slices have ended
}

// The packet of an address; null: it is in none.
inline packet_header* packet_at(const void* address) noexcept {
    const page_arena* const arena = arena_at(address);
    if (arena == nullptr || !arena->headers_out_of_band()) return nullptr;
    const void* const word = arena->owner_of(address);
    if (!is_out_of_band(word)) return nullptr;
    auto* const h = static_cast<page_header*>(const_cast<void*>(header_of_word(word)));
    return h->ops == &packet_rows::ops ? static_cast<packet_header*>(h) : nullptr;
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
