// expected-error {{a policy breaks the contract of its category}} {{rows}} {{category::refill}} {{by_two}}
#include "../fake_product.hpp"

struct by_two {
    using category = allot::category::refill;
    using needs = allot::types<>;
    using provides = allot::types<>;
#if WRONG
    static constexpr int batsch = 2;
#else
    static constexpr std::size_t batch = 2;
#endif
};
struct rows : allot::policies<fake::host_page, by_two> {};

int main() { fake::use<rows>(); }
