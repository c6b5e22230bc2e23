// The arena of a row manager or chunk arena: a private one, or one that was passed in (page::of).
//
// A private arena has the policies page and retain of its owner's set; its owner is charged for what is committed.
// Cost: none at run time. Threads: those of arena.
#pragma once

#include <allot/core/policies.hpp>
#include <allot/core/values.hpp>
#include <allot/page/arena.hpp>
#include <allot/page/of.hpp>
#include <allot/page/page_payer.hpp>
#include <allot/page/page_source.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

// `UsualPage`: the page size of a private arena unless the set or the caller names one; 0: by the limit.
template <class Page, class Retain, std::size_t UsualPage = 0> class arena_choice {
    using arena_type = arena<policies<Page, Retain>>;
    using source = range_source<Page, Retain>;

  public:
    using accepted = typename source::accepted;
    using needed = typename source::needed;

    // The limit sizes the arena's range and pages; the owner's ledger enforces it. `payer`: null if it charges nothing.
    template <class... Values>
    arena_choice(const char* name, std::size_t limit, page_payer* payer, Values&... values)
        : arena_({source::request_of(limit, UsualPage, values...), SIZE_MAX, name, {}}, values...) {
        if (payer != nullptr) arena_.set_payer(*payer);
    }
    page_arena& get() const noexcept { return arena_; }

  private:
    mutable arena_type arena_;
};

template <class Arena, class Retain, std::size_t UsualPage> class arena_choice<page::of<Arena>, Retain, UsualPage> {
  public:
    using accepted = types<Arena>;
    using needed = types<Arena>;

    template <class... Values>
    arena_choice(const char*, std::size_t, page_payer*, Values&... values) noexcept : arena_(find(values...)) {}
    page_arena& get() const noexcept { return *arena_; }

  private:
    template <class... Values> static Arena* find([[maybe_unused]] Values&... values) noexcept {
        if constexpr (given<Arena, Values&...>) return &pick<Arena>(values...);
        else return nullptr; // check_needed() reports the missing arena
    }
    Arena* arena_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
