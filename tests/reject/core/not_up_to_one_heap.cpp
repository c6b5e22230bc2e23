// expected-error {{as<...> names a policy that one heap cannot choose}} {{category::oom}} {{oom::null}}
#include "../fake_product.hpp"

struct rows : allot::policies<fake::host_page> {};

int main() {
    fake::manager<rows> all{allot::limit{100}};
#if WRONG
    auto orders = all.heap(allot::as<allot::heap::unique, allot::oom::null>, 48);
#else
    auto orders = all.heap(allot::as<allot::heap::unique, allot::size::packed>, 48);
#endif
    void* row = orders.allocate();
    return row == nullptr;
}
