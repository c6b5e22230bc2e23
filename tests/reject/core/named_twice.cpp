// expected-error {{a set names two policies of one category}} {{rows}} {{size::packed}} {{size::exact}}
#include "../fake_product.hpp"

#if WRONG
struct rows : allot::policies<allot::size::packed, fake::host_page, allot::size::exact> {};
#else
struct rows : allot::policies<allot::size::packed, fake::host_page> {};
#endif

int main() { fake::use<rows>(); }
