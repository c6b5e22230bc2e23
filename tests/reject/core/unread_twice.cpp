// expected-error {{a set names two policies of one category}} {{rows}} {{order::host}}
#include "../fake_product.hpp"

#if WRONG
struct rows : allot::policies<allot::order::host, fake::host_page, allot::order::host> {};
#else
struct rows : allot::policies<fake::host_page> {};
#endif

int main() { fake::use<rows>(); }
