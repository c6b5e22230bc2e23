// expected-error {{as<...> names a policy of a category that is not up to one heap}} {{category::oom}} {{oom::null}}
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
