// expected-error {{this set needs a constructor argument that is missing}} {{product::row_manager}} {{rows}} {{limit}}
#include "../fake_product.hpp"

struct rows : allot::policies<fake::host_page> {};

int main() {
#if WRONG
    fake::manager<rows> all{allot::name{"rows"}};
#else
    fake::manager<rows> all{allot::name{"rows"}, allot::limit{100}};
#endif
    return all.allocate(8) == nullptr;
}
