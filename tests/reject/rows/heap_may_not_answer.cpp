// expected-error {{as<...> names a policy that one heap cannot choose}} {{category::oom}} {{oom::null}}
#include <allot/row_manager.hpp>

using namespace allot::literals;

struct orders : allot::policies<> {};

int main() {
    allot::row_manager<orders> rows{allot::limit{1_MiB}};
#if WRONG
    auto heap = rows.heap(allot::as<allot::heap::unique, allot::oom::null>, 48);
#else
    auto heap = rows.heap(allot::as<allot::heap::unique, allot::size::packed>, 48);
#endif
    auto local = heap.local();
    local.release(local.allocate());
    return heap.live_rows() != 0;
}
