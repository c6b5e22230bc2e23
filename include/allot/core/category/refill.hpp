// The category `refill`: how many slots a handle takes at once.
#pragma once

#include <allot/core/policy.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {

namespace refill {

struct single;

} // namespace refill

namespace category {

struct refill {
    static constexpr std::string_view name = "refill";
    static constexpr std::string_view question = "how many slots does a handle take at once";
    static constexpr std::string_view contract = "std::size_t batch: the slots per refill, 1 to 256";
    static constexpr std::string_view fallback_rule = "single";
    static constexpr std::string_view room = "row";
    using fallback = allot::refill::single;

    template <class P>
    static constexpr bool takes = detail::answers<P, refill> && requires {
        { P::batch } -> detail::constant<std::size_t>;
    };
};

} // namespace category

namespace refill {

/// One slot at a time.
struct single {
    using category = category::refill;
    using needs = types<>;
    using provides = types<>;
    static constexpr std::size_t batch = 1;
    static constexpr std::string_view about = "one, so that a handle keeps no free rows";
    static constexpr std::string_view cost = "an operation on the heap's lists per row";
};

/// `Slots` at a time, for a handle of one thread.
template <std::size_t Slots> struct blocked {
    using category = category::refill;
    using needs = types<>;
    using provides = types<>;
    static constexpr std::size_t batch = Slots;
    static constexpr bool options_valid = Slots >= 1 && Slots <= 256;
    static constexpr std::string_view about = "this many, cached by a handle of one thread";
    static constexpr std::string_view cost = "up to three times this many free rows per handle";
};

static_assert(category::refill::takes<single>);
static_assert(category::refill::takes<blocked<16>>);

} // namespace refill

} // namespace allot::inline ALLOT_ABI
