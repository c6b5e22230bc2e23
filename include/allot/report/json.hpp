// Writes JSON into a text_writer: it sets commas and quotes, the caller nests.
//
// Invariant: the text is valid UTF-8, whatever the names are (core/utf8.hpp).
// Never allocates. If the buffer is too small, the text is cut and is no JSON: check is_truncated(). Threads: one per
// writer.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>
#include <allot/core/utf8.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace allot::inline ALLOT_ABI {
namespace detail {

/// A writer of JSON; each call returns the writer, so calls chain.
class json_writer {
  public:
    explicit json_writer(text_writer& out) noexcept : out_(out) {}

    /// Opens an object, or an array with '['.
    json_writer& open(char bracket = '{') noexcept {
        separate();
        out_.put(bracket);
        comma_ = false;
        return *this;
    }
    json_writer& close(char bracket = '}') noexcept {
        out_.put(bracket);
        comma_ = true;
        return *this;
    }
    json_writer& key(std::string_view name) noexcept {
        separate();
        quoted(name);
        out_.put(':');
        comma_ = false;
        return *this;
    }
    json_writer& value(std::string_view text) noexcept {
        separate();
        quoted(text);
        return *this;
    }
    json_writer& value(const char* text) noexcept { return value(std::string_view{text}); }
    template <std::unsigned_integral Number> json_writer& value(Number n) noexcept {
        separate();
        if constexpr (std::same_as<Number, bool>) out_.put(n ? "true" : "false");
        else out_.number(n);
        return *this;
    }
    /// Writes hundredths / 100 with two decimals.
    json_writer& decimal(std::uint64_t hundredths) noexcept {
        separate();
        out_.hundredths(hundredths);
        return *this;
    }
    /// Writes "name": value.
    template <class Value> json_writer& put(std::string_view name, Value value) noexcept {
        return key(name).value(value);
    }

  private:
    void separate() noexcept {
        if (comma_) out_.put(',');
        comma_ = true;
    }
    ALLOT_OUTLINE void quoted(std::string_view text) noexcept {
        out_.put('"');
        detail::each_character(text, [this](std::string_view c) {
            const auto code = static_cast<unsigned char>(c[0]);
            if (c == "\"" || c == "\\") out_.put('\\').put(c);
            else if (code >= 0x20) out_.put(c);
            else out_.put("\\u00").put("0123456789abcdef"[code / 16]).put("0123456789abcdef"[code % 16]);
        });
        out_.put('"');
    }
    text_writer& out_;
    bool comma_ = false;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
