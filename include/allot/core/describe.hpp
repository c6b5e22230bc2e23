// describe<Set>(): the resolved set, fallbacks included, as data and as text.
//
//     for (const allot::answer_line& line : allot::describe<thor_rows>()) ...
//     std::puts(allot::describe<thor_rows>().text().c_str());
//     allot::describe<thor_rows>(out);                     // into a text_writer
//
// All of it is constant; nothing allocates. Host only. The names of answers are the compiler's.
// Source: mallocMC's Allocator::info, 2014.
#pragma once

#include <allot/core/diagnose.hpp>
#include <allot/core/text.hpp>
#include <allot/core/type_name.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace allot::inline ALLOT_ABI {

/// One category of a resolved set.
struct answer_line {
    std::string_view category; // "slots"
    std::string_view question;
    std::string_view answer; // "slots::linked"
    bool named;              // false: the fallback
    std::string_view about;
    std::string_view cost;
};

namespace detail {

/// A NUL-terminated text of fixed size.
template <std::size_t Size> struct fixed_text {
    char chars[Size + 1]{};

    constexpr const char* c_str() const noexcept { return chars; }
    constexpr std::string_view view() const noexcept { return {chars, Size}; }
    constexpr operator std::string_view() const noexcept { return view(); }
};

// Copies a name without "allot::"; out may be null. Returns the size.
constexpr std::size_t strip_library(std::string_view from, char* out) noexcept {
    constexpr std::string_view library = "allot::";
    std::size_t n = 0;
    char before = ' ';
    while (!from.empty()) {
        const bool inside = before == ':' || before == '_' || (before >= '0' && before <= '9') ||
                            (before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z');
        if (!inside && from.starts_with(library)) from.remove_prefix(library.size());
        before = from.front();
        if (out != nullptr) out[n] = before;
        ++n;
        from.remove_prefix(1);
    }
    return n;
}

template <class T> struct short_name_of {
    static constexpr auto text = [] {
        fixed_text<strip_library(type_name<T>(), nullptr)> out;
        strip_library(type_name<T>(), out.chars);
        return out;
    }();
};

} // namespace detail

/// The description of a Set for a Product: a range of answer_line, in the product's order.
template <class Set, class Product> class description {
    using resolved_set = detail::resolved<Set, Product>;

    template <class... Categories>
    static constexpr std::array<answer_line, sizeof...(Categories)> make(types<Categories...>) noexcept {
        return {line<Categories, typename resolved_set::template answer<Categories>>()...};
    }
    template <class Category, class Answer> static constexpr answer_line line() noexcept {
        return {Category::name,
                Category::question,
                detail::short_name_of<Answer>::text.view(),
                resolved_set::template names<Category>,
                detail::about<Answer>(),
                detail::cost<Answer>()};
    }

    static constexpr auto lines = make(typename Product::reads{});

  public:
    static constexpr std::string_view set() noexcept { return type_name<Set>(); }
    static constexpr std::string_view product() noexcept { return Product::name; }

    static constexpr auto begin() noexcept { return lines.data(); }
    static constexpr auto end() noexcept { return lines.data() + lines.size(); }
    static constexpr std::size_t size() noexcept { return lines.size(); }

    /// Writes one line per category: "slots   slots::linked   fallback  a list through the free slots".
    static constexpr void write(text_writer& out) noexcept {
        std::size_t width = 0;
        for (const answer_line& line : lines) width = line.answer.size() > width ? line.answer.size() : width;
        out.put(product()).put(" of ").put(set()).newline();
        for (const answer_line& line : lines) {
            out.put("  ").put(line.category).column(10).put(line.answer).column(12 + width);
            out.put(line.named ? "named     " : "fallback  ").put(line.about).newline();
        }
    }

    /// Returns: the text that write() writes, as a constant.
    static constexpr const auto& text() noexcept { return whole; }

  private:
    static constexpr std::size_t max_text_bytes = 16384;

    static constexpr std::size_t text_size() noexcept {
        detail::fixed_text<max_text_bytes> out;
        text_writer writer{out.chars};
        write(writer);
        return writer.size();
    }
    static constexpr auto make_text() noexcept {
        detail::fixed_text<text_size()> out;
        text_writer writer{out.chars};
        write(writer);
        return out;
    }
    static constexpr auto whole = make_text();
};

namespace detail {

struct no_description {
    static constexpr const answer_line* begin() noexcept { return nullptr; }
    static constexpr const answer_line* end() noexcept { return nullptr; }
    static constexpr std::size_t size() noexcept { return 0; }
    static constexpr std::string_view set() noexcept { return {}; }
    static constexpr std::string_view product() noexcept { return {}; }
    static constexpr void write(text_writer&) noexcept {}
    static constexpr fixed_text<0> text() noexcept { return {}; }
};

} // namespace detail

/// Returns: the description of a set. A set that is refused is a compile-time error.
template <class Set, class Product = product::row_manager> constexpr auto describe() noexcept {
    check<Set, Product>();
    if constexpr (well_formed<Set, Product>) return description<Set, Product>{};
    else return detail::no_description{};
}

/// Writes the description of a set to `out`.
template <class Set, class Product = product::row_manager> constexpr void describe(text_writer& out) noexcept {
    describe<Set, Product>().write(out);
}

} // namespace allot::inline ALLOT_ABI
