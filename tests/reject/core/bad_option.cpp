// expected-error {{a policy has an invalid option}} {{rows}} {{refill::blocked<0}}
#include "../fake_product.hpp"

#if WRONG
struct rows : allot::policies<fake::host_page, allot::refill::blocked<0>> {};
#else
struct rows : allot::policies<fake::host_page, allot::refill::blocked<16>> {};
#endif

int main() { fake::use<rows>(); }
