// expected-error {{the set must name a policy of a category that has no fallback}} {{kitchen}} {{flavour}}
#include <allot/core/describe.hpp>

struct flavour {
    static constexpr std::string_view name = "flavour";
    static constexpr std::string_view question = "how does it taste";
    template <class P> static constexpr bool takes = allot::detail::answers<P, flavour>;
};
struct sweet {
    using category = flavour;
    using needs = allot::types<>;
    using provides = allot::types<>;
};
struct kitchen {
    static constexpr std::string_view name = "kitchen";
    using reads = allot::types<flavour, allot::category::oom>;
};
#if WRONG
struct dish : allot::policies<allot::oom::null> {};
#else
struct dish : allot::policies<allot::oom::null, sweet> {};
#endif

int main() { return allot::describe<dish, kitchen>().size() == 2 ? 0 : 1; }
