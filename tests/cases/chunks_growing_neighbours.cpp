// Three blocks of a chunk arena grow side by side, by 4 KiB at a time: in place by resize() where it can, else to a new
// block of the size needed. Expected: bytes copied stay a small multiple of what is grown to, as for rows.resize() (0.1
// times), since a block that must move gets a place with room behind it. Happens: the next one is in its way at once,
// so that all is copied every few pages. fit::best, the fallback: 45 times at 8 MiB each, 357 times at 64 MiB
// (quadratic); fit::runs: 3 and 43 times. docs/chunks.md says that resize() is in place or not at all, but not that
// neighbours that grow never can. Today: falls short in every build.
#include <allot/chunk_arena.hpp>
#include <allot/row_manager.hpp>
#include <cstdio>

using namespace allot::literals;

struct best : allot::policies<> {};
struct runs : allot::policies<allot::fit::runs> {};
struct rows_set : allot::policies<> {};

template <class Set> double blocks_copied(std::size_t to) {
    allot::chunk_arena<Set> from{allot::limit{1_GiB}};
    allot::block at[3];
    for (allot::block& b : at) b = from.allocate(4_KiB);
    double copied = 0;
    for (std::size_t n = 8_KiB; n <= to; n += 4_KiB)
        for (allot::block& b : at) {
            if (n <= b.bytes) continue;
            if (const allot::block same = from.resize(b.address, n)) {
                b = same;
                continue;
            }
            const allot::block larger = from.allocate(n);
            copied += static_cast<double>(n - 4_KiB); // a memcpy
            from.deallocate(b.address);
            b = larger;
        }
    for (const allot::block& b : at) from.deallocate(b.address);
    return copied / static_cast<double>(3 * to);
}

static double rows_copied(std::size_t to) {
    allot::row_manager<rows_set> from{allot::limit{1_GiB}};
    void* at[3];
    for (void*& r : at) r = from.allocate(4_KiB);
    double copied = 0;
    for (std::size_t n = 8_KiB; n <= to; n += 4_KiB)
        for (void*& r : at) {
            void* const now = from.resize(r, 8, n); // keeps 8 bytes: the time is not of interest here
            if (now != r) copied += static_cast<double>(n - 4_KiB);
            r = now;
        }
    for (void* const r : at) from.release(r);
    return copied / static_cast<double>(3 * to);
}

int main() {
    double worst = 0;
    for (const std::size_t to : {8_MiB, 16_MiB, 32_MiB, 64_MiB}) {
        const double b = blocks_copied<best>(to);
        std::printf("3 x %2zu MiB: bytes copied, in multiples of that: best %.1f, runs %.1f, rows %.1f\n", to >> 20, b,
                    blocks_copied<runs>(to), rows_copied(to));
        worst = b;
    }
    return worst <= 8 ? 0 : 1;
}
