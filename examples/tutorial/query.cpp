// Tutorial, steps 6 to 10: a query under accounts, from its scan to its result. docs/tutorial.md explains each step.
#include "orders.hpp"

#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/report/accounts.hpp>
#include <allot/row_manager.hpp>

#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

using namespace allot::literals;

// ---- printing
// Prints what `write` puts into a text.
template <class Write> void print(Write write) {
    static char text[16 * 1024];
    allot::text_writer out{text};
    write(out);
    std::fputs(text, stdout);
}

void print_accounts(const allot::account& top) {
    print([&](auto& out) { write_accounts(out, top); });
}

constexpr allot::leak_sink to_stdout{
    [](void*, std::string_view text) noexcept { std::fwrite(text.data(), 1, text.size(), stdout); }};

// ---- step 6
struct query_accounts {
    explicit query_accounts(allot::account& engine) : query{engine, allot::name{"query 1"}, allot::limit{64_MiB}} {}

    allot::account query;
    allot::account scan{query, allot::name{"scan"}};
    allot::account aggregate{query, allot::name{"aggregate"}, allot::limit{2_MiB}};
    allot::account result{query, allot::name{"result"}, to_stdout}; // reports leaks on standard output
};

void charge_by_hand(allot::account& engine) {
    query_accounts accounts{engine};
    accounts.scan.charge(1_MiB); // throws out_of_memory if an account refuses
    if (const allot::charge_status s = accounts.aggregate.try_charge(3_MiB); !s)
        std::printf("%s refuses %zu MiB: it uses %zu of %zu MiB\n", s.at->name(), s.requested >> 20, s.used >> 20,
                    s.limit >> 20);
    print_accounts(engine);
    accounts.scan.refund(1_MiB);
}

// ---- step 7
struct operator_rows : allot::policies<allot::ledger::tree, allot::guard::canary, allot::watch::peaks> {};

auto group_heap(auto& rows) {
    return rows.heap(allot::as<allot::heap::unique, allot::refill::blocked<16>>, sizeof(group), group_type);
}

class aggregate {
  public:
    explicit aggregate(allot::account& by) : rows_{by, allot::name{"groups"}, allot::limit{by.limit()}} {}
    ~aggregate() { groups_.release_all(); }

    void add(const order& o) { ::add(*table_, groups_, o); }
    std::size_t groups() const { return groups_.live_rows(); }
    const group_table& table() const { return *table_; }
    const auto& rows() const { return rows_; }

  private:
    allot::row_manager<operator_rows> rows_;
    allot::row_ptr<group_table> table_{rows_.make<group_table>()};
    decltype(group_heap(rows_)) groups_{group_heap(rows_)};
};

void sum_up(allot::account& engine) {
    query_accounts accounts{engine};
    aggregate sums{accounts.aggregate};
    for (std::uint32_t n = 0; n != 100'000; ++n) sums.add(order_at(n, 20'000));
    print_accounts(engine);
}

// ---- pool
struct batches : allot::policies<allot::fit::runs> {}; // blocks in four sizes per power of two

// ---- step 8
constexpr std::uint32_t batch_orders = 4096;

// Reads the next batch into a buffer that is charged to `by`.
allot::buffer scan(const allot::buffer_memory& memory, allot::account& by, std::uint32_t first,
                   std::uint32_t customers) {
    allot::buffer batch = memory.allocate(by, batch_orders * sizeof(order));
    for (std::uint32_t i = 0; i != batch_orders; ++i) {
        const order o = order_at(first + i, customers);
        std::memcpy(batch.data() + i * sizeof o, &o, sizeof o);
    }
    return batch;
}

void hand_over(allot::account& engine, const allot::buffer_memory& memory) {
    query_accounts accounts{engine};
    const auto print_used = [&](const char* when) {
        std::printf("%-12s scan %zu KiB, aggregate %zu KiB, query %zu KiB\n", when, accounts.scan.used() >> 10,
                    accounts.aggregate.used() >> 10, accounts.query.used() >> 10);
    };
    allot::buffer batch = scan(memory, accounts.scan, 0, 20'000);
    print_used("scanned");
    auto [mine, status] = std::move(batch).transfer(accounts.aggregate);
    print_used("transferred");
    allot::buffer half = mine.slice(0, mine.size() / 2); // the same memory, one more view
    mine.release();
    print_used("sliced");
    half.release(); // the last view
    print_used("released");
}

// ---- query
struct total {
    std::uint32_t customer, orders;
    std::uint64_t cents;
};

// Scans 100 batches, adds up the orders of each customer, and returns the totals, charged to the account `result`.
allot::buffer run(query_accounts& accounts, aggregate& sums, const allot::buffer_memory& memory,
                  std::uint32_t customers) {
    for (std::uint32_t first = 0; first != 100 * batch_orders; first += batch_orders) {
        allot::buffer scanned = scan(memory, accounts.scan, first, customers);
        const auto [batch, status] = std::move(scanned).transfer(accounts.aggregate);
        for (std::size_t at = 0; at != batch.size(); at += sizeof(order)) {
            order o;
            std::memcpy(&o, batch.data() + at, sizeof o);
            sums.add(o);
        }
    } // `batch` ends: its memory is free for the next one

    allot::buffer totals = memory.allocate(accounts.aggregate, sums.groups() * sizeof(total));
    std::byte* to = totals.data();
    for (const group* g : sums.table().bucket)
        for (; g != nullptr; g = g->next, to += sizeof(total)) {
            const total t{g->customer, g->orders, g->cents};
            std::memcpy(to, &t, sizeof t);
        }
    return std::move(totals).transfer(accounts.result).view;
}

// ---- step 9
void print_types(const char* when, const allot::type_histogram& types) {
    std::printf("rows %s:\n", when);
    types.for_each([](const allot::type_usage& u) {
        std::printf("  %s: %zu rows, %zu KiB\n", u.type->name, u.rows, u.bytes >> 10);
    });
}

void refused(allot::account& engine, const allot::buffer_memory& memory) {
    query_accounts accounts{engine};
    aggregate sums{accounts.aggregate};
    try {
        run(accounts, sums, memory, 500'000);
    } catch (const allot::out_of_memory& error) {
        std::puts(error.report());
    }
    print_types("now", sums.rows().usage_by_type());
}

// ---- peak
void at_the_peak(allot::account& engine, const allot::buffer_memory& memory) {
    allot::account_line lines[16];
    allot::account_peak fullest{lines};
    query_accounts accounts{engine};

    engine.keep_peak(&fullest);
    {
        aggregate sums{accounts.aggregate};
        run(accounts, sums, memory, 20'000);
        print_types("at the peak", sums.rows().usage_at_peak().types);
    }
    engine.keep_peak(nullptr);
    print([&](auto& out) { write_accounts(out, fullest); });
}

// ---- step 10
void end(allot::account& engine, allot::chunk_arena<batches>& pool, const allot::buffer_memory& memory) {
    query_accounts accounts{engine};
    allot::buffer totals;
    {
        aggregate sums{accounts.aggregate};
        totals = run(accounts, sums, memory, 20'000);
    } // the rows of the aggregate end, and their pages
    print_accounts(engine);

    total first;
    std::memcpy(&first, totals.data(), sizeof first);
    std::printf("customer %u: %u orders\n", first.customer, first.orders);

    if (!accounts.result.close()) std::puts("closed too early"); // the client still has the totals
    totals.release();
    pool.trim();
    std::printf("charged to the engine: %zu bytes, held by the pool: %zu bytes\n", engine.used(), pool.stats().charged);
}

// ---- main
int main() {
    allot::account engine{allot::name{"engine"}, allot::limit{1_GiB}};
    // ---- memory
    allot::chunk_arena<batches> pool{allot::limit{64_MiB}, allot::name{"batches"}};
    const allot::buffer_memory memory{pool};
    // ----

    std::puts("-- step 6");
    charge_by_hand(engine);
    std::puts("-- step 7");
    sum_up(engine);
    std::puts("-- step 8");
    hand_over(engine, memory);
    std::puts("-- step 9");
    refused(engine, memory);
    std::puts("-- peak");
    at_the_peak(engine, memory);
    std::puts("-- step 10");
    end(engine, pool, memory);
}
