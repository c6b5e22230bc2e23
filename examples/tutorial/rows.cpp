// Tutorial, steps 1 to 3: a row, a type, a limit. docs/tutorial.md shows and explains each step.
#include "orders.hpp"

#include <allot/row_manager.hpp>

#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

using namespace allot::literals;

// ---- step 1
void one_row() {
    allot::row_manager<allot::policies<>> rows;

    void* const line = rows.allocate(32); // the row has one link
    std::strcpy(static_cast<char*>(line), "order 1: customer 7, 12.50 EUR");
    rows.link(line);    // two links: another part of the program uses the row
    rows.release(line); // one link
    std::printf("%zu row: %s\n", rows.live_rows(), static_cast<const char*>(line));

    rows.release(line); // no link: the memory is free
    std::printf("%zu rows\n", rows.live_rows());
}

// ---- step 2
struct customer {
    customer(std::uint32_t n, std::string text) : number(n), name(std::move(text)) {}
    ~customer() { std::printf("%s is destroyed\n", name.c_str()); }

    std::uint32_t number;
    std::string name;
};

void one_object() {
    allot::row_manager<allot::policies<>> rows;

    allot::row_ptr<customer> ada = rows.make<customer>(7u, "Ada");
    allot::row_ptr<customer> copy = ada; // one more link, no copy of the object
    ada.reset();
    std::printf("customer %u is %s\n", copy->number, copy->name.c_str());
} // `copy` ends, and with it the last link

// ---- step 3
void a_limit() {
    allot::row_manager<allot::policies<>> rows{allot::limit{64_MiB}, allot::name{"orders"}};

    std::vector<allot::row_ptr<order>> orders;
    try {
        for (std::uint32_t n = 0;; ++n) orders.push_back(rows.make<order>(order_at(n, 1000)));
    } catch (const allot::out_of_memory& error) {
        std::printf("%zu orders, then:\n%s\n", orders.size(), error.report());
    }
    if (rows.try_allocate(sizeof(order)) == nullptr) std::puts("and no memory for one more");

    orders.clear();
    std::printf("%zu orders, %zu MiB charged\n", rows.live_rows(), rows.used() >> 20);
    rows.trim();
    std::printf("%zu orders, %zu MiB charged\n", rows.live_rows(), rows.used() >> 20);
}

// ---- end
int main() {
    std::puts("-- step 1");
    one_row();
    std::puts("-- step 2");
    one_object();
    std::puts("-- step 3");
    a_limit();
}
