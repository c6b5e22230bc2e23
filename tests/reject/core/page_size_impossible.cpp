// expected-error {{a policy has an invalid option}} {{rows}} {{page::mapped<}} {{3000}}
#include "../fake_product.hpp"

#include <allot/page/mapped.hpp>

#if WRONG
struct rows : allot::policies<allot::page::mapped<allot::page::mapped_options{.page = 3000}>> {};
#else
struct rows : allot::policies<allot::page::mapped<allot::page::mapped_options{.page = 65536}>> {};
#endif

int main() { fake::use<rows>(); }
