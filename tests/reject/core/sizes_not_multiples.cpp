// expected-error {{the sizes of a size list must be multiples of 4}} {{rows}} {{my_sizes}}
#include "../fake_product.hpp"

struct my_sizes {
#if WRONG
    static constexpr std::array<std::uint32_t, 3> sizes{16, 30, 64};
#else
    static constexpr std::array<std::uint32_t, 3> sizes{16, 28, 64};
#endif
};
struct rows : allot::policies<fake::host_page, allot::size::bucketed<my_sizes>> {};

int main() { fake::use<rows>(); }
