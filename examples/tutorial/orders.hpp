// The data of the tutorial: orders, and the groups that its query builds from them.
#pragma once

#include <allot/core/row_type.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

// ---- orders
struct order {
    std::uint32_t number, customer, cents, day, item;
};

// The n-th order of the input. Its customer is one of `customers`.
inline order order_at(std::uint32_t n, std::uint32_t customers) {
    return {n, n * 2'654'435'761u % customers, n % 1000, n % 365, n % 77};
}

// ---- groups
// All that the query knows of one customer. Groups of one bucket are a list.
struct group {
    group* next;
    std::uint64_t cents;
    std::uint32_t customer, orders;
};
constexpr allot::row_type group_type{.name = "group"};

struct group_table {
    std::array<group*, 4096> bucket{};
};

// Adds an order to its customer's group. `groups` allocates the group if this is the customer's first order.
template <class Heap> void add(group_table& table, Heap& groups, const order& o) {
    group*& first = table.bucket[o.customer % table.bucket.size()];
    group* g = first;
    while (g != nullptr && g->customer != o.customer) g = g->next;
    if (g == nullptr) g = first = new (groups.allocate()) group{first, 0, o.customer, 0};
    g->cents += o.cents;
    ++g->orders;
}
// ---- end
