// expected-error {{a policy needs a property that no policy of the set provides}} {{with<}} {{rows}} {{slots::linked}}
#include "../fake_product.hpp"

struct rows : allot::policies<fake::device_page> {};

int main() {
    fake::manager<rows> all{allot::limit{100}};
#if WRONG
    auto orders = all.heap(allot::as<allot::slots::linked>, 48);
#else
    auto orders = all.heap(allot::as<allot::slots::bitmap>, 48);
#endif
    void* row = orders.allocate();
    return row == nullptr;
}
