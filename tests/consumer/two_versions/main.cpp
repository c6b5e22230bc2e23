// Both versions work beside each other, and neither takes the other's rows for its own.
#define ENGINE first
#include "engine.hpp"
#undef ENGINE
#define ENGINE second
#include "engine.hpp"
#undef ENGINE

#include <cstdio>

int main() {
    std::printf("minor versions %d and %d\n", first::minor_version(), second::minor_version());
    void* a = first::make_row(100);
    void* b = second::make_row(100);
    bool good = first::minor_version() != second::minor_version();

    first::release_by_address(b);
    second::release_by_address(a);
    good = good && first::live_rows() == 1 && second::live_rows() == 1;

    first::release_by_address(a);
    good = good && first::live_rows() == 0 && second::live_rows() == 1;
    second::release_by_address(b);
    good = good && second::live_rows() == 0;
    std::puts(good ? "each knows its own rows" : "the versions are mixed up");
    return good ? 0 : 1;
}
