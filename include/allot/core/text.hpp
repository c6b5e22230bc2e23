// Text in a buffer of the caller. Reports use it when there is no memory left.
//
// Invariant: the buffer always has a text that ends in NUL; text that does not fit is cut, not within a character of
// UTF-8, and then ends in "...". With a text_sink a full buffer is given to it and is empty again, so nothing is cut
// until the sink fails.
// Never allocates, never throws, needs no locale. constexpr where its arguments allow. Threads: one per writer.
#pragma once

#include <allot/config.hpp>
#include <allot/core/utf8.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace allot::inline ALLOT_ABI {

/// Takes the text of a full buffer. Returns false if the text is lost; then it is not called again.
struct text_sink {
    bool (*write)(void* context, std::string_view text) noexcept = nullptr;
    void* context = nullptr;
};

/// Appends to a buffer. Each function returns the writer; text that does not fit is cut.
class text_writer {
  public:
    /// Requires: capacity >= 1, in chars, the NUL included. The buffer outlives the writer.
    constexpr text_writer(char* buffer, std::size_t capacity) noexcept : buffer_{buffer}, capacity_{capacity - 1} {
        buffer_[0] = '\0';
    }
    /// A writer of text of any length. Requires: capacity >= 2. flush() gives the rest to `full`. column() counts from
    /// the last time that the buffer was full.
    constexpr text_writer(char* buffer, std::size_t capacity, text_sink full) noexcept : text_writer{buffer, capacity} {
        full_ = full;
    }
    template <std::size_t N> constexpr explicit text_writer(char (&buffer)[N]) noexcept : text_writer{buffer, N} {}

    text_writer(const text_writer&) = delete;
    text_writer& operator=(const text_writer&) = delete;

    ALLOT_OUTLINE constexpr text_writer& put(std::string_view text) noexcept {
        if (truncated_) return *this;
        for (const char c : text) {
            if (size_ == capacity_ && !flush()) return truncate();
            buffer_[size_++] = c;
        }
        buffer_[size_] = '\0';
        return *this;
    }
    constexpr text_writer& put(char c) noexcept { return put(std::string_view{&c, 1}); }
    /// Writes a name of any bytes as one line of UTF-8: control characters as their pictures (U+240A for a newline),
    /// what is no UTF-8 or would change the direction of the text as U+FFFD.
    ALLOT_OUTLINE constexpr text_writer& name(std::string_view text) noexcept {
        detail::each_character(text, [this](std::string_view c) {
            const auto code = static_cast<unsigned char>(c[0]), last = static_cast<unsigned char>(c.back());
            if (code < 0x20 || code == 0x7F) put("\xE2\x90").put(static_cast<char>(code == 0x7F ? 0xA1 : 0x80 + code));
            else if ((c.starts_with("\xE2\x80") && last >= 0xAA && last <= 0xAE) || // U+202A to U+202E
                     (c.starts_with("\xE2\x81") && last >= 0xA6 && last <= 0xA9))   // U+2066 to U+2069
                put(detail::replacement_character);
            else put(c);
        });
        return *this;
    }
    /// Writes a name as name(), cut to 64 bytes, so that what follows fits.
    ALLOT_OUTLINE constexpr text_writer& brief(std::string_view text) noexcept {
        constexpr std::size_t most = 64;
        return text.size() <= most ? name(text)
                                   : name(text.substr(0, detail::whole_characters(text, most - 3))).put("...");
    }
    constexpr text_writer& newline() noexcept { return put('\n'); }

    constexpr text_writer& number(std::uint64_t n) noexcept { return digits(n, 10); }
    constexpr text_writer& hex(std::uint64_t n) noexcept { return put("0x").digits(n, 16); }
    text_writer& pointer(const void* p) noexcept {
        return p == nullptr ? put("null") : hex(reinterpret_cast<std::uintptr_t>(p));
    }

    /// Writes "1.50 GiB" for whole KiB and from 1 MiB on, "1234 bytes" otherwise.
    ALLOT_OUTLINE constexpr text_writer& bytes(std::size_t n) noexcept {
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

    /// Writes "12.34" for hundredths(1234).
    constexpr text_writer& hundredths(std::uint64_t n) noexcept {
        return number(n / 100).put('.').put(static_cast<char>('0' + n / 10 % 10)).put(static_cast<char>('0' + n % 10));
    }

    /// Writes spaces up to column `n` of the current line; one space when the line is already that long.
    ALLOT_OUTLINE constexpr text_writer& column(std::size_t n) noexcept {
        std::size_t start = size_;
        while (start != 0 && buffer_[start - 1] != '\n') --start;
        if (size_ - start >= n) return put(' ');
        while (size_ - start < n && !truncated_) put(' ');
        return *this;
    }

    constexpr void clear() noexcept {
        size_ = 0;
        truncated_ = false;
        buffer_[0] = '\0';
    }

    /// Gives the text to the sink, and clears the buffer. Returns: false without a sink, or after text was lost.
    constexpr bool flush() noexcept {
        if (full_.write == nullptr || truncated_) return false;
        if (size_ != 0 && !full_.write(full_.context, view())) {
            truncated_ = true;
            return false;
        }
        clear();
        return true;
    }

    constexpr std::string_view view() const noexcept { return {buffer_, size_}; }
    constexpr const char* c_str() const noexcept { return buffer_; }
    constexpr std::size_t size() const noexcept { return size_; }
    /// True when text was cut.
    constexpr bool is_truncated() const noexcept { return truncated_; }

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

    constexpr text_writer& truncate() noexcept {
        truncated_ = true;
        size_ = capacity_ >= 3 ? detail::whole_characters(view(), capacity_ - 3) : 0;
        for (std::size_t i = 0; i != 3 && size_ != capacity_; ++i) buffer_[size_++] = '.';
        buffer_[size_] = '\0';
        return *this;
    }

    char* buffer_;
    std::size_t capacity_; // without the NUL
    std::size_t size_ = 0;
    text_sink full_{};
    bool truncated_ = false;
};

} // namespace allot::inline ALLOT_ABI
