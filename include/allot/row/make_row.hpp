// Constructs an object in a row, which its last release then destroys.
//
// Cost: none beyond the constructor's. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/row/row_ptr.hpp>

#include <new>
#include <type_traits>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

// A row without an object, or null; a constructor that throws releases it.
template <class T, class... Args> row_ptr<T> make_in(void* row, Args&&... args) {
    if (row == nullptr) return nullptr;
    auto made = row_ptr<unsigned char>::adopt(static_cast<unsigned char*>(row));
    T* object = nullptr;
    if constexpr (std::is_constructible_v<T, Args...>) object = ::new (row) T(std::forward<Args>(args)...);
    else object = ::new (row) T{std::forward<Args>(args)...}; // an aggregate
    static_cast<void>(made.detach());
    if constexpr (!std::is_trivially_destructible_v<T>) allot::finalize(const_cast<std::remove_const_t<T>*>(object));
    return row_ptr<T>::adopt(object);
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
