// Where a row manager's pages come from: an arena of its own, or one that it was given.
//
// The policies page and retain of the manager's set become those of the private arena. Cost: none at run time.
#pragma once

#include <allot/core/policies.hpp>
#include <allot/core/values.hpp>
#include <allot/page/arena.hpp>
#include <allot/page/of.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Page, class Retain> class arena_choice {
  public:
    using accepted =
        std::conditional_t<requires { Page::lent; }, types<page_bytes, std::span<std::byte>>,
                           decltype(types<page_bytes, reserve_bytes>{} + typename page_source<Page>::values{})>;
    using needed =
        std::conditional_t<requires { Page::lent; }, types<std::span<std::byte>>, typename page_source<Page>::needed>;

    // The manager's limit shapes the arena but does not limit it: the manager's ledger does.
    template <class... Values>
    arena_choice(const char* name, std::size_t limit, Values&... values)
        : arena_(request_for(limit, values...), name, values...) {}
    arena_base& get() const noexcept { return arena_; }

  private:
    template <class... Values> static range_request request_for(std::size_t limit, Values&... values) noexcept {
        range_request r;
        r.limit = limit != SIZE_MAX ? limit : 0;
        r.page_bytes = value_or<page_bytes>({0}, values...).bytes;
        if constexpr (requires { Page::lent; }) r.lent = value_or<std::span<std::byte>>({}, values...);
        else r.reserve_bytes = value_or<reserve_bytes>({0}, values...).bytes;
        return r;
    }
    mutable built_arena<policies<Page, Retain>> arena_;
};

template <class Arena, class Retain> class arena_choice<page::of<Arena>, Retain> {
  public:
    using accepted = types<Arena>;
    using needed = types<Arena>;

    template <class... Values>
    arena_choice(const char*, std::size_t, Values&... values) noexcept : arena_(find(values...)) {}
    arena_base& get() const noexcept { return *arena_; }

  private:
    template <class... Values> static Arena* find([[maybe_unused]] Values&... values) noexcept {
        if constexpr (given<Arena, Values&...>) return &pick<Arena>(values...);
        else return nullptr; // that it is missing was told
    }
    Arena* arena_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
