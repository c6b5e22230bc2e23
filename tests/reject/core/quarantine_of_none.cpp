// expected-error {{a policy has an invalid option}} {{rows}} {{quarantine<0}}
#include "../fake_product.hpp"

#if WRONG
struct rows : allot::policies<fake::host_page, allot::guard::quarantine<0>> {};
#else
struct rows : allot::policies<fake::host_page, allot::guard::quarantine<1>> {};
#endif

int main() { fake::use<rows>(); }
