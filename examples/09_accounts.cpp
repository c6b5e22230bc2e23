// A tree of accounts: limits and a reserved floor, a row manager that charges an account, a leaf that charges in steps,
// a transfer within a query, a listener, and the report of the tree.
#include <allot/ledger/tree.hpp>
#include <allot/report/accounts.hpp>
#include <allot/row_manager.hpp>
#include <cstdio>
#include <vector>

using namespace allot::literals;

struct engine_rows : allot::policies<allot::ledger::tree, allot::oom::null> {};

static char text[16 * 1024];

// Is called for events of the account that it is added to, and of all accounts below it.
struct printer : allot::account_listener {
    void transferred(const allot::account& from, const allot::account& to, std::size_t bytes,
                     const allot::charge_status&) noexcept override {
        std::printf("%zu KiB transferred from %s to %s\n", bytes / 1024, from.name(), to.name());
    }
    void refused(const allot::account& at, const allot::charge_status& s) noexcept override {
        std::printf("%s requested %zu KiB: refused by %s\n", at.name(), s.requested / 1024, s.at->name());
    }
};

int main() {
    allot::account engine{allot::name{"engine"}, allot::limit{64_MiB}};
    allot::account query{engine, allot::name{"query 7"}, allot::limit{48_MiB}};
    const allot::account_reservation least = query.reserve_floor_for(8_MiB, 0_ms); // used or not
    allot::account scan{query, allot::name{"scan"}, allot::credit_step{1_MiB}};    // one compare-and-swap per charge
    allot::account join{query, allot::name{"join"}, allot::limit{16_MiB}};

    if (!least || !scan.try_charge(300'000)) return 1;
    join.charge(10_MiB); // throws out_of_memory on failure

    if (const allot::charge_status s = join.try_charge(7_MiB); !s)
        std::printf("%s refuses %zu MiB: %zu of %zu MiB used\n", s.at->name(), s.requested >> 20, s.used >> 20,
                    s.limit >> 20);

    printer listener;
    query.add(listener);
    const std::size_t before = query.used();
    if (!allot::account::transfer(join, scan, 4_MiB).fitted() || query.used() != before) return 2;

    {
        allot::row_manager<engine_rows> rows{query, allot::name{"hash table"}, allot::limit{12_MiB},
                                             allot::page_bytes{256_KiB}};
        std::vector<void*> held;
        while (void* const row = rows.allocate(1000)) held.push_back(row);
        std::printf("%zu rows; %zu MiB used by the query, peak %zu MiB\n", held.size(), query.used() >> 20,
                    query.peak() >> 20);
        allot::text_writer out{text};
        allot::write_accounts(out, engine);
        std::puts(text);
        for (void* const row : held) rows.release(row);
    } // the manager's charge is refunded

    query.remove(listener);
    scan.refund(300'000 + 4_MiB);
    join.refund(6_MiB);
    std::printf("reserved for the query: %zu MiB of %zu\n", engine.used() >> 20, engine.limit() >> 20);
    return engine.verify() && engine.used() == 8_MiB && query.used() == 0 ? 0 : 3;
}
