// expected-error {{this is not a policy}} {{rows}} {{my_slots}}
#include "../fake_product.hpp"

struct my_slots {
#if !WRONG
    using category = allot::category::slots;
#endif
    using needs = allot::types<>;
    using provides = allot::types<>;
};
struct rows : allot::policies<fake::host_page, my_slots> {};

int main() { fake::use<rows>(); }
