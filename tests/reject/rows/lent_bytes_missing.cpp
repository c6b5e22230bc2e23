// expected-error {{this set needs a constructor argument that is missing}} {{product::row_manager}} {{orders}} {{span}}
#include <allot/row_manager.hpp>

using namespace allot::literals;

struct orders : allot::policies<allot::page::borrowed> {};

int main() {
    static std::byte bytes[1 << 20];
#if WRONG
    allot::row_manager<orders> rows{allot::limit{1_MiB}};
#else
    allot::row_manager<orders> rows{std::span<std::byte>(bytes)};
#endif
    rows.release(rows.allocate(8));
}
