// expected-error {{rows are aligned to 64 bytes at most}} {{wide}}
#include <allot/core/row_type.hpp>

#if WRONG
struct alignas(128) wide {
#else
struct alignas(64) wide {
#endif
    char text[64];
};

int main() { return allot::row_type_of<wide>.destroy == nullptr ? 0 : 1; }
