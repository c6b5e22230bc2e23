// type_name<T>(): the name of a type as a constant, without RTTI.
//
// The inline namespace is left out, "allot::size::packed"; apart from that it is the compiler's spelling, so
// use it to tell people, not to compare. Made once a type, at compile time; constants of the host's program.
#pragma once

#include <allot/config.hpp>

#include <array>
#include <cstddef>
#include <string_view>

// Outside of namespace allot: g++ leaves out the namespaces that the function itself stands in.
namespace allot_type_name::inline ALLOT_ABI {
template <class T> constexpr std::string_view signature() noexcept { return ALLOT_SIGNATURE; }
} // namespace allot_type_name::inline ALLOT_ABI

namespace allot::inline ALLOT_ABI {

namespace detail {

struct name_frame {
    std::size_t before; // chars of a signature in front of the name
    std::size_t after;
};

constexpr name_frame frame_of_names() noexcept {
    constexpr std::string_view text = allot_type_name::signature<double>();
    constexpr std::size_t at = text.find("double");
    return {at, text.size() - at - std::string_view{"double"}.size()};
}

// Copies `from` without the inline namespace and g++'s blank in "> >"; out may be null. Returns the size.
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

template <class T> constexpr std::string_view type_name() noexcept {
    return {detail::name_of<T>::text.data(), detail::name_of<T>::text.size() - 1};
}

/// The same as a NUL-terminated text.
template <class T> constexpr const char* type_name_c_str() noexcept { return detail::name_of<T>::text.data(); }

} // namespace allot::inline ALLOT_ABI
