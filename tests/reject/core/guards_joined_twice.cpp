// expected-error {{guard::all<...> must name different guards, each once}} {{rows}} {{canary}}
#include "../fake_product.hpp"

struct rows : allot::policies<fake::host_page, allot::guard::all<allot::guard::canary,
#if WRONG
                                                                 allot::guard::canary
#else
                                                                 allot::guard::zero
#endif
                                                                 >> {
};

int main() { fake::use<rows>(); }
