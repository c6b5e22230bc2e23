// Two queries in too little memory: one waits until the other has released its rows; a third gives up.
#include <allot/ledger/tree.hpp>
#include <allot/row_manager.hpp>
#include <cstdio>
#include <thread>
#include <vector>

using namespace allot::literals;

struct query_rows : allot::policies<allot::ledger::tree, allot::oom::null> {};

int main() {
    allot::account engine{allot::name{"engine"}, allot::limit{16_MiB}};
    allot::row_manager<query_rows> first{engine, allot::name{"query 1"}}, second{engine, allot::name{"query 2"}};

    std::vector<void*> rows;
    while (void* const row = first.try_allocate(100'000)) rows.push_back(row);
    std::printf("query 1 has %zu rows; %zu MiB of %zu are used\n", rows.size(), engine.used() >> 20,
                engine.limit() >> 20);

    // A deadline: the status says what refused.
    allot::charge_status why;
    if (second.allocate_for(8_MiB, 20_ms, allot::untyped, &why) == nullptr)
        std::printf("after 20 ms: %s refuses 8 MiB\n", why.name);

    // No deadline: the thread sleeps until query 1 has released enough.
    std::thread waits{[&] {
        void* const row = second.allocate_for(8_MiB, allot::forever);
        std::printf("query 2 has its row of 8 MiB\n");
        second.release(row);
    }};
    for (void* const row : rows) first.release(row);
    waits.join();

    // A cancellation ends waits from another thread.
    void* const all = first.try_allocate(12_MiB);
    allot::cancellation stop;
    std::thread gives_up{[&] {
        if (second.allocate_for(8_MiB, {10_s, stop}, allot::untyped, &why) == nullptr)
            std::printf("query 2: %s\n", why.outcome == allot::charge_outcome::cancelled ? "cancelled" : "refused");
    }};
    stop.cancel();
    gives_up.join();
    first.release(all);
    return first.live_rows() + second.live_rows() == 0 && engine.peak() <= 16_MiB ? 0 : 1;
}
