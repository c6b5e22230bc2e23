// expected-error {{a policy has an invalid option}} {{rows}} {{watch::trace<}}
#include "../fake_product.hpp"

#if WRONG
struct rows : allot::policies<fake::host_page, allot::watch::trace<allot::watch::trace_options{.events = 1000}>> {};
#else
struct rows : allot::policies<fake::host_page, allot::watch::trace<allot::watch::trace_options{.events = 1024}>> {};
#endif

int main() { fake::use<rows>(); }
