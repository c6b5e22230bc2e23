// What a home keeps of the rows of an array, and how it is written and read: three parts.
//
//   | a word for each row | bytes of row, row ... | capacity, encoding, capacity, encoding ... |
//
//   word   | bytes that are kept 43 | type 17 | encoded | sealed | constructed | 1 |     or an address that is no row,
//   and 0
//
// Invariant: rows that came back are written with the same sizes again. Cost: a row is looked up once for each part.
// Threads: one at a time. Source: HPCC's spills of row arrays, 2011, which serialize each row.
#pragma once

#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/min_max.hpp>
#include <allot/core/row_encoding.hpp>
#include <allot/core/row_type.hpp>
#include <allot/page/arena_table.hpp>
#include <allot/row/row.hpp>
#include <allot/row/row_access.hpp>
#include <allot/row/row_manager.hpp>
#include <allot/row/row_ops.hpp>
#include <allot/spill/home.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace allot::inline ALLOT_ABI {
namespace detail {

// The word that is kept of each row, in front of all their bytes.
struct row_word {
    std::uint64_t bits = 0;

    static row_word of(const void* no_row) noexcept {
        return {std::uint64_t{reinterpret_cast<std::uintptr_t>(no_row)} << 1};
    }
    bool is_row() const noexcept { return (bits & 1) != 0; }
    bool constructed() const noexcept { return (bits & 2) != 0; }
    bool sealed() const noexcept { return (bits & 4) != 0; }
    bool encoded() const noexcept { return (bits & 8) != 0; }
    std::uint32_t type() const noexcept { return static_cast<std::uint32_t>(bits >> 4) & 0x1FFFF; }
    std::size_t bytes() const noexcept { return bits >> 21; }
    void* address() const noexcept { return reinterpret_cast<void*>(bits >> 1); } // that is no row
};

// A row of an array, as a store sees it.
template <class Set> struct seen_row {
    row_manager<Set>& rows;
    void* address = nullptr;
    const row_type* type = nullptr; // null: an address that is no row
    std::size_t capacity = 0;
    bool constructed = false, sealed = false, encoded = false;
    std::optional<misuse> fault{}; // why it cannot leave

    void see(void* at) noexcept {
        address = at, type = nullptr, capacity = 0;
        constructed = sealed = encoded = false;
        fault.reset();
        page_arena& arena = row_access::core(rows).arena();
        if (!arena.contains(at)) {
            if (arena_at(at) != nullptr) fault = misuse::not_shared_arena;
            return;
        }
        page_header* const page = page_of_row(arena, at, []() noexcept -> page_header* { return nullptr; });
        const row_state s = page != nullptr ? page->ops->state(*page, static_cast<std::byte*>(at), &rows) : row_state{};
        if (s.is_of_other) fault = misuse::foreign_pointer;
        else if (s.moves == row_moves::not_live) fault = misuse::not_a_row;
        if (fault) return;
        type = s.type != nullptr ? s.type : &bytes_aligned_to(s.align);
        capacity = s.capacity, constructed = s.constructed, sealed = s.sealed;
        encoded = type->leaves_encoded(constructed);
        if (encoded && type->encode == nullptr) fault = misuse::no_encoding;
        else if (s.moves == row_moves::shared) fault = misuse::other_links;
    }
    // Bytes that are kept: those of the row that comes back, whose class may be a larger one; or of the encoding.
    std::size_t kept_bytes() const noexcept {
        if (encoded) {
            row_writer counts;
            type->encode(address, counts);
            return sizeof(std::uint64_t) + counts.bytes();
        }
        for (std::size_t n = capacity;;) {
            const std::size_t has = rows.capacity_for(n, *type);
            if (has <= n) return n;
            n = has;
        }
    }
    row_word word() const noexcept {
        if (type == nullptr) return row_word::of(address);
        std::uint64_t number = row_access::core(rows).context().types.number(*type);
        if (number == type_table::none) number = 0; // of rows without types of their own, and no memory to note one
        const std::uint64_t flags = 1U | (constructed ? 2U : 0U) | (sealed ? 4U : 0U) | (encoded ? 8U : 0U);
        return {flags | number << 4 | std::uint64_t{kept_bytes()} << 21};
    }
};

// Sizes of what is kept, and where its three parts begin.
struct rows_kept {
    std::size_t rows = 0, bytes = 0, encodings = 0; // rows; bytes of the second and the third part
    std::size_t words_at = 0, bytes_at = 0, encodings_at = 0;

    std::size_t words() const noexcept { return rows * sizeof(row_word); }
    std::size_t all() const noexcept { return words() + bytes + encodings; }
    void add(const row_word& w) noexcept {
        ++rows;
        if (w.is_row()) (w.encoded() ? encodings : bytes) += w.bytes();
    }
    // In what is kept of these rows alone; else of a whole that they are a part of: that has more bytes.
    rows_kept in(const kept_bytes& k) const noexcept {
        rows_kept own = *this;
        if (k.bytes() == all()) own.words_at = 0, own.bytes_at = words(), own.encodings_at = words() + bytes;
        return own;
    }
};

// Writes rows, part by part.
template <class Set> class row_source final : public byte_source {
  public:
    row_source(row_manager<Set>& rows, std::span<void* const> all, std::size_t n) noexcept
        : byte_source(n), all_(all), row_{rows} {}

    bool next(std::span<std::byte> to) noexcept override {
        while (!to.empty()) {
            if (at_ == piece_ && !find_piece()) return has_no_more_ = true, false;
            const std::size_t n = copy(to);
            at_ += n;
            to = to.subspan(n);
        }
        return true;
    }
    // Whether it gave too few bytes.
    bool has_no_more() const noexcept { return has_no_more_; }
    // Why what was written is not these rows; null: it is.
    const char* fault() noexcept {
        const bool is_whole = !has_no_more_ && at_ == piece_ && !find_piece(), is_as_said = said_ == written_;
        if (cannot_leave_) return "a row with other links";
        return is_whole && is_as_said && !is_other_length_ ? nullptr : "an encoding of another length";
    }

  private:
    enum class part : std::uint8_t { words, bytes, encodings, none };

    // The next piece: a word, the bytes of a row, or its capacity and encoding.
    bool find_piece() noexcept {
        for (; part_ != part::none; i_ = 0, part_ = static_cast<part>(static_cast<std::uint8_t>(part_) + 1))
            while (i_ != all_.size()) {
                row_.see(all_[i_++]);
                if (row_.fault) return cannot_leave_ = true, false;
                if (part_ == part::words) {
                    const row_word word = row_.word();
                    if (row_.type != nullptr && row_.encoded) note(said_, word.bytes());
                    number_ = word.bits, piece_ = sizeof number_;
                } else if (row_.type == nullptr || row_.encoded != (part_ == part::encodings)) {
                    continue;
                } else {
                    number_ = row_.capacity, piece_ = row_.kept_bytes();
                    if (row_.encoded) note(written_, piece_);
                }
                if (at_ = 0; piece_ != 0) return true;
            }
        return false;
    }
    // Of the lengths so far, in order.
    static void note(std::uint64_t& of, std::size_t length) noexcept { of = of * 0x9e37'79b9'7f4a'7c15 + length; }
    std::size_t copy(std::span<std::byte> to) noexcept {
        constexpr std::size_t head = sizeof number_;
        std::size_t n = min(to.size(), piece_ - at_);
        if (part_ == part::bytes) {
            const std::size_t has = row_.capacity > at_ ? min(n, row_.capacity - at_) : 0;
            std::memcpy(to.data(), static_cast<const std::byte*>(row_.address) + at_, has);
            std::memset(to.data() + has, 0, n - has);
        } else if (at_ < head) {
            n = min(n, head - at_);
            std::memcpy(to.data(), reinterpret_cast<const std::byte*>(&number_) + at_, n);
        } else {
            row_writer encodes{to, at_ - head};
            row_.type->encode(row_.address, encodes);
            is_other_length_ = is_other_length_ || encodes.bytes() != piece_ - head;
        }
        return n;
    }

    const std::span<void* const> all_;
    seen_row<Set> row_;
    part part_ = part::words;
    std::size_t i_ = 0;                    // the next row
    std::size_t at_ = 0, piece_ = 0;       // done of the piece, and its bytes
    std::uint64_t number_ = 0;             // a word, or the capacity in front of an encoding
    std::uint64_t said_ = 0, written_ = 0; // the lengths of encodings in the words, and behind them
    bool has_no_more_ = false, cannot_leave_ = false, is_other_length_ = false;
};

// Adds up the words of rows.
class word_sink final : public byte_sink {
  public:
    explicit word_sink(std::size_t rows) noexcept : byte_sink(rows * sizeof(row_word)) {}
    bool next(std::span<const std::byte> from) noexcept override {
        for (const std::byte b : from) {
            word_[at_++] = b;
            if (at_ != sizeof word_) continue;
            sum.add(std::bit_cast<row_word>(word_));
            at_ = 0;
        }
        return true;
    }
    rows_kept sum;

  private:
    std::array<std::byte, sizeof(row_word)> word_{};
    std::size_t at_ = 0;
};

// Puts bytes into rows that are not encoded, one behind the other.
template <class Set> class row_sink final : public byte_sink {
  public:
    row_sink(row_manager<Set>& rows, std::span<void* const> all, std::size_t n) noexcept
        : byte_sink(n), all_(all), row_{rows} {}
    bool next(std::span<const std::byte> from) noexcept override {
        while (!from.empty()) {
            while (at_ == row_.capacity || row_.encoded) {
                if (i_ == all_.size()) return false;
                row_.see(all_[i_++]);
                at_ = 0;
            }
            const std::size_t n = min(from.size(), row_.capacity - at_);
            std::memcpy(static_cast<std::byte*>(row_.address) + at_, from.data(), n);
            at_ += n;
            from = from.subspan(n);
        }
        return true;
    }

  private:
    const std::span<void* const> all_;
    seen_row<Set> row_;
    std::size_t i_ = 0, at_ = 0;
};

// Reads encodings, through memory that is lent.
class encodings_at_home {
  public:
    encodings_at_home(const kept_bytes& from, std::size_t at, std::size_t n, std::span<std::byte> through,
                      bool may_wait) noexcept
        : from_(from), at_(at), left_(n), through_(through), reader({}, &next, this, may_wait) {}
    encodings_at_home(const encodings_at_home&) = delete;
    encodings_at_home& operator=(const encodings_at_home&) = delete;

    home_status status;

  private:
    static std::span<const std::byte> next(void* self) noexcept {
        auto& me = *static_cast<encodings_at_home*>(self);
        const std::span<std::byte> piece = me.through_.first(min(me.through_.size(), me.left_));
        byte_sink to{piece};
        if (piece.empty() || !(me.status = me.from_.read(me.at_, to))) return {};
        me.at_ += piece.size(), me.left_ -= piece.size();
        return piece;
    }

    const kept_bytes& from_;
    std::size_t at_, left_;
    const std::span<std::byte> through_;

  public:
    row_reader reader;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
