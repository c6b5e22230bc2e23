// What html_page writes through: text of any bytes and JSON become HTML that shows them, in two fixed buffers.
//
// Invariant: what is given to the sink is valid UTF-8; JSON and text contain no '<', so neither can end its element.
//   json   '<' becomes \u003c, which JSON reads as the same character (it can be in strings only)
//   text   '<' and '&' become entities; control characters but line breaks and tabs, and what is no UTF-8, are replaced
// Cost: 32 KiB in the object; allocates nothing. Threads: one at a time.
// Source: the HTML standard, "Restrictions for contents of script elements".
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>
#include <allot/core/utf8.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace allot::inline ALLOT_ABI {
namespace detail {

class html_stream {
  public:
    /// `to` takes the HTML. Once it has returned false, it is not called again.
    explicit html_stream(text_sink to) noexcept : out_{out_buffer_.data(), out_buffer_.size(), to} {}
    html_stream(const html_stream&) = delete;
    html_stream& operator=(const html_stream&) = delete;

    /// Writes HTML as it is.
    html_stream& html(std::string_view text) noexcept {
        out_.put(text);
        return *this;
    }
    html_stream& text(std::string_view text) noexcept {
        detail::each_character(text, [this](std::string_view c) {
            const auto code = static_cast<unsigned char>(c[0]);
            if (c == "<") out_.put("&lt;");
            else if (c == "&") out_.put("&amp;");
            else if ((code < ' ' && c != "\n" && c != "\t") || code == 0x7F) out_.put(detail::replacement_character);
            else out_.put(c);
        });
        return *this;
    }
    /// Writes what f(text_writer&) writes: JSON of any length.
    template <class Write> html_stream& json(Write f) noexcept {
        text_writer in{
            in_buffer_.data(),
            in_buffer_.size(),
            {[](void* self, std::string_view part) noexcept { return static_cast<html_stream*>(self)->put_json(part); },
             this}};
        f(in);
        in.flush();
        return *this;
    }
    /// Gives the sink what is left. Returns: whether all was taken so far.
    bool flush() noexcept { return out_.flush(); }

  private:
    ALLOT_OUTLINE bool put_json(std::string_view part) noexcept {
        for (std::size_t at; !part.empty(); part.remove_prefix(at)) {
            at = part.find('<');
            if (at == 0) out_.put("\\u003c"), at = 1;
            else out_.put(part.substr(0, at = at < part.size() ? at : part.size()));
        }
        return !out_.is_truncated();
    }

    std::array<char, 16 * 1024> in_buffer_, out_buffer_;
    text_writer out_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
