// expected-error-outside {{plain_number}}
#include <allot/buffers.hpp>

#if WRONG
using number = long double;
#else
using number = double;
#endif

int main() {
    allot::buffer b;
    if (b) b.set<number>(0, 1);
    return 0;
}
