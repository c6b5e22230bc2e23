// expected-error {{a value was given at run time for which this set has no use}} {{product::row_manager}} {{rows}}
// {{page_bytes}}
#include "../fake_product.hpp"

struct rows : allot::policies<fake::host_page> {};

int main() {
#if WRONG
    fake::manager<rows> all{allot::limit{100}, allot::page_bytes{65536}};
#else
    fake::manager<rows> all{allot::limit{100}};
#endif
    return all.allocate(8) == nullptr;
}
