// row_ptr<T>: a smart pointer that holds one link of a row.
//
// Invariant: null, a row of which it holds one link, or an address outside every arena (a constant).
// Cost: one word; copies cost link(), destruction release(). Threads: as std::shared_ptr: each object by one at a time.
// Source: HPCC roxiemem's OwnedRoxieRow and OwnedConstRoxieRow, 2009.
#pragma once

#include <allot/config.hpp>
#include <allot/row/row.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace allot::inline ALLOT_ABI {

/// Shares a row: a copy adds a link, the destructor releases one. Requires: the row's manager outlives it.
template <class T> class row_ptr {
  public:
    using element_type = T;

    constexpr row_ptr() noexcept = default;
    constexpr row_ptr(std::nullptr_t) noexcept {}
    row_ptr(const row_ptr& other) noexcept : row_(other.row_) { allot::link(row_); }
    row_ptr(row_ptr&& other) noexcept : row_(other.detach()) {}
    /// One through which the row is not changed.
    template <class U>
        requires(std::is_same_v<const U, T>)
    row_ptr(row_ptr<U> other) noexcept : row_(other.detach()) {}
    row_ptr& operator=(row_ptr other) noexcept {
        std::swap(row_, other.row_);
        return *this;
    }
    ~row_ptr() {
        if (row_ != nullptr) allot::release(row_);
    }

    /// Returns: a row_ptr that takes over the caller's link; adds none.
    static row_ptr adopt(T* row) noexcept {
        row_ptr p;
        p.row_ = row;
        return p;
    }
    /// Returns: a row_ptr that adds a link. Requires: the caller holds one.
    static row_ptr linked(T* row) noexcept {
        allot::link(row);
        return adopt(row);
    }

    T* get() const noexcept { return row_; }
    T& operator*() const noexcept { return *row_; }
    T* operator->() const noexcept { return row_; }
    explicit operator bool() const noexcept { return row_ != nullptr; }

    /// Returns: the row; the caller takes over the link. The row_ptr is null afterwards.
    [[nodiscard]] T* detach() noexcept { return std::exchange(row_, nullptr); }
    void reset() noexcept { row_ptr().swap(*this); }
    void swap(row_ptr& other) noexcept { std::swap(row_, other.row_); }

    friend bool operator==(const row_ptr& a, const row_ptr& b) noexcept { return a.row_ == b.row_; }

  private:
    T* row_ = nullptr;
};

static_assert(sizeof(row_ptr<int>) == sizeof(int*));

} // namespace allot::inline ALLOT_ABI
