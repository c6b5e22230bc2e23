// expected-error {{a policy has an invalid option}} {{rows}} {{retain::idle<}}
#include "../fake_product.hpp"

using namespace allot::literals;

#if WRONG
struct rows : allot::policies<fake::host_page, allot::retain::idle<0_s>> {};
#else
struct rows : allot::policies<fake::host_page, allot::retain::idle<1_s>> {};
#endif

int main() { fake::use<rows>(); }
