// expected-error {{a constructor argument is given twice}} {{product::row_manager}} {{rows}} {{limit}}
#include "../fake_product.hpp"

struct rows : allot::policies<fake::host_page> {};

int main() {
#if WRONG
    fake::manager<rows> all{allot::limit{100}, allot::name{"rows"}, allot::limit{200}};
#else
    fake::manager<rows> all{allot::limit{100}, allot::name{"rows"}};
#endif
    return all.allocate(8) == nullptr;
}
