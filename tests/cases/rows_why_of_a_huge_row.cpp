// A huge row whose type may not move is to grow, and there are no pages behind it. Expected (moving.md, Resize): it
// fails since "it would have to move and its type cannot; `why` says which". It was: "no address space ...; pass a
// larger reserve_bytes", although 22 MiB of address space are free, and a larger reserve_bytes does not help. Today:
// holds in every build.
#include <allot/row_manager.hpp>
#include <cstdio>
using namespace allot::literals;
struct set_ : allot::policies<> {};
static constexpr allot::row_type never{.name = "never", .relocate = &allot::relocate_never};
int main() {
    int bad = 0;
    for (std::size_t reserve : {24_MiB, 240_MiB}) {
        allot::row_manager<set_> rows{allot::limit{4_MiB}, allot::reserve_bytes{reserve}, allot::page_bytes{16_KiB},
                                      allot::name{"rows"}};
        void* row = rows.allocate(1_MiB, never);
        allot::charge_status why;
        void* larger = rows.try_resize(row, 1_MiB, 2_MiB, &why);
        char text[300];
        allot::text_writer out{text};
        allot::write(out, why);
        std::printf("%s: %s\n", larger ? "grew" : "refused", out.c_str());
        bad += larger == nullptr && why.outcome != allot::charge_outcome::misused;
        try {
            rows.resize(row, 1_MiB, 2_MiB);
        } catch (const allot::out_of_memory& e) {
            std::printf("  %s\n", e.what());
        }
        rows.release(larger ? larger : row);
    }
    return bad;
}
