// What html_page writes through: text and JSON of any bytes become HTML that shows them, in two fixed buffers.
//
// Invariant: what is given to the sink is valid UTF-8; JSON and text contain no '<', so neither can end its element.
//   json   '<' becomes \u003c, which JSON reads as the same character (it can be in strings only)
//   text   '<' and '&' become entities; control characters but line breaks and tabs are replaced
//   both   what is no UTF-8 becomes U+FFFD, as a browser shows it
// Cost: 32 KiB in the object; allocates nothing. Threads: one at a time.
// Source: the HTML standard, "Restrictions for contents of script elements"; Unicode 15, table 3-7.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace allot::inline ALLOT_ABI {
namespace detail {

class html_stream {
  public:
    enum class content : unsigned char { html, json, text };

    /// `to` takes the HTML. Once it has returned false, it is not called again.
    explicit html_stream(text_sink to) noexcept : out_{out_buffer_.data(), out_buffer_.size(), to} {}
    html_stream(const html_stream&) = delete;
    html_stream& operator=(const html_stream&) = delete;

    /// Writes HTML as it is.
    html_stream& html(std::string_view text) noexcept { return write(content::html, text); }
    html_stream& text(std::string_view text) noexcept { return write(content::text, text); }
    /// Writes what f(text_writer&) writes: JSON of any length.
    template <class Write> html_stream& json(Write f) noexcept {
        as_ = content::json;
        text_writer in{
            in_buffer_.data(),
            in_buffer_.size(),
            {[](void* self, std::string_view part) noexcept { return static_cast<html_stream*>(self)->filter(part); },
             this}};
        f(in);
        in.flush();
        end_sequence();
        return *this;
    }
    /// Gives the sink what is left. Returns: whether all was taken so far.
    bool flush() noexcept { return out_.flush(); }

  private:
    html_stream& write(content as, std::string_view text) noexcept {
        as_ = as;
        filter(text);
        end_sequence();
        return *this;
    }
    bool filter(std::string_view part) noexcept {
        for (const char c : part) take(static_cast<unsigned char>(c));
        return !out_.is_truncated();
    }
    // Takes a byte: a character of its own, the first of a sequence, or a later one.
    void take(unsigned char c) noexcept {
        if (n_ != 0) {
            if (c >= low_ && c <= high_) {
                sequence_[n_++] = static_cast<char>(c);
                low_ = 0x80, high_ = 0xBF;
                if (n_ == length_) {
                    out_.put(std::string_view{sequence_.data(), n_});
                    n_ = 0;
                }
                return;
            }
            end_sequence(); // it ends too early; c begins anew
        }
        if (c < 0x80) return put(static_cast<char>(c));
        length_ = c >= 0xC2 && c <= 0xDF ? 2u : c >= 0xE0 && c <= 0xEF ? 3u : c >= 0xF0 && c <= 0xF4 ? 4u : 0u;
        if (length_ == 0) return replace();
        low_ = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;  // no longer form of a shorter sequence
        high_ = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF; // no surrogate, nothing beyond U+10FFFF
        sequence_[0] = static_cast<char>(c);
        n_ = 1;
    }
    void end_sequence() noexcept {
        if (n_ != 0) replace();
        n_ = 0;
    }
    void replace() noexcept { out_.put("\xEF\xBF\xBD"); }
    void put(char c) noexcept {
        if (as_ == content::json && c == '<') out_.put("\\u003c");
        else if (as_ == content::text && c == '<') out_.put("&lt;");
        else if (as_ == content::text && c == '&') out_.put("&amp;");
        else if (as_ == content::text && ((c < ' ' && c != '\n' && c != '\t') || c == 0x7F)) replace();
        else out_.put(c);
    }

    std::array<char, 16 * 1024> in_buffer_, out_buffer_;
    text_writer out_;
    content as_ = content::html;
    std::array<char, 4> sequence_{}; // of UTF-8, begun
    std::size_t n_ = 0, length_ = 0; // bytes of it: taken, of all
    unsigned char low_ = 0x80, high_ = 0xBF;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
