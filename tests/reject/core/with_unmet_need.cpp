// expected-error {{a policy needs a property that no policy of the set provides}} {{with<}} {{rows}} {{count::links}}
#include "../fake_product.hpp"

struct rows : allot::policies<fake::host_page, allot::count::links> {};

int main() {
#if WRONG
    fake::use<allot::with<rows, fake::device_page>>();
#else
    fake::use<allot::with<rows, fake::device_page, allot::count::none>>();
#endif
}
