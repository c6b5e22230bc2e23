// expected-error {{this product does not read the category of a policy}} {{rows}} {{product::row_manager}}
// {{order::host}}
#include "../fake_product.hpp"

#if WRONG
struct rows : allot::policies<fake::host_page, allot::order::host> {};
#else
struct rows : allot::policies<fake::host_page> {};
#endif

int main() { fake::use<rows>(); }
