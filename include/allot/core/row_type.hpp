// What a row is: its name in reports, how it is destroyed, how it is aligned.
//
// A row_type is told apart by its address and must outlive the rows that name it; `row_type_of<T>` lives for
// ever. `destroy` is called at a row's last release when the row was finalized; it must not throw, and may
// release other rows. Rows of packed heaps are aligned to 4 bytes, others to 8, up to 64 on demand. A type with a check
// has it appended to each row: seal(row) writes it, check(row) and the last release hold the row against it.
// Source: IRowAllocatorCache (HPCC roxiemem, 2010), with the functions in the type itself; thorhelper's row checks.
#pragma once

#include <allot/config.hpp>
#include <allot/core/checksum.hpp>
#include <allot/core/type_name.hpp>

#include <cstddef>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

struct row_type {
    const char* name = "row";
    void (*destroy)(void*) noexcept = nullptr; // null: nothing to destroy
    std::size_t align = 0;                     // 0: as the heap has it, 8, or 4 where it is packed
    row_check check = row_check::none;         // 4 bytes a row, out of its capacity; for rows with link counts

    constexpr std::size_t check_bytes() const noexcept { return check == row_check::none ? 0 : 4; }
};

// Rows of which only the bytes are known.
inline constexpr row_type untyped{};

namespace detail {

template <class T> void destroy_row(void* row) noexcept { static_cast<T*>(row)->~T(); }

template <class T> constexpr row_type make_row_type() noexcept {
    static_assert(std::is_object_v<T> && !std::is_array_v<T>, "allot: a row holds an object");
    static_assert(alignof(T) <= 64, "allot: rows are aligned to 64 bytes at most");
    row_type type{type_name_c_str<T>(), nullptr, alignof(T) < 4 ? 4 : alignof(T)};
    if constexpr (!std::is_trivially_destructible_v<T>) type.destroy = &destroy_row<T>;
    return type;
}

} // namespace detail

template <class T> inline constexpr row_type row_type_of = detail::make_row_type<T>();

} // namespace allot::inline ALLOT_ABI
