// expected-error {{a policy needs a property that no policy of the set provides}} {{rows}} {{slots::linked}}
// {{host_accessible}}
#include "../fake_product.hpp"

#if WRONG
struct rows : allot::policies<allot::slots::linked, fake::device_page> {};
#else
struct rows : allot::policies<allot::slots::linked, fake::host_page> {};
#endif

int main() { fake::use<rows>(); }
