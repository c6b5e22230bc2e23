// expected-error {{a policy breaks the contract of its category}} {{rows}} {{category::page}} {{nowhere}}
#include "../fake_product.hpp"

struct nowhere {
    using category = allot::category::page;
    using needs = allot::types<>;
#if WRONG
    using provides = allot::types<>;
#else
    using provides = allot::types<allot::property::host_accessible>;
#endif
};
struct rows : allot::policies<nowhere> {};

int main() { fake::use<rows>(); }
