// expected-error {{this is not a set of policies}} {{size::packed}}
#include "../fake_product.hpp"

int main() {
#if WRONG
    fake::use<allot::size::packed>();
#else
    fake::use<allot::policies<fake::host_page, allot::size::packed>>();
#endif
}
