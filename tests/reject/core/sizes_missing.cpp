// expected-error {{a size list must have static constexpr std::array<std::uint32_t, N> sizes}} {{rows}} {{my_sizes}}
#include "../fake_product.hpp"

struct my_sizes {
#if WRONG
    static constexpr std::array<std::uint32_t, 3> size{16, 32, 64};
#else
    static constexpr std::array<std::uint32_t, 3> sizes{16, 32, 64};
#endif
};
struct rows : allot::policies<fake::host_page, allot::size::bucketed<my_sizes>> {};

int main() { fake::use<rows>(); }
