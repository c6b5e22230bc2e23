// chunk_arena<Set> for a set that makes none. Part of chunk_arena.hpp.
#pragma once

#include <allot/chunk/chunk_arena.hpp>

namespace allot::inline ALLOT_ABI {

// A set that makes no chunk arena: its mistake is reported once, and uses of the class give no further errors.
template <class Set>
    requires(!detail::makes_chunk_arena<Set>())
class chunk_arena<Set> : public detail::refused<Set, product::chunk_arena> {
    using checked = decltype(detail::check_chunk_arena<Set>());

  public:
    using detail::refused<Set, product::chunk_arena>::refused;

    template <class... As> block allocate(As&&...) const noexcept; // programs use members of the result
    template <class... As> block try_allocate(As&&...) const noexcept;
    template <class... As> block allocate_for(As&&...) const noexcept;
    template <class... As> block resize(As&&...) const noexcept;
    template <class... As> chunk_stats stats(As&&...) const noexcept;
};

} // namespace allot::inline ALLOT_ABI
