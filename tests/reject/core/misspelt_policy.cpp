// expected-error-outside {{linkd}}
#include "../fake_product.hpp"

#if WRONG
struct rows : allot::policies<fake::host_page, allot::slots::linkd> {};
#else
struct rows : allot::policies<fake::host_page, allot::slots::linked> {};
#endif

int main() { fake::use<rows>(); }
