// expected-error {{this policy is only declared: include its header}} {{rows}} {{page::huge_pages}}
#include "../fake_product.hpp"

#if WRONG
struct rows : allot::policies<allot::page::huge_pages<>> {};
#else
struct rows : allot::policies<fake::host_page> {};
#endif

int main() { fake::use<rows>(); }
