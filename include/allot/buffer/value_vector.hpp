// A value vector: a typed column of values of one width over buffers, each value there or null.
//
//     auto prices = allot::value_vector<double>::allocate(memory, scan, 1000);      prices.set(7, 9.5);
//     allot::value_vector<double> part = prices.slice(3, 100);                      no copy; any bound
//     auto [theirs, how] = std::move(part).transfer(sort);                          or part.retain(join)
//
//   values    v0 v1 v2 v3 ...            little-endian, size() * sizeof(T) bytes
//   validity  bit b + i, from byte 0 on, is 1 if value i is there; b in 0..7. Without a validity buffer all are there
//
// Invariant: values and validity are views of the same account.
// Cost: 64 bytes; one block for both buffers; a slice takes two atomic additions.
// Threads: as for the buffers; two slices may share a byte of validity.
// Source: Drill's value vectors, 2013; Arrow's fixed-size primitive layout, 2016.
#pragma once

#include <allot/buffer/buffer.hpp>
#include <allot/buffer/buffer_memory.hpp>
#include <allot/buffer/validity.hpp>
#include <allot/config.hpp>
#include <allot/core/error.hpp>

#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

// A number that is 0 after a move, as a moved-from buffer is empty.
template <class T> class moved_number {
  public:
    constexpr moved_number(T value = 0) noexcept : value_(value) {}
    constexpr moved_number(const moved_number&) noexcept = default;
    constexpr moved_number& operator=(const moved_number&) noexcept = default;
    constexpr moved_number(moved_number&& other) noexcept : value_(std::exchange(other.value_, T{0})) {}
    constexpr moved_number& operator=(moved_number&& other) noexcept {
        return value_ = std::exchange(other.value_, T{0}), *this;
    }
    constexpr operator T() const noexcept { return value_; }

  private:
    T value_;
};

// The validity of a vector: bits of a buffer, from any bit on.
class validity_bits {
  public:
    validity_bits() = default;
    validity_bits(buffer bits, std::size_t first) noexcept : bits_(std::move(bits)), first_(first) {}

    bool is_valid(std::size_t i) const noexcept { return !bits_ || bit_at(bits_.bytes().data(), first_ + i); }
    // False: there are no bits, so the value cannot be null.
    bool set(std::size_t i, bool valid) const noexcept {
        if (!bits_) return valid;
        set_bit(bits_.bytes().data(), first_ + i, valid);
        return true;
    }
    ALLOT_OUTLINE std::size_t valid_among(std::size_t n) const noexcept {
        return bits_ ? count_bits(bits_.bytes().data(), first_, n) : n;
    }
    ALLOT_OUTLINE validity_bits slice(std::size_t from, std::size_t n) const noexcept {
        if (!bits_) return {};
        const std::size_t first = first_ + from;
        return {bits_.slice(first / 8, bytes_of_bits(first, n)), first % 8};
    }
    const buffer& bits() const noexcept { return bits_; }
    std::size_t first() const noexcept { return first_; }

  private:
    buffer bits_;
    moved_number<std::size_t> first_; // the bit of value 0, below 8
};

// The buffers of a vector: whether others view their blocks; moves to another account.
struct vector_parts {
    static bool are_of_one_block(const buffer& a, const buffer& b) noexcept {
        return a && b && a.view_.ledger->block == b.view_.ledger->block;
    }
    static bool are_shared(const buffer& a, const buffer& b) noexcept {
        return are_of_one_block(a, b) ? has_other_view(*a.view_.ledger, 2) : a.is_shared() || b.is_shared();
    }
    // Charges `to` for the block of each part, until `to` is closed. Returns the worst status. Requires views of all
    // parts for `to`.
    template <class... Parts> static charge_status transfer_charge(account& to, const Parts&... parts) noexcept {
        charge_status worst;
        const auto move_part = [&](const buffer& part) {
            const charge_status s = part.view_.ledger != nullptr
                                        ? detail::transfer_charge(*part.view_.ledger, to, move_mode::forced)
                                        : charge_status{};
            const bool closed = s.outcome == charge_outcome::closed;
            if (closed || worst.outcome < s.outcome) worst = s;
            return !closed;
        };
        static_cast<void>((move_part(parts) && ...));
        return worst;
    }
    // `view` makes a view of the vector for `to`.
    template <class Vector, class View, class... Rest>
    static typename Vector::transferred transfer(Vector& mine, account& to, View view, const buffer& first,
                                                 const Rest&... rest) noexcept {
        if (!first || &to == first.holder()) return {std::move(mine), {}};
        Vector theirs = view();
        if (theirs.holder() == nullptr) return {{}, why_not_retained(first.view_, to)};
        const charge_status s = transfer_charge(to, first, rest...);
        // `to` was closed meanwhile: releasing `theirs` charges the parts that moved to the next account
        // (next_charged).
        if (ALLOT_UNLIKELY(s.outcome == charge_outcome::closed)) return {{}, s};
        mine = {};
        return {std::move(theirs), s};
    }
};

inline bool in_bounds(std::size_t from, std::size_t n, std::size_t size, const buffer& of) noexcept {
    if (ALLOT_LIKELY(n <= size && from <= size - n)) return true;
    report_misuse({.kind = misuse::out_of_bounds, .heap = of ? of.holder()->name() : "", .address = of.data()});
    return false;
}

} // namespace detail

/// A column of numbers or enums. Move-only; a moved-from vector is empty.
template <plain_number T> class value_vector {
  public:
    struct transferred;

    value_vector() noexcept = default;
    /// Makes a vector over buffers of one account; `first` is the bit of value 0. With too few bytes, which is reported
    /// as misuse, the vector is empty.
    value_vector(buffer values, std::size_t size, buffer validity = {}, std::size_t first = 0) noexcept {
        const bool fits =
            size <= values.size() / sizeof(T) &&
            (!validity || (first < SIZE_MAX - size && detail::bytes_of_bits(0, first + size) <= validity.size()));
        if (!fits) {
            detail::report_misuse({.kind = misuse::out_of_bounds,
                                   .heap = values ? values.holder()->name() : "",
                                   .address = values.data()});
            return;
        }
        values_ = std::move(values);
        validity_ = detail::validity_bits{std::move(validity), 0}.slice(first, size);
        size_ = size;
    }
    /// Allocates a vector of `size` nulls in one block, charged to the account.
    /// Throws: out_of_memory, as buffer_memory::allocate.
    static value_vector allocate(const buffer_memory& memory, account& by, std::size_t size) {
        return cut(memory.allocate(by, bytes_for(size)), size);
    }
    /// As allocate(), but returns nothing on failure, and why.
    static std::optional<value_vector> try_allocate(const buffer_memory& memory, account& by, std::size_t size,
                                                    charge_status* why = nullptr) noexcept {
        buffer whole = memory.try_allocate(by, bytes_for(size), why);
        if (!whole && size != 0) return {};
        return cut(std::move(whole), size);
    }
    /// Bytes of a buffer for a vector of this size.
    static constexpr std::size_t bytes_for(std::size_t size) noexcept {
        const std::size_t values =
            size <= SIZE_MAX / 2 / sizeof(T) ? detail::align_up(size * sizeof(T), 8) : SIZE_MAX / 2;
        return values + detail::bytes_of_bits(0, size);
    }
    /// Makes a vector of `size` nulls in a buffer of bytes_for(size) bytes, which may be a part of one.
    static value_vector cut(buffer whole, std::size_t size) noexcept {
        if (size == 0 || !detail::in_bounds(0, bytes_for(size), whole.size(), whole)) return {};
        buffer bits = whole.slice(detail::align_up(size * sizeof(T), 8), detail::bytes_of_bits(0, size));
        std::memset(bits.bytes().data(), 0, bits.size());
        return {whole.slice(0, size * sizeof(T)), size, std::move(bits)};
    }

    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }

    /// Whether the value is there. Requires: i < size(), here and below; checked builds report a violation.
    bool is_valid(std::size_t i) const noexcept { return check(i), validity_.is_valid(i); }
    /// The value's bytes, also if it is null.
    T get(std::size_t i) const noexcept { return check(i), values_.template get<T>(i * sizeof(T)); }
    std::optional<T> operator[](std::size_t i) const noexcept {
        return is_valid(i) ? std::optional<T>{get(i)} : std::nullopt;
    }
    void set(std::size_t i, T value) const noexcept {
        check(i);
        values_.template set<T>(i * sizeof(T), value);
        static_cast<void>(validity_.set(i, true));
    }
    /// Returns: false, with no effect, if the vector has no validity buffer.
    bool set_null(std::size_t i) const noexcept { return check(i), validity_.set(i, false); }
    std::size_t null_count() const noexcept { return size_ - validity_.valid_among(size_); }

    /// Makes a view of values [from, from + n), of the same account. Empty beyond the end, which is reported as misuse.
    value_vector slice(std::size_t from, std::size_t n) const noexcept {
        if (!detail::in_bounds(from, n, size_, values_) || n == 0) return {};
        return {values_.slice(from * sizeof(T), n * sizeof(T)), validity_.slice(from, n), n};
    }
    /// As buffer::retain and buffer::transfer.
    /// Returns: an empty vector if a buffer's view cannot be made; this vector is unchanged then.
    value_vector retain(account& by) const noexcept;
    transferred transfer(account& to) && noexcept;

    account* holder() const noexcept { return values_.holder(); }
    const buffer& values() const noexcept { return values_; }
    /// The validity bits; bit first_bit() + i is that of value i.
    const buffer& validity() const noexcept { return validity_.bits(); }
    std::size_t first_bit() const noexcept { return validity_.first(); }

  private:
    value_vector(buffer values, detail::validity_bits validity, std::size_t size) noexcept
        : values_(std::move(values)), validity_(std::move(validity)), size_(size) {}
    void check([[maybe_unused]] std::size_t i) const noexcept {
        if constexpr (ALLOT_CHECKED != 0) static_cast<void>(detail::in_bounds(i, 1, size_, values_));
    }

    buffer values_;
    detail::validity_bits validity_;
    detail::moved_number<std::size_t> size_;
};

/// The result of a transfer, as transfer_result.
template <plain_number T> struct value_vector<T>::transferred {
    value_vector view;
    charge_status status;
    bool fitted() const noexcept { return status.fitted(); }
};

template <plain_number T> value_vector<T> value_vector<T>::retain(account& by) const noexcept {
    buffer values = values_.retain(by), bits = validity_.bits().retain(by);
    if (!values || (validity_.bits() && !bits)) return {};
    return {std::move(values), detail::validity_bits{std::move(bits), validity_.first()}, size_};
}
template <plain_number T> typename value_vector<T>::transferred value_vector<T>::transfer(account& to) && noexcept {
    return detail::vector_parts::transfer(*this, to, [&] { return retain(to); }, values_, validity_.bits());
}

} // namespace allot::inline ALLOT_ABI
