// expected-error {{a set names two policies of one category}} {{as_t<}} {{heap::unique}} {{heap::shared}}
#include "../fake_product.hpp"

struct rows : allot::policies<fake::host_page> {};

int main() {
    fake::manager<rows> all{allot::limit{100}};
#if WRONG
    auto orders = all.heap(allot::as<allot::heap::unique, allot::heap::shared>, 48);
#else
    auto orders = all.heap(allot::as<allot::heap::unique>, 48);
#endif
    void* row = orders.allocate();
    return row == nullptr;
}
