// A named set of policies, a row manager under a limit, rows of any size, a row_ptr, and what happens at the
// limit.
#include <allot/row_manager.hpp>
#include <cstdio>
#include <cstring>
#include <vector>

using namespace allot::literals;

struct orders_set : allot::policies<allot::size::packed> {}; // every other policy is the category's fallback

struct order {
    int number;
    double amount;
};

int main() {
    allot::row_manager<orders_set> rows{allot::limit{8_MiB}, allot::name{"orders"}};

    // Rows of any size: a row starts with one link, and the last release gives its memory back.
    void* text = rows.allocate(26);
    std::memcpy(text, "abcdefghijklmnopqrstuvwxyz", 26);
    rows.link(text);    // now two hold it
    rows.release(text); // one again

    // Typed rows: row_ptr is one word; a copy links, the destructor releases.
    auto first = rows.make<order>(order{1, 19.90});
    auto again = first;
    std::printf("order %d, shared: %s\n", again->number, rows.is_shared(first.get()) ? "yes" : "no");

    // Many rows of one size and type: a heap made for them.
    static constexpr allot::row_type order_type{.name = "order"};
    auto orders = rows.heap(allot::as<>, sizeof(order), order_type);

    // The limit is hard. Who runs into it gets one page: request, limit, and who holds the memory.
    std::vector<void*> held;
    try {
        for (;;) held.push_back(orders.allocate());
    } catch (const allot::out_of_memory& e) {
        std::printf("%zu orders fit\n%s\n", held.size(), e.report());
    }
    for (void* row : held) orders.release(row);
    rows.release(text);
    std::printf("rows left: %zu\n", rows.live_rows()); // first and again still hold theirs
    return rows.live_rows() == 1 && !held.empty() ? 0 : 1;
}
