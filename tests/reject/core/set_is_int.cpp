// expected-error {{this is not a set of policies}} {{int}}
#include "../fake_product.hpp"

struct rows : allot::policies<fake::host_page> {};

int main() {
#if WRONG
    fake::use<int>();
#else
    fake::use<rows>();
#endif
}
