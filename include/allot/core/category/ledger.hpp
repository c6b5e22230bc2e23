// The category `ledger`: who is charged. Tags; ledger/ keeps the accounts.
#pragma once

#include <allot/core/policy.hpp>

namespace allot::inline ALLOT_ABI {

namespace ledger {

struct none;
struct counter;
struct tree;  // allot/ledger/tree.hpp
struct pool;  // allot/ledger/pool.hpp
struct split; // allot/ledger/split.hpp

} // namespace ledger

namespace category {

struct ledger {
    static constexpr std::string_view name = "ledger";
    static constexpr std::string_view question = "who is charged";
    static constexpr std::string_view contract = "bool charges: pages are charged, and the limit is hard";
    static constexpr std::string_view fallback_rule = "counter";
    static constexpr std::string_view room = "ledger";
    using fallback = allot::ledger::counter;

    template <class P>
    static constexpr bool takes = detail::answers<P, ledger> && requires {
        { P::charges } -> detail::constant<bool>;
    };
};

} // namespace category

namespace ledger {

/// No account and no limit.
struct none {
    using category = category::ledger;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool charges = false;
    static constexpr std::string_view about = "nobody; only the arena's size limits the pages";
    static constexpr std::string_view cost = "0";
};

/// One account per object, with a hard limit.
struct counter {
    using category = category::ledger;
    using needs = types<>;
    using provides = types<>;
    static constexpr bool charges = true;
    static constexpr std::string_view about = "an account private to the object, with a hard limit and a peak";
    static constexpr std::string_view cost = "one compare-and-swap per page";
};

static_assert(category::ledger::takes<none>);
static_assert(category::ledger::takes<counter>);

} // namespace ledger

} // namespace allot::inline ALLOT_ABI
