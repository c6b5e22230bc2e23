// Tutorial, steps 4 and 5: a set of policies, a hash aggregate of two threads. docs/tutorial.md explains each step.
#include "orders.hpp"

#include <allot/core/describe.hpp>
#include <allot/row_manager.hpp>

#include <cstdio>
#include <thread>

using namespace allot::literals;

// ---- step 4
struct query_rows : allot::policies<allot::heap::per_thread, // each thread has caches of free rows
                                    allot::guard::canary,    // a write behind the end of a row is found
                                    allot::watch::peaks> {}; // row types at the peak are recorded

void a_set() { std::fputs(allot::describe<query_rows>().text().c_str(), stdout); }

// ---- step 5
// One thread adds up the orders of every second customer. Its table and its handle are used by no other thread.
void sum_up(group_table& table, auto& groups, std::uint32_t thread) {
    auto mine = groups.local();
    for (std::uint32_t n = 0; n != 200'000; ++n)
        if (const order o = order_at(n, 20'000); o.customer % 2 == thread) add(table, mine, o);
}

void an_aggregate() {
    allot::row_manager<query_rows> rows{allot::limit{64_MiB}, allot::name{"aggregate"}};
    auto groups = rows.heap(allot::as<allot::heap::unique>, sizeof(group), group_type);

    const auto even = rows.make<group_table>(), odd = rows.make<group_table>();
    std::thread other([&] { sum_up(*odd, groups, 1); });
    sum_up(*even, groups, 0);
    other.join();
    std::printf("%zu groups, %zu KiB charged\n", groups.live_rows(), rows.used() >> 10);

    groups.release_all();
    rows.trim();
    std::printf("%zu groups, %zu KiB charged\n", groups.live_rows(), rows.used() >> 10);
}

// ---- end
int main() {
    std::puts("-- step 4");
    a_set();
    std::puts("-- step 5");
    an_aggregate();
}
