// Text into a buffer that the caller owns. Reports are written with it at the moment there is no memory left.
//
// Invariant: the buffer always holds a NUL-terminated text; what does not fit is cut, and the cut is shown by "...".
// Never allocates, never throws, needs no locale. constexpr where its argument allows. One thread a writer.
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace allot::inline ALLOT_ABI {

class text_writer {
  public:
    /// Takes `capacity` chars at `buffer`, the NUL included; at least one.
    constexpr text_writer(char* buffer, std::size_t capacity) noexcept : buffer_{buffer}, room_{capacity - 1} {
        buffer_[0] = '\0';
    }
    template <std::size_t N> constexpr explicit text_writer(char (&buffer)[N]) noexcept : text_writer{buffer, N} {}

    text_writer(const text_writer&) = delete;
    text_writer& operator=(const text_writer&) = delete;

    constexpr text_writer& put(std::string_view text) noexcept {
        for (const char c : text) {
            if (size_ == room_) return cut();
            buffer_[size_++] = c;
        }
        buffer_[size_] = '\0';
        return *this;
    }
    constexpr text_writer& put(char c) noexcept { return put(std::string_view{&c, 1}); }
    constexpr text_writer& newline() noexcept { return put('\n'); }

    constexpr text_writer& number(std::uint64_t n) noexcept { return digits(n, 10); }
    constexpr text_writer& hex(std::uint64_t n) noexcept { return put("0x").digits(n, 16); }
    text_writer& pointer(const void* p) noexcept {
        return p == nullptr ? put("null") : hex(reinterpret_cast<std::uintptr_t>(p));
    }

    /// "1.50 GiB" when the number of KiB is whole or it is at least 1 MiB, otherwise "1234 bytes".
    constexpr text_writer& bytes(std::size_t n) noexcept {
        constexpr std::string_view units[] = {" KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
        if (n < 1024 || (n < (std::size_t{1} << 20) && n % 1024 != 0))
            return number(n).put(n == 1 ? " byte" : " bytes");
        std::size_t unit = 0;
        std::size_t scale = 1024;
        for (; n / scale >= 1024 && unit < 5; ++unit) scale *= 1024;
        std::size_t whole = n / scale;
        std::size_t hundredths = ((n % scale) / (scale / 1024) * 100 + 512) / 1024; // in steps of 1/1024: no overflow
        if (hundredths == 100) {
            ++whole;
            hundredths = 0;
        }
        number(whole);
        if (n % scale != 0)
            put('.').put(static_cast<char>('0' + hundredths / 10)).put(static_cast<char>('0' + hundredths % 10));
        return put(units[unit]);
    }

    /// "12.34" for hundredths(1234).
    constexpr text_writer& hundredths(std::uint64_t n) noexcept {
        return number(n / 100).put('.').put(static_cast<char>('0' + n / 10 % 10)).put(static_cast<char>('0' + n % 10));
    }

    /// Spaces up to column `n` of the current line; at least one where the column is already reached.
    constexpr text_writer& column(std::size_t n) noexcept {
        std::size_t start = size_;
        while (start != 0 && buffer_[start - 1] != '\n') --start;
        if (size_ - start >= n) return put(' ');
        while (size_ - start < n && !cut_) put(' ');
        return *this;
    }

    constexpr void clear() noexcept {
        size_ = 0;
        cut_ = false;
        buffer_[0] = '\0';
    }

    constexpr std::string_view view() const noexcept { return {buffer_, size_}; }
    constexpr const char* c_str() const noexcept { return buffer_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool is_truncated() const noexcept { return cut_; }

  private:
    constexpr text_writer& digits(std::uint64_t n, unsigned base) noexcept {
        char text[20]{};
        std::size_t at = sizeof text;
        do {
            text[--at] = "0123456789abcdef"[n % base];
            n /= base;
        } while (n != 0);
        return put(std::string_view{text + at, sizeof text - at});
    }

    constexpr text_writer& cut() noexcept {
        cut_ = true;
        for (std::size_t i = 0; i != 3 && i != room_; ++i) buffer_[room_ - 1 - i] = '.';
        buffer_[size_] = '\0';
        return *this;
    }

    char* buffer_;
    std::size_t room_; // without the NUL
    std::size_t size_ = 0;
    bool cut_ = false;
};

} // namespace allot::inline ALLOT_ABI
