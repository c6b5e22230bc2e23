// expected-error {{this is not a policy}} {{rows}} {{int}}
#include "../fake_product.hpp"

#if WRONG
struct rows : allot::policies<fake::host_page, int> {};
#else
struct rows : allot::policies<fake::host_page> {};
#endif

int main() { fake::use<rows>(); }
