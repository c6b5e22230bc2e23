// A named set of policies, a row manager with a limit, rows of any size, row_ptr, and the out-of-memory report.
#include <allot/row_manager.hpp>
#include <cstdio>
#include <cstring>
#include <vector>

using namespace allot::literals;

struct orders_set : allot::policies<allot::size::packed> {}; // other categories use their fallback

struct order {
    int number;
    double amount;
};

int main() {
    allot::row_manager<orders_set> rows{allot::limit{8_MiB}, allot::name{"orders"}};

    // Rows of any size. A row starts with one link; the last release frees it.
    void* text = rows.allocate(26);
    std::memcpy(text, "abcdefghijklmnopqrstuvwxyz", 26);
    rows.link(text);    // two links
    rows.release(text); // one link

    // Typed rows. A row_ptr is one word; copying it links the row, destroying it releases the row.
    auto first = rows.make<order>(order{1, 19.90});
    auto again = first;
    std::printf("order %d, shared: %s\n", again->number, rows.is_shared(first.get()) ? "yes" : "no");

    // A heap for many rows of one size and type.
    static constexpr allot::row_type order_type{.name = "order"};
    auto orders = rows.heap(allot::as<>, sizeof(order), order_type);

    // The limit is hard. A request beyond it throws; the report shows the request, the limit and the holders of memory.
    std::vector<void*> held;
    try {
        for (;;) held.push_back(orders.allocate());
    } catch (const allot::out_of_memory& e) {
        std::printf("%zu orders fit\n%s\n", held.size(), e.report());
    }
    for (void* row : held) orders.release(row);
    rows.release(text);
    std::printf("rows left: %zu\n", rows.live_rows()); // the row of `first` and `again`
    return rows.live_rows() == 1 && !held.empty() ? 0 : 1;
}
