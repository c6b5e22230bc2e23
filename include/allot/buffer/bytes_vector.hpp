// A value vector of strings, or of any bytes: values of any length, each there or null.
//
//     auto names = allot::bytes_vector::allocate(memory, scan, 1000, 64_KiB);
//     names.append("Ada");      names.append_null();
//     allot::bytes_vector part = names.slice(3, 100);      part[4]: optional<string_view>
//
//   offsets   o0 o1 o2 ... on            32 bits each, little-endian: value i is data [oi - base, oi+1 - base)
//   data      the bytes of the values in order; a null has none. A slice has only its own, so its base is its o0
//   validity  as in value_vector.hpp
//
// Invariant: offsets never decrease; the three are views of the same account. Cost: 104 bytes; one block for all three.
// Threads: as for the buffers; one thread appends, and slices made before do not change.
// Source: Drill's variable-width vectors, 2013; Arrow's variable-size binary layout, 2016.
#pragma once

#include <allot/buffer/value_vector.hpp>
#include <allot/config.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace allot::inline ALLOT_ABI {

/// A column of strings. Move-only; a moved-from vector is empty.
class bytes_vector {
  public:
    struct transferred;
    static constexpr std::size_t max_data = UINT32_MAX;

    bytes_vector() noexcept = default;
    /// Makes a vector over buffers of one account: size + 1 offsets, the data from offset 0 on; `first` is the bit of
    /// value 0. The vector is empty, and misuse is reported, if offsets decrease or lead beyond the data, or bytes are
    /// missing.
    /// Complexity: O(size).
    ALLOT_OUTLINE bytes_vector(buffer offsets, buffer data, std::size_t size, buffer validity = {},
                               std::size_t first = 0) noexcept {
        bool fits =
            size < offsets.size() / offset_bytes &&
            (!validity || (first < SIZE_MAX - size && detail::bytes_of_bits(0, first + size) <= validity.size()));
        if (fits) fits = offsets.get<std::uint32_t>(size * offset_bytes) <= data.size();
        for (std::size_t i = 0; fits && i != size; ++i)
            fits = offsets.get<std::uint32_t>(i * offset_bytes) <= offsets.get<std::uint32_t>((i + 1) * offset_bytes);
        if (!fits) {
            detail::report_misuse({.kind = misuse::out_of_bounds,
                                   .heap = offsets ? offsets.holder()->name() : "",
                                   .address = offsets.data()});
            return;
        }
        offsets_ = std::move(offsets), data_ = std::move(data);
        validity_ = detail::validity_bits{std::move(validity), 0}.slice(first, size);
        size_ = most_ = size;
    }
    /// Allocates an empty vector for up to `values` values and `data` bytes, in one block, charged to the account.
    /// Throws: out_of_memory, as buffer_memory::allocate.
    static bytes_vector allocate(const buffer_memory& memory, account& by, std::size_t values, std::size_t data) {
        return cut(memory.allocate(by, bytes_for(values, data)), values, data);
    }
    /// As allocate(), but returns nothing on failure, and why.
    ALLOT_OUTLINE static std::optional<bytes_vector> try_allocate(const buffer_memory& memory, account& by,
                                                                  std::size_t values, std::size_t data,
                                                                  charge_status* why = nullptr) noexcept {
        buffer whole = memory.try_allocate(by, bytes_for(values, data), why);
        if (!whole) return {};
        return cut(std::move(whole), values, data);
    }
    /// Bytes of a buffer for such a vector.
    static constexpr std::size_t bytes_for(std::size_t values, std::size_t data) noexcept {
        if (values > SIZE_MAX / 16 || data > max_data) return SIZE_MAX / 2; // more than any source has
        return bits_at(values) + detail::align_up(detail::bytes_of_bits(0, values), 8) + data;
    }
    /// Makes such a vector in a buffer of bytes_for(values, data) bytes, which may be a part of one.
    ALLOT_OUTLINE static bytes_vector cut(buffer whole, std::size_t values, std::size_t data) noexcept {
        if (!detail::in_bounds(0, bytes_for(values, data), whole.size(), whole)) return {};
        bytes_vector v;
        v.offsets_ = whole.slice(0, (values + 1) * offset_bytes);
        buffer bits = whole.slice(bits_at(values), detail::bytes_of_bits(0, values));
        v.data_ = whole.slice(bits_at(values) + detail::align_up(bits.size(), 8), data);
        if (bits) std::memset(bits.data(), 0, bits.size());
        v.offsets_.set<std::uint32_t>(0, 0);
        v.validity_ = detail::validity_bits{std::move(bits), 0};
        v.most_ = values;
        return v;
    }

    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }

    /// Appends a value. Returns: false, with no effect, if there is no space for it, or this is a slice.
    bool append(std::string_view value) noexcept {
        if (size_ == most_) return false;
        const std::uint32_t at = offset(size_);
        if (value.size() > data_.size() - (at - base_)) return false;
        if (!value.empty()) std::memcpy(data_.bytes().data() + (at - base_), value.data(), value.size());
        return end_value(at + static_cast<std::uint32_t>(value.size()), true);
    }
    bool append_null() noexcept { return size_ != most_ && end_value(offset(size_), false); }

    /// Whether the value is there. Requires: i < size(), here and below; checked builds report a violation.
    bool is_valid(std::size_t i) const noexcept { return check(i), validity_.is_valid(i); }
    std::string_view get(std::size_t i) const noexcept {
        check(i);
        const std::uint32_t from = offset(i), to = offset(i + 1);
        return {reinterpret_cast<const char*>(data_.data()) + (from - base_), to - from};
    }
    std::optional<std::string_view> operator[](std::size_t i) const noexcept {
        return is_valid(i) ? std::optional<std::string_view>{get(i)} : std::nullopt;
    }
    std::size_t null_count() const noexcept { return size_ - validity_.valid_among(size_); }

    /// Makes a view of values [from, from + n) and their data, of the same account. Empty beyond the end, which is
    /// reported as misuse.
    ALLOT_OUTLINE bytes_vector slice(std::size_t from, std::size_t n) const noexcept {
        if (!detail::in_bounds(from, n, size_, offsets_) || n == 0) return {};
        bytes_vector v;
        v.base_ = offset(from);
        v.offsets_ = offsets_.slice(from * offset_bytes, (n + 1) * offset_bytes);
        v.data_ = data_.slice(v.base_ - base_, offset(from + n) - v.base_);
        v.validity_ = validity_.slice(from, n);
        v.size_ = v.most_ = n;
        return v;
    }
    /// As buffer::retain and buffer::transfer. Only one vector can append: a transferred one can, a retained one
    /// cannot.
    /// Returns: an empty vector if a buffer's view cannot be made; this vector is unchanged then.
    bytes_vector retain(account& by) const noexcept { return view_for(by, size_); }
    transferred transfer(account& to) && noexcept;

    account* holder() const noexcept { return offsets_.holder(); }
    const buffer& offsets() const noexcept { return offsets_; } // size() + 1; the first is base()
    const buffer& data() const noexcept { return data_; }
    std::uint32_t base() const noexcept { return base_; }
    const buffer& validity() const noexcept { return validity_.bits(); } // bit first_bit() + i is that of value i
    std::size_t first_bit() const noexcept { return validity_.first(); }

  private:
    static constexpr std::size_t offset_bytes = sizeof(std::uint32_t);
    static constexpr std::size_t bits_at(std::size_t values) noexcept {
        return detail::align_up((values + 1) * offset_bytes, 8);
    }

    std::uint32_t offset(std::size_t i) const noexcept { return offsets_.get<std::uint32_t>(i * offset_bytes); }
    bool end_value(std::uint32_t end, bool valid) noexcept {
        static_cast<void>(validity_.set(size_, valid));
        size_ = size_ + 1;
        offsets_.set<std::uint32_t>(size_ * offset_bytes, end);
        return true;
    }
    ALLOT_OUTLINE bytes_vector view_for(account& by, std::size_t most) const noexcept {
        bytes_vector v;
        v.offsets_ = offsets_.retain(by), v.data_ = data_.retain(by);
        buffer bits = validity_.bits().retain(by);
        if (!v.offsets_ || (data_ && !v.data_) || (validity_.bits() && !bits)) return {};
        v.validity_ = detail::validity_bits{std::move(bits), validity_.first()};
        v.size_ = size_, v.most_ = most, v.base_ = base_;
        return v;
    }
    void check([[maybe_unused]] std::size_t i) const noexcept {
        if constexpr (ALLOT_CHECKED != 0) static_cast<void>(detail::in_bounds(i, 1, size_, offsets_));
    }

    buffer offsets_, data_;
    detail::validity_bits validity_;
    detail::moved_number<std::size_t> size_, most_; // values now, and at most
    detail::moved_number<std::uint32_t> base_;
};

/// The result of a transfer, as transfer_result.
struct bytes_vector::transferred {
    bytes_vector view;
    charge_status status;
    bool fitted() const noexcept { return status.fitted(); }
};

inline bytes_vector::transferred bytes_vector::transfer(account& to) && noexcept {
    return detail::vector_parts::transfer(
        *this, to, [&] { return view_for(to, most_); }, offsets_, data_, validity_.bits());
}

} // namespace allot::inline ALLOT_ABI
