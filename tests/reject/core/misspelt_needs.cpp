// expected-error {{a policy breaks the contract of its category}} {{rows}} {{category::oom}} {{quiet}}
#include "../fake_product.hpp"

struct quiet {
    using category = allot::category::oom;
#if WRONG
    using need = allot::types<>;
#else
    using needs = allot::types<>;
#endif
    using provides = allot::types<>;
    static constexpr bool raises = false;
};
struct rows : allot::policies<fake::host_page, quiet> {};

int main() { fake::use<rows>(); }
