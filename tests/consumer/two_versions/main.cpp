// Three copies of allot work beside each other, and none takes another's rows for its own.
#define ENGINE first
#include "engine.hpp"
#undef ENGINE
#define ENGINE second
#include "engine.hpp"
#undef ENGINE
#define ENGINE third
#include "engine.hpp"
#undef ENGINE

#include <cstdio>
#include <cstring>

namespace {

struct copy {
    const char* (*version)();
    void* (*make_row)(std::size_t);
    void (*release_by_address)(const void*);
    std::size_t (*live_rows)();
};
constexpr copy copies[] = {{first::version, first::make_row, first::release_by_address, first::live_rows},
                           {second::version, second::make_row, second::release_by_address, second::live_rows},
                           {third::version, third::make_row, third::release_by_address, third::live_rows}};

} // namespace

int main() {
    bool good = true;
    for (const copy& a : copies) {
        std::printf("%s\n", a.version());
        void* const row = a.make_row(100);
        for (const copy& b : copies) {
            if (&a == &b) continue;
            b.release_by_address(row);
            good = good && std::strcmp(a.version(), b.version()) != 0 && a.live_rows() == 1 && b.live_rows() == 0;
        }
        a.release_by_address(row);
        good = good && a.live_rows() == 0;
    }
    std::puts(good ? "each knows its own rows" : "the copies are mixed up");
    return good ? 0 : 1;
}
