// expected-error {{this product does not read the category of a policy}} {{product::arena}} {{pages}}
// {{category::slots}}
#include <allot/row_manager.hpp>

using namespace allot::literals;

#if WRONG
struct pages : allot::policies<allot::slots::linked> {};
#else
struct pages : allot::policies<allot::page::mapped<>> {};
#endif

int main() {
    allot::arena<pages> shared{allot::limit{64_MiB}};
    shared.give(shared.take(1), 1);
}
