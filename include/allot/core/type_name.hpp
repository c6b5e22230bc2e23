// type_name<T>(): the name of a type as a constant, without RTTI.
//
// The inline namespace is left out ("allot::size::packed"); the rest is the compiler's spelling, so show it, but do not
// compare it. Cost: once per type, at compile time. Host only.
#pragma once

#include <allot/config.hpp>

#include <array>
#include <cstddef>
#include <string_view>

// Outside namespace allot: g++ leaves out the enclosing namespaces of the function.
namespace allot_type_name::inline ALLOT_ABI {
template <class T> constexpr std::string_view signature() noexcept { return ALLOT_SIGNATURE; }
} // namespace allot_type_name::inline ALLOT_ABI

namespace allot::inline ALLOT_ABI {
namespace detail {

struct name_frame {
    std::size_t before; // chars of a signature before the name
    std::size_t after;
};

constexpr name_frame frame_of_names() noexcept {
    constexpr std::string_view text = allot_type_name::signature<double>();
    constexpr std::size_t at = text.find("double");
    return {at, text.size() - at - std::string_view{"double"}.size()};
}

// Copies `from` without the inline namespace and g++'s space in "> >"; out may be null. Returns the size.
constexpr std::size_t strip_version(std::string_view from, char* out) noexcept {
    constexpr std::string_view version = "allot::" ALLOT_TEXT(ALLOT_ABI) "::";
    std::size_t n = 0;
    while (!from.empty()) {
        if (from.starts_with(" >")) from.remove_prefix(1);
        const bool versioned = from.starts_with(version);
        const std::string_view piece = from.substr(0, versioned ? 7 : 1);
        for (const char c : piece) {
            if (out != nullptr) out[n] = c;
            ++n;
        }
        from.remove_prefix(versioned ? version.size() : 1);
    }
    return n;
}

template <class T> struct name_of {
    static constexpr std::string_view full = allot_type_name::signature<T>();
    static constexpr std::string_view raw =
        full.substr(frame_of_names().before, full.size() - frame_of_names().before - frame_of_names().after);
    static constexpr auto text = [] {
        std::array<char, strip_version(raw, nullptr) + 1> out{};
        strip_version(raw, out.data());
        return out;
    }();
};

} // namespace detail

/// The name of T, as the compiler spells it, without the inline namespace.
template <class T> constexpr std::string_view type_name() noexcept {
    return {detail::name_of<T>::text.data(), detail::name_of<T>::text.size() - 1};
}

namespace detail {

/// As type_name(), NUL-terminated.
template <class T> constexpr const char* type_name_c_str() noexcept { return detail::name_of<T>::text.data(); }

} // namespace detail
} // namespace allot::inline ALLOT_ABI
