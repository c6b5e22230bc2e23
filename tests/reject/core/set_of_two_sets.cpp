// expected-error {{this is not a set of policies}} {{both}}
#include "../fake_product.hpp"

struct rows : allot::policies<fake::host_page> {};
#if WRONG
struct both : rows, allot::policies<allot::size::packed> {};
#else
struct both : allot::with<rows, allot::size::packed> {};
#endif

int main() { fake::use<both>(); }
