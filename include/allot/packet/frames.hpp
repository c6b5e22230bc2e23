// Frames: rows of any size, one behind the other in a packet, as a sender writes them and a receiver reads them.
//
//     | bytes 4 | type 4 | row ... | zeros to a multiple of 8 | bytes 4 | type 4 | row ...       numbers: little-endian
//
//     allot::frame_reader rows{p, types};                     `types`: what a row of each type may be
//     while (const auto f = rows.next()) use(f->row);
//     if (rows.error() != frame_error::none) ...              what was sent is wrong, from offset() on
//
// Invariant: a reader returns no frame of which a byte lies beyond what was received; rows are aligned to 8.
// Cost: two loads and three comparisons per row. Threads: one at a time. Source: HPCC Roxie's packed rows, 2009.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/little_endian.hpp>
#include <allot/row/row_ptr.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

/// What a receiver expects of the rows of a type: their number of bytes, both bounds included.
struct frame_type {
    std::size_t least = 0;
    std::size_t most = SIZE_MAX;
};

enum class frame_error : std::uint8_t {
    none,
    truncated,    // the packet ends inside a frame, or in front of one
    unknown_type, // the receiver knows none with this number
    wrong_bytes,  // the type has no rows of as many bytes
};
constexpr const char* text_of(frame_error e) noexcept {
    constexpr const char* texts[] = {"none", "the packet ends inside a row", "a row of a type that is not known",
                                     "a row of another size than its type has"};
    return texts[static_cast<std::size_t>(e)];
}

/// A row of a packet, without a link of its own.
struct frame {
    std::span<const std::byte> row;
    std::uint32_t type;
    /// The row as a T; null where it is shorter.
    template <class T>
        requires(std::is_trivially_copyable_v<T> && alignof(T) <= 8)
    const T* as() const noexcept {
        return row.size() >= sizeof(T) ? reinterpret_cast<const T*>(row.data()) : nullptr;
    }
    /// The same with a link, for a row in a packet.
    template <class T> row_ptr<const T> link() const noexcept {
        const T* const p = as<T>();
        return p != nullptr ? row_ptr<const T>::linked(p) : nullptr;
    }
};

namespace detail {

inline constexpr std::size_t frame_align = 8;
inline constexpr std::size_t frame_header = 8;

} // namespace detail

/// Requires: the bytes, as of a packet, and the types outlive it; the bytes are aligned to 8.
class frame_reader {
  public:
    frame_reader(std::span<const std::byte> of, std::span<const frame_type> types) noexcept : of_(of), types_(types) {
        ALLOT_ASSERT((reinterpret_cast<std::uintptr_t>(of.data()) & (detail::frame_align - 1)) == 0,
                     "frames are read from bytes that are aligned to 8");
    }

    /// The next row. None: there is no more, or error() says what is wrong with it; then it stays there.
    std::optional<frame> next() noexcept {
        if (error_ != frame_error::none || at_ == of_.size()) return std::nullopt;
        if (of_.size() - at_ < detail::frame_header) return wrong(frame_error::truncated);
        const std::byte* const p = of_.data() + at_;
        const std::size_t bytes = detail::load_little<std::uint32_t>(p);
        const auto type = detail::load_little<std::uint32_t>(p + 4);
        const std::size_t whole = detail::frame_header + detail::align_up(bytes, detail::frame_align);
        if (whole > of_.size() - at_) return wrong(frame_error::truncated);
        if (type >= types_.size()) return wrong(frame_error::unknown_type);
        if (bytes < types_[type].least || bytes > types_[type].most) return wrong(frame_error::wrong_bytes);
        at_ += whole;
        return frame{{bytes != 0 ? p + detail::frame_header : p, bytes}, type}; // the end may be in another packet
    }
    frame_error error() const noexcept { return error_; }
    /// Of the next frame, or of the wrong one.
    std::size_t offset() const noexcept { return at_; }

  private:
    std::optional<frame> wrong(frame_error e) noexcept {
        error_ = e;
        return std::nullopt;
    }
    std::span<const std::byte> of_;
    std::span<const frame_type> types_;
    std::size_t at_ = 0;
    frame_error error_ = frame_error::none;
};

/// Writes rows into bytes that are sent as one packet.
class frame_writer {
  public:
    explicit frame_writer(std::span<std::byte> into) noexcept : into_(into) {}

    /// False, and nothing is written: there is no room, or the row has more bytes than a frame can say.
    bool add(const void* row, std::size_t bytes, std::uint32_t type) noexcept {
        if (bytes > UINT32_MAX - detail::frame_align) return false;
        const std::size_t whole = detail::frame_header + detail::align_up(bytes, detail::frame_align);
        if (whole > into_.size() - at_) return false;
        std::byte* const p = into_.data() + at_;
        detail::store_little(p, static_cast<std::uint32_t>(bytes));
        detail::store_little(p + 4, type);
        if (bytes != 0) std::memcpy(p + detail::frame_header, row, bytes);
        std::memset(p + detail::frame_header + bytes, 0, whole - detail::frame_header - bytes);
        at_ += whole;
        return true;
    }
    /// Rejected at compile time: an address, or a view. It would mean nothing to the receiver.
    template <class T>
        requires(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::ranges::enable_view<T>)
    bool add(const T& row, std::uint32_t type) noexcept {
        return add(&row, sizeof(T), type);
    }
    /// The bytes to be sent.
    std::span<const std::byte> bytes() const noexcept { return into_.first(at_); }
    void clear() noexcept { at_ = 0; }

  private:
    std::span<std::byte> into_;
    std::size_t at_ = 0;
};

} // namespace allot::inline ALLOT_ABI
