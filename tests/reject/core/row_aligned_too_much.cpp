// expected-error {{rows are aligned to 4096 bytes at most}} {{wide}}
#include <allot/core/row_type.hpp>

#if WRONG
struct alignas(8192) wide {
#else
struct alignas(4096) wide {
#endif
    char text[64];
};

int main() { return allot::row_type_of<wide>.destroy == nullptr ? 0 : 1; }
