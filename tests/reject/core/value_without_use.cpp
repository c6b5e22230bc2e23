// expected-error {{this set has no use for a constructor argument}} {{product::row_manager}} {{rows}}
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
