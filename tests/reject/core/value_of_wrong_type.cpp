// expected-error {{this set has no use for a constructor argument}} {{rows}} {{int}}
#include "../fake_product.hpp"

struct rows : allot::policies<fake::host_page> {};

int main() {
#if WRONG
    fake::manager<rows> all{allot::limit{100}, 65536};
#else
    fake::manager<rows> all{allot::limit{100}};
#endif
    return all.allocate(8) == nullptr;
}
