// expected-error {{guard::all<...> must name different guards, each once}} {{rows}} {{packed}}
#include "../fake_product.hpp"

struct rows : allot::policies<fake::host_page, allot::guard::all<allot::guard::canary,
#if WRONG
                                                                 allot::size::packed
#else
                                                                 allot::guard::encoded
#endif
                                                                 >> {
};

int main() { fake::use<rows>(); }
