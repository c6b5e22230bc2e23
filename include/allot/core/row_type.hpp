// The type of a row: its name in reports, destructor, alignment and check.
//
// A row_type is identified by its address, and must outlive every manager that it was passed to (docs/rules.md, Row
// types); `row_type_of<T>` lives until the program ends. `destroy` is called at the last release of a finalized row; it
// must not throw, and may release other rows. Rows of packed heaps are aligned to 4 bytes, others to 8, and to at most
// 4096 on request. A type that is more than its bytes has encode and decode, if its rows are to leave memory. A check
// appends 4 bytes to each row: seal(row) writes them; check(row) and the last release compare the row with them.
// Source: IRowAllocatorCache (HPCC roxiemem, 2010), with the functions in the type itself; thorhelper's row checks.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/core/checksum.hpp>
#include <allot/core/type_name.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

namespace allot::inline ALLOT_ABI {

class row_writer;
class row_reader;

/// How compaction and resize move a row that holds a T: not at all, as bytes, or by its move constructor.
enum class relocation : std::uint8_t { none, bytes, moved };

namespace detail {

template <class T> constexpr relocation find_relocation() noexcept {
    if constexpr (requires { relocation{T::row_relocation}; }) return T::row_relocation;
    else return std::is_trivially_copyable_v<T> ? relocation::bytes : relocation::none;
}

} // namespace detail

/// T::row_relocation, if T has that; else `bytes` for a type that is trivially copyable, and `none`. To be specialized
/// for types of others: template <> inline constexpr auto allot::relocation_of<their_type> = allot::relocation::bytes;
template <class T> inline constexpr relocation relocation_of = detail::find_relocation<T>();

/// Values of row_type::relocate, which are not called: rows move as bytes; rows do not move.
inline void relocate_bytes(void*, void*) noexcept {}
inline void relocate_never(void*, void*) noexcept {}

/// Describes rows of one type.
struct row_type {
    const char* name = "row";
    void (*destroy)(void*) noexcept = nullptr; // null: nothing to destroy
    std::size_t align = 0;                     // bytes; 0: the heap's, 8, or 4 in a packed heap
    row_check check = row_check::none;         // 4 bytes of each row's capacity; needs link counts
    // Makes the memory `to` the row at `from`, whose object ends. Called without a lock; must not use the manager.
    // Null: relocate_bytes, or relocate_never where there is something to destroy.
    void (*relocate)(void* to, void* from) noexcept = nullptr;
    // For stores (row_encoding.hpp): both or none. encode() writes the row; decode() makes it in memory of the size
    // that it had. False, or an exception: nothing was made. They hold no lock, and may use the manager; encode() may
    // not.
    void (*encode)(const void* row, row_writer& to) noexcept = nullptr;
    bool (*decode)(void* row, row_reader& from) = nullptr;

    static constexpr std::size_t max_align = 4096;

    constexpr bool can_move() const noexcept {
        return relocate == nullptr ? destroy == nullptr : relocate != &relocate_never;
    }
    constexpr bool moves_as_bytes() const noexcept { return relocate == nullptr || relocate == &relocate_bytes; }
    // Whether `relocate` moves the row, not a copy of its bytes. `constructed`: the row is finalized.
    constexpr bool moves_as_object(bool constructed) const noexcept {
        return !moves_as_bytes() && (destroy == nullptr || constructed);
    }
    // Whether the row is more than its bytes: a store keeps what encode() writes of it.
    constexpr bool leaves_encoded(bool constructed) const noexcept {
        return destroy != nullptr ? constructed : !moves_as_bytes() || encode != nullptr;
    }
    constexpr std::size_t check_bytes() const noexcept { return check == row_check::none ? 0 : 4; }
};

/// The row type of plain bytes.
inline constexpr row_type untyped{};

namespace detail {

// Untyped rows for the adaptors, aligned to 16 bytes, as memory_resource::allocate aligns by default.
inline constexpr row_type untyped_of_16{.align = 16};
// Bytes aligned to 32, 64, .. 4096.
inline constexpr std::array<row_type, 8> aligned_bytes = [] {
    std::array<row_type, 8> all{};
    for (std::size_t i = 0; i != all.size(); ++i) all[i] = {"bytes", nullptr, std::size_t{32} << i};
    return all;
}();
static_assert(aligned_bytes.back().align == row_type::max_align);

// The type of plain bytes. Requires: a power of two, 4096 at most.
constexpr const row_type& bytes_aligned_to(std::size_t align) noexcept {
    return align <= 8 ? untyped : align == 16 ? untyped_of_16 : aligned_bytes[log2_floor(align) - 5];
}

template <class T> void destroy_row(void* row) noexcept { static_cast<T*>(row)->~T(); }

template <class T> void relocate_row(void* to, void* from) noexcept {
    static_assert(std::is_nothrow_move_constructible_v<T>, "allot: a row is moved by a constructor that may not throw");
    ::new (to) T(std::move(*static_cast<T*>(from)));
    static_cast<T*>(from)->~T();
}

// T says itself how it is written, and made again.
template <class T>
concept encoded_row = requires(const T& row, row_writer& to, row_reader& from) {
    row.encode(to);
    T(from);
};
template <class T> void encode_row(const void* row, row_writer& to) noexcept { static_cast<const T*>(row)->encode(to); }
template <class T> bool decode_row(void* row, row_reader& from) { return ::new (row) T(from), true; }

template <class T> constexpr row_type make_row_type() noexcept {
    static_assert(std::is_object_v<T> && !std::is_array_v<T>,
                  "allot: a row must hold an object that is not an array: use a class or scalar type");
    static_assert(alignof(T) <= row_type::max_align, "allot: rows are aligned to 4096 bytes at most");
    row_type type{type_name_c_str<T>(), nullptr, alignof(T) < 4 ? 4 : alignof(T)};
    if constexpr (!std::is_trivially_destructible_v<T>) type.destroy = &destroy_row<T>;
    type.relocate = relocation_of<T> == relocation::none ? &relocate_never : &relocate_bytes;
    if constexpr (relocation_of<T> == relocation::moved) type.relocate = &relocate_row<T>;
    if constexpr (encoded_row<T>) type.encode = &encode_row<T>, type.decode = &decode_row<T>;
    return type;
}

} // namespace detail

/// The row type of T.
/// Requires: T is an object type, no array, aligned to at most 4096 bytes.
template <class T> inline constexpr row_type row_type_of = detail::make_row_type<T>();

} // namespace allot::inline ALLOT_ABI
