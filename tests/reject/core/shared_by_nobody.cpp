// expected-error {{a policy has an invalid option}} {{rows}} {{heap::shared_by<0}}
#include "../fake_product.hpp"

#if WRONG
struct rows : allot::policies<fake::host_page, allot::heap::shared_by<0>> {};
#else
struct rows : allot::policies<fake::host_page, allot::heap::shared_by<>> {};
#endif

int main() { fake::use<rows>(); }
