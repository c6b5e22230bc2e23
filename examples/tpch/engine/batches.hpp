// Batches: rows of one type, packed one behind the other into a buffer that may leave memory.
//
//     struct line { std::int32_t order, price; std::uint8_t comment_bytes; std::size_t tail() const { ... } };
//     batch_writer<line> out{run, memory_of_scan};
//     out.add(l, comment);                                    // the row, then its texts
//     for (const batch& b : out.take()) for_each_row<line>(b, [&](const line& l) { ... tail_of(l) ... });
//
// A row is a plain struct; tail() says how many bytes of text follow it. A batch begins with 4 KiB and grows to what
// the limit allows, so that many partitions which have few rows take little.
#pragma once

#include "engine.hpp"
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tpch {

struct batch {
    allot::stored<allot::buffer> data;
    std::uint32_t rows = 0, bytes = 0;
};

template <class Row> concept has_tail = requires(const Row& r) { r.tail(); };

/// Bytes of a row in a batch.
template <class Row> std::size_t bytes_of(const Row& r) {
    if constexpr (has_tail<Row>) return (sizeof(Row) + r.tail() + alignof(Row) - 1) & ~(alignof(Row) - 1);
    else return sizeof(Row);
}
template <class Row> const char* tail_of(const Row& r) { return reinterpret_cast<const char*>(&r) + sizeof(Row); }

/// Bytes of a full batch; and of the process' heap that the store keeps for a batch, beyond the limit.
constexpr std::size_t least_batch = 32768, most_batch = 65536, kept_for_batch = 450;
/// The size of a batch where `together` are written at once.
inline std::size_t batch_bytes(const engine& in, std::size_t together) {
    return std::clamp(std::bit_floor(in.output() / together | 1), least_batch, most_batch);
}

template <class Row> class batch_writer {
    static_assert(std::is_trivially_copyable_v<Row>);

  public:
    batch_writer(engine& in, allot::account& by, std::size_t most) : in_(in), by_(by), most_(most) {}

    /// Throws: what buffer_memory::allocate throws.
    void add(const Row& r, const char* tail = nullptr) {
        const std::size_t n = bytes_of(r);
        if (n > room_) make_room(n);
        std::memcpy(at_, &r, sizeof(Row));
        if constexpr (has_tail<Row>) std::memcpy(at_ + sizeof(Row), tail, r.tail());
        at_ += n, room_ -= n, ++rows_;
    }
    /// Whether this row will be the first of a batch.
    bool begins_batch(const Row& r) const { return buffer_.empty() || buffer_.size() - room_ + bytes_of(r) > most_; }
    std::vector<batch> take() {
        flush();
        return std::move(done_);
    }

  private:
    static constexpr std::size_t first = 8192;

    void make_room(std::size_t n) {
        const std::size_t has = buffer_.size(), used = has - room_;
        if (used + n > most_) flush();
        const std::size_t kept = buffer_.size() - room_;
        std::size_t wanted = std::max(done_.empty() ? first : most_ / 2, 2 * buffer_.size());
        while (wanted < kept + n) wanted *= 2;
        allot::buffer larger = in_.allocate(by_, wanted);
        if (kept != 0) std::memcpy(larger.data(), buffer_.data(), kept);
        buffer_ = std::move(larger);
        at_ = buffer_.data() + kept, room_ = buffer_.size() - kept;
    }
    void flush() {
        const auto used = static_cast<std::uint32_t>(buffer_.size() - room_);
        if (used != 0) done_.push_back({in_.data.put(std::move(buffer_)), std::exchange(rows_, 0), used});
        buffer_ = {}, at_ = nullptr, room_ = 0;
    }

    engine& in_;
    allot::account& by_;
    const std::size_t most_;
    allot::buffer buffer_;
    std::byte* at_ = nullptr;
    std::size_t room_ = 0;
    std::uint32_t rows_ = 0;
    std::vector<batch> done_;
};

/// Calls f(row) for each row of bytes that a batch has.
template <class Row, class F> void for_each_row(std::span<const std::byte> bytes, F&& f) {
    for (const std::byte *p = bytes.data(), *const end = p + bytes.size(); p != end;) {
        const Row& r = *reinterpret_cast<const Row*>(p);
        p += bytes_of(r);
        f(r);
    }
}
/// The same, in memory until the last call has ended.
template <class Row, class F> void for_each_row(const batch& b, F&& f) {
    const auto pin = b.data.pin();
    for_each_row<Row>(pin->bytes().first(b.bytes), f);
}

/// What a query has made of rows: batches, with how many rows and bytes.
struct batch_list {
    std::vector<batch> all;
    std::size_t rows = 0, bytes = 0;

    void add(std::vector<batch> more) {
        for (batch& b : more) rows += b.rows, bytes += b.bytes, all.push_back(std::move(b));
    }
};

} // namespace tpch
