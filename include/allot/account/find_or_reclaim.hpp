// A product's request, made again while reclaimers free memory (the face of spill::chain), or while it waits.
//
// Requires that the thread holds no lock, and that each cache is as it is between two requests: a reclaimer may use the
// product. Cost: none without spill::chain; with it, one byte is written where a cache is empty. Threads: any.
#pragma once

#include <allot/account/memory_request.hpp>
#include <allot/config.hpp>
#include <allot/core/units.hpp>

#include <atomic>

namespace allot::inline ALLOT_ABI {

struct wait_limit; // reclaim/wait_limit.hpp

namespace detail {

struct waiter; // account/wait_list.hpp
// The waiting request of this thread, while it is made again; else null.
inline constinit thread_local waiter* trying_of_this_thread = nullptr;

// What find() returns; if that is null since an account refused, what again() returns while its reclaimers free memory.
// again() looks into caches first, since a reclaimer may have filled them.
template <bool Asks, class Ledger, class Find, class Again>
ALLOT_ALWAYS_INLINE auto find_or_reclaim([[maybe_unused]] Ledger& ledger, [[maybe_unused]] const memory_request& asked,
                                         Find find, [[maybe_unused]] Again again) {
    auto got = find();
    if constexpr (Asks)
        if (ALLOT_UNLIKELY(!got)) ledger.serve(asked, [&] { return static_cast<bool>(got = again()); });
    return got;
}

// What again() returns, made until that is not null or the wait ends: the face of allocate_for(). `waiting` counts the
// requests that wait for what the product itself has in pages.
template <class Ledger, class Again, class... Count>
auto find_or_wait(Ledger& ledger, memory_request& asked, const wait_limit& wait, Again again, Count&... waiting) {
    auto got = again();
    if (got) return got;
    (waiting.fetch_add(1, std::memory_order_seq_cst), ...);
    ledger.wait_for(asked, wait, [&] { return static_cast<bool>(got = again()); });
    (waiting.fetch_sub(1, std::memory_order_relaxed), ...);
    return got;
}

// The face of oom::state_machine: what again() returns, made after a refusal while the arbiter lets it wait; null if
// that ends it, or does not know the thread. Throws its verdict.
template <class Account, class Again, class... Count>
ALLOT_NOINLINE auto find_or_be_judged(Account& by, memory_request& asked, Again again, Count&... waiting) {
    decltype(again()) got{};
    if (!by.is_judged()) return got;
    (waiting.fetch_add(1, std::memory_order_seq_cst), ...);
    by.wait_for(asked.why, forever, [&] { return static_cast<bool>(got = again()); });
    (waiting.fetch_sub(1, std::memory_order_relaxed), ...);
    if (!got) by.raise_verdict(asked.why);
    return got;
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
