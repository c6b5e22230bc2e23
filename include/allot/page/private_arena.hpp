// The arena of a row manager or chunk arena: a private one, or one that was passed in (page::of).
//
// A private arena has the policies page and retain of its owner's set. Cost: none at run time. Threads: those of arena.
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

// `UsualPage`: the page size of a private arena unless the set or the caller names one; 0: by the limit.
template <class Page, class Retain, std::size_t UsualPage = 0> class arena_choice {
  public:
    using accepted =
        std::conditional_t<requires { Page::lent; }, types<page_bytes, std::span<std::byte>>,
                           decltype(types<page_bytes, reserve_bytes>{} + typename page_source<Page>::values{})>;
    using needed =
        std::conditional_t<requires { Page::lent; }, types<std::span<std::byte>>, typename page_source<Page>::needed>;

    // The limit sizes the arena's range and pages; the owner's ledger enforces it.
    template <class... Values>
    arena_choice(const char* name, std::size_t limit, Values&... values)
        : arena_(request_for(limit, values...), name, values...) {}
    arena_base& get() const noexcept { return arena_; }

  private:
    template <class... Values> static range_request request_for(std::size_t limit, Values&... values) noexcept {
        range_request r;
        r.limit = limit;
        r.usual_page = UsualPage;
        r.page_bytes = value_or<page_bytes>({0}, values...).bytes;
        if constexpr (requires { Page::lent; }) r.lent = value_or<std::span<std::byte>>({}, values...);
        else r.reserve_bytes = value_or<reserve_bytes>({0}, values...).bytes;
        return r;
    }
    mutable built_arena<policies<Page, Retain>> arena_;
};

template <class Arena, class Retain, std::size_t UsualPage> class arena_choice<page::of<Arena>, Retain, UsualPage> {
  public:
    using accepted = types<Arena>;
    using needed = types<Arena>;

    template <class... Values>
    arena_choice(const char*, std::size_t, Values&... values) noexcept : arena_(find(values...)) {}
    arena_base& get() const noexcept { return *arena_; }

  private:
    template <class... Values> static Arena* find([[maybe_unused]] Values&... values) noexcept {
        if constexpr (given<Arena, Values&...>) return &pick<Arena>(values...);
        else return nullptr; // check_needed() reports the missing arena
    }
    Arena* arena_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
