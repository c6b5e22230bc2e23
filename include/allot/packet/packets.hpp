// Packets: memory for what other machines send, whose rows are used where they were received.
//
//     allot::account engine{name{"engine"}, limit{1_GiB}}, scan{engine, name{"scan"}};
//     allot::packets in{engine, {.bytes = 64_KiB}};
//     while (allot::packet p = in.receive(scan, [&](std::span<std::byte> room) {
//                return ::recv(socket, room.data(), room.size(), 0);
//            }))
//         if (const order* o = p.row<order>(0)) orders.push_back(row_ptr<const order>::linked(o));
//
//   packet   a handle, which has one link of it; row() checks an offset and a size against what was received
//   rows     are addresses: allot::link() and release(), row_ptr, and the managers of sets with count::links_anywhere
//            count them for their packet, which returns with the last of them
//   take()   copies a row out, where it is a small part of the packet that it pins
//
// Invariant: an account is charged for the whole packet while one row or slice of it is left; the pages that no packet
// uses are charged to an account of the pool. Cost: a page request and 360 bytes of the heap per packet; a row has
// none.
// Threads: any. Source: the data buffers of HPCC roxiemem, 2009.
#pragma once

#include <allot/account/account.hpp>
#include <allot/buffer/buffer.hpp>
#include <allot/buffer/buffer_memory.hpp>
#include <allot/chunk/chunk_arena.hpp>
#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/error.hpp>
#include <allot/core/min_max.hpp>
#include <allot/core/row_type.hpp>
#include <allot/core/text.hpp>
#include <allot/core/top_n.hpp>
#include <allot/core/units.hpp>
#include <allot/core/values.hpp>
#include <allot/fit/best.hpp>
#include <allot/ledger/pool.hpp>
#include <allot/packet/packet_header.hpp>
#include <allot/page/mapped.hpp>
#include <allot/reclaim/chain.hpp>
#include <allot/row/row_ptr.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace allot::inline ALLOT_ABI {

/// A packet, or none. Copies are of the same one. Requires: its packets object outlives it and all rows of it.
class packet {
  public:
    packet() noexcept = default;
    packet(const packet& other) noexcept : of_(other.of_) {
        if (of_ != nullptr) of_->link_handle();
    }
    packet(packet&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
    packet& operator=(packet other) noexcept {
        std::swap(of_, other.of_);
        return *this;
    }
    ~packet() {
        if (of_ != nullptr) of_->release_handle();
    }
    explicit operator bool() const noexcept { return of_ != nullptr; }
    friend bool operator==(const packet& a, const packet& b) noexcept { return a.of_ == b.of_; }
    /// The packet that has this address, of a row of which the caller has a link; else none.
    static packet of(const void* row) noexcept {
        packet p;
        p.of_ = detail::packet_at(row);
        if (p.of_ != nullptr) p.of_->link_handle();
        return p;
    }

    /// The bytes that were received.
    std::span<const std::byte> bytes() const noexcept {
        return of_ != nullptr ? std::span<const std::byte>(of_->begin(), of_->bytes()) : std::span<const std::byte>{};
    }
    /// The bytes at an offset; null where not all of them were received, and at the end.
    const std::byte* at(std::size_t offset, std::size_t bytes) const noexcept {
        if (of_ == nullptr || offset >= of_->bytes() || bytes > of_->bytes() - offset)
            return nullptr; // at the end another packet may begin
        return of_->begin() + offset;
    }
    /// The row at an offset, without a link of its own; null where not all of it was received, or it is not aligned.
    template <class T>
        requires(std::is_trivially_copyable_v<T>)
    const T* row(std::size_t offset) const noexcept {
        const std::byte* const p = at(offset, sizeof(T));
        if (p == nullptr || (reinterpret_cast<std::uintptr_t>(p) & (alignof(T) - 1)) != 0) return nullptr;
        return reinterpret_cast<const T*>(p);
    }
    /// A number at any offset; none where not all of it was received.
    template <plain_number T> std::optional<T> get(std::size_t offset) const noexcept {
        const std::byte* const p = at(offset, sizeof(T));
        return p != nullptr ? std::optional<T>(detail::load_little<T>(p)) : std::nullopt;
    }
    /// A view of a part, as of a buffer, which keeps the memory without a link. Empty where not all of it was received.
    buffer slice(std::size_t offset, std::size_t bytes) const noexcept {
        return at(offset, bytes) != nullptr ? of_->slice(offset, bytes) : buffer{};
    }

    /// For what fills it without a call of receive(), as a ring of requests: all its bytes.
    /// Requires: no row of it is in use.
    std::span<std::byte> room() const noexcept {
        if (of_ == nullptr) return {};
        of_->open();
        return {of_->begin(), of_->room()};
    }
    /// Bytes that it has room for.
    std::size_t capacity() const noexcept { return of_ != nullptr ? of_->room() : 0; }
    /// So many were received. More than it has room for are misuse, and none. Call room() again before more is written.
    void set_bytes(std::size_t n) const noexcept {
        if (of_ == nullptr || n > of_->room()) return refuse(n);
        of_->set_bytes(n);
    }

    /// Links of it: rows, and handles.
    std::size_t links() const noexcept { return of_ != nullptr ? of_->links() : 0; }
    /// The account that receives it, or got it; null: none.
    account* holder() const noexcept { return of_ != nullptr ? of_->holder() : nullptr; }
    /// Another account of the tree is charged for it, even beyond limits; or, if it fits. The status as of a buffer's
    /// transfer.
    charge_status transfer(account& to) const noexcept { return of_ != nullptr ? of_->transfer(to, true) : none(); }
    [[nodiscard]] charge_status try_transfer(account& to) const noexcept {
        return of_ != nullptr ? of_->transfer(to, false) : none();
    }

  private:
    friend class packets;
    explicit packet(detail::packet_header* of) noexcept : of_(of) {}
    ALLOT_COLD void refuse(std::size_t bytes) const noexcept {
        char text[64];
        text_writer{text}.put("packet: ").number(bytes).put(" bytes of ").number(capacity());
        detail::report_misuse({.kind = misuse::out_of_bounds, .heap = text, .address = this->bytes().data()});
    }
    static charge_status none() noexcept { return {.outcome = charge_outcome::misused}; }

    detail::packet_header* of_ = nullptr;
};

namespace detail {

// As page::mapped, but nothing is read from the pages: they hold what others have sent.
struct packet_pages : page::mapped<> {
    static arena_range make(const range_request& request) noexcept {
        arena_range range = page::mapped<>::make(request);
        range.headers_out_of_band = true;
        return range;
    }
};
struct packet_memory : policies<packet_pages, fit::best, ledger::pool, spill::chain, oom::null> {};

// Whole pages of a chunk arena, for buffers.
class packet_source {
  public:
    static constexpr bool host_access = true;
    static constexpr const char* block_name = "packet";
    template <class... Values> explicit packet_source(Values&&... values) : blocks(values...) {}

    template <class... More> block try_allocate(std::size_t bytes, std::size_t, More... more) noexcept {
        return blocks.try_allocate(capacity_for(bytes), blocks.arena().page_bytes(), more...);
    }
    ALLOT_OUTLINE void deallocate(void* p) noexcept { blocks.deallocate(p); }
    std::size_t capacity_for(std::size_t bytes) const noexcept {
        constexpr std::size_t most = align_down(PTRDIFF_MAX, page::max_bytes); // more than any arena has, and refused
        return align_up(min(bytes, most), blocks.arena().page_bytes());
    }
    account* lender_to(const account& by) const noexcept {
        account* const pool = blocks.lender_to(by);
        ALLOT_ASSERT(pool != nullptr, "packets are for accounts of their own tree");
        return pool;
    }

    chunk_arena<packet_memory> blocks;
};

} // namespace detail

struct packet_options {
    std::size_t bytes = std::size_t{64} << 10; // that a packet has room for; it takes whole pages of 16 KiB
    std::size_t limit = SIZE_MAX;              // bytes of all packets
    const char* name = "packets";              // outlives the packets
};

/// What packets are there now.
struct packet_stats {
    std::size_t packets = 0; // that have links
    std::size_t links = 0;   // of them all
    std::size_t bytes = 0;   // that they have room for
    std::size_t received = 0;
};

/// The memory of packets.
class packets {
  public:
    /// Packets are for accounts of the tree of `engine`; the pages that none uses are charged to an account below it.
    /// Requires: the account outlives it. Throws: out_of_memory, as a chunk arena; of 0 bytes, too.
    explicit packets(account& engine, const packet_options& o = {})
        : each_(detail::max(o.bytes, std::size_t{1})),
          source_(engine, allot::limit{o.limit}, allot::name{o.name}, allot::chunk_bytes{page::min_bytes}) {
    } // so each block has pages of its own
    packets(const packets&) = delete;
    packets& operator=(const packets&) = delete;
    ALLOT_OUTLINE ~packets() {
        const packet_stats s = stats();
        if (s.packets == 0) return;
        char text[64];
        text_writer{text}.put("packets: ").number(s.packets).put(", with links: ").number(s.links);
        detail::report_misuse({.kind = misuse::living_handle, .heap = text, .arena = source_.blocks.name()});
    }

    /// A packet that fill(std::span<std::byte>) has written: it returns how many bytes, as recv() does. None: it has
    /// returned 0, or less.
    /// Throws: out_of_memory if the account refuses, std::length_error if fill() says more than there is room for, and
    /// what it throws; the packet has ended then.
    template <class Fill>
        requires(std::integral<std::invoke_result_t<Fill&, std::span<std::byte>>>)
    packet receive(account& by, Fill fill) {
        packet p = allocate(by);
        const auto n = fill(p.room());
        if (n <= 0) return {};
        if (static_cast<std::size_t>(n) > p.capacity()) return raise_overfull(static_cast<std::size_t>(n));
        p.set_bytes(static_cast<std::size_t>(n));
        return p;
    }
    /// One to be filled by others: its room() is there, and nothing is received. Throws: out_of_memory.
    ALLOT_OUTLINE packet allocate(account& by) {
        buffer b = memory_.allocate(by, each_);
        packet p = packet_of(b);
        if (!p) detail::raise_no_block(detail::packet_source::block_name, by, each_, detail::no_memory(each_));
        return p;
    }
    /// The same; none: `why`, if it is not null, says what refused it.
    packet try_allocate(account& by, charge_status* why = nullptr) noexcept {
        return known(memory_.try_allocate(by, each_, why), why);
    }
    /// And waits while the limit of an account refuses.
    packet allocate_for(account& by, const wait_limit& wait, charge_status* why = nullptr) noexcept {
        return known(memory_.allocate_for(by, each_, wait, why), why);
    }

    /// Bytes that a packet has room for.
    std::size_t packet_bytes() const noexcept { return each_; }
    packet_stats stats() const noexcept {
        packet_stats s;
        all_.visit([&](const detail::packet_header& h) {
            ++s.packets, s.links += h.links(), s.bytes += h.room(), s.received += h.bytes();
        });
        return s;
    }
    /// Writes a line, and one for each of the eight packets with the fewest links for their bytes: what pins them could
    /// be copied. Allocates nothing.
    ALLOT_OUTLINE void report(text_writer& out) const noexcept {
        struct line {
            std::size_t links, bytes;
            const account* by;
        };
        detail::top_n<line, 8> top;
        const packet_stats s = stats();
        all_.visit([&](const detail::packet_header& h) {
            top.add({h.links(), h.room(), h.holder()},
                    [](const line& l) { return l.bytes / detail::max(l.links, std::size_t{1}); });
        });
        out.put("packets ").brief(source_.blocks.name()).put(": ").number(s.packets).put(", ").bytes(s.bytes);
        out.put(", of which ").bytes(s.received).put(" were received; ").number(s.links).put(" links").newline();
        for (const line& l : top)
            out.put("    a packet of ")
                .bytes(l.bytes)
                .put(l.by != nullptr ? " of account " : "")
                .brief(l.by != nullptr ? l.by->name() : "")
                .put(": ")
                .number(l.links)
                .put(l.links == 1 ? " link" : " links")
                .newline();
        top.write_others(out, "packets");
    }
    /// Gives unused pages back to the system. Returns: bytes.
    std::size_t trim() noexcept { return source_.blocks.trim(); }

  private:
    ALLOT_OUTLINE packet raise_overfull([[maybe_unused]] std::size_t said) const {
#if ALLOT_EXCEPTIONS
        throw std::length_error("allot: what fills a packet has said " + std::to_string(said) +
                                " bytes; there is room for " + std::to_string(each_));
#else
        return {};
#endif
    }
    packet packet_of(buffer& b) noexcept { return packet{b ? detail::packet_header::make(b, all_) : nullptr}; }
    packet known(buffer b, charge_status* why) noexcept {
        packet p = packet_of(b);
        if (b && why != nullptr) *why = detail::no_memory(each_); // for its header
        return p;
    }

    const std::size_t each_;
    detail::packet_source source_;
    const buffer_memory memory_{source_};
    detail::packet_list all_{source_.blocks.arena()};
};

/// The row; or a copy of it, a row of `rows`, where its packet has room for more than `most` times the bytes that its
/// links would need if each was for such a row. Then the packet loses this link. A row that is in no packet, and one
/// for whose copy there is no memory, stays as it is.
/// Requires: the caller has a link, which it gives up.
template <class Manager, class T>
row_ptr<T> take(Manager& rows, row_ptr<T> row, std::size_t bytes = sizeof(T), std::size_t most = 8,
                const row_type& type = row_type_of<std::remove_const_t<T>>) noexcept {
    const packet in = packet::of(row.get());
    if (!in) return row;
    const auto offset = static_cast<std::size_t>(reinterpret_cast<const std::byte*>(row.get()) - in.bytes().data());
    if (in.at(offset, bytes) == nullptr) {
        detail::report_misuse({.kind = misuse::out_of_bounds, .heap = "packet", .address = row.get()});
        return row;
    }
    const std::size_t needed = detail::max(bytes, std::size_t{1}) * (in.links() - 1); // without this function's
    if (in.capacity() / detail::max(most, std::size_t{1}) <= needed) return row;
    void* const copy = rows.try_allocate(bytes, type);
    if (copy == nullptr) return row;
    std::memcpy(copy, row.get(), bytes);
    return row_ptr<T>::adopt(static_cast<T*>(copy));
}

} // namespace allot::inline ALLOT_ABI
