// A sealed row that was changed, of a type that moves as bytes. Expected (moving.md, Compaction: "a damaged row: bytes
// behind it were written, or it was changed after seal: no; ... counts as pinned"; rules.md, Damage: "a damaged row
// stays where it is"): it stays, as one of a type that moves by a function does. It was: it moves (its release reports
// the damage all the same). Today: holds in every build.
#include <allot/row_manager.hpp>
#include <cstdio>
#include <cstring>
#include <vector>
using namespace allot::literals;
struct set_ : allot::policies<> {};
static int damages;
static void sink(void*, const allot::misuse_report&) noexcept { ++damages; }
static void move(void* to, void* from) noexcept { std::memcpy(to, from, 8); }
static constexpr allot::row_type bytes{.name = "bytes", .check = allot::row_check::crc32c},
    object{.name = "object", .check = allot::row_check::crc32c, .relocate = &move};
int main() {
    int bad = 0;
    for (const allot::row_type* type : {&bytes, &object}) {
        damages = 0;
        allot::row_manager<set_> rows{allot::limit{32_MiB}, allot::page_bytes{16_KiB},
                                      allot::damage_sink{&sink, nullptr}};
        std::vector<void*> all, span;
        for (int i = 0; i < 2000; ++i) {
            all.push_back(rows.allocate(100, *type));
            std::memset(all.back(), i, 100);
            allot::seal(all.back());
        }
        for (int i = 0; i < 2000; ++i)
            if (i % 10) rows.release(all[i]);
            else span.push_back(all[i]);
        for (int k = 0; k < 200; k += 20) static_cast<char*>(span[k])[50] ^= 1; // ten of them
        const auto was = span;
        const auto c = rows.compact(span);
        int moved = 0;
        for (int k = 0; k < 200; k += 20) moved += span[k] != was[k];
        std::printf("%s: pinned %zu (10 expected), damaged rows that moved: %d (0 expected)\n", type->name, c.pinned,
                    moved);
        bad += c.pinned != 10 || moved != 0;
        for (void* p : span) rows.release(p);
        std::printf("   reported at its release: %d\n", damages);
    }
    return bad;
}
