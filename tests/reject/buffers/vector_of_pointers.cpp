// expected-error-outside {{plain_number}}
#include <allot/buffers.hpp>

int main() {
#if WRONG
    allot::value_vector<int*> v;
#else
    allot::value_vector<int> v;
#endif
    return v.empty() ? 0 : 1;
}
