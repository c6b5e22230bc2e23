// Hard limits per query, and the page that a refused request carries: the first page of README.md.
#include <allot/ledger/tree.hpp>
#include <allot/row_manager.hpp>
#include <cstdio>
#include <vector>

using namespace allot::literals;

struct query_rows : allot::policies<allot::ledger::tree> {}; // a set of policies: here, each manager has an account

struct order {
    int number = 0;
    double amount = 0;
};

int main() {
    std::puts("-- report");
    // ---- limits
    allot::account engine{allot::name{"engine"}, allot::limit{8_GiB}};
    allot::account query{engine, allot::name{"query 7"}, allot::limit{64_MiB}};
    allot::row_manager<query_rows> scan{query, allot::name{"scan"}}, join{query, allot::name{"join"}};
    try {
        for (std::vector<allot::row_ptr<order>> rows;;) rows.push_back((rows.size() % 8 ? join : scan).make<order>());
    } catch (const allot::out_of_memory& refused) {
        std::puts(refused.report());
    }
    // ----
    return scan.live_rows() + join.live_rows() == 0 && engine.peak() <= 64_MiB ? 0 : 1; // the vector released its rows
}
