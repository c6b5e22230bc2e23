// Without exceptions a manager that is full answers with null, and every row can be given back; a request that an
// arbiter ends answers with its verdict.
#include <allot/oom/arbiter.hpp>
#include <allot/oom/retry_scope.hpp>
#include <allot/oom/task.hpp>
#include <allot/row_manager.hpp>

#include <cstdio>
#include <vector>

using namespace allot::literals;

struct quiet_set : allot::policies<allot::oom::null> {};

bool fills_rows() {
    allot::row_manager<quiet_set> rows{allot::limit{8_MiB}};
    std::vector<void*> held;
    while (void* row = rows.allocate(1000)) held.push_back(row);
    const bool refused = rows.try_allocate(1_MiB) == nullptr;
    const std::size_t most = held.size();
    for (void* row : held) rows.release(row);
    const bool empty = rows.live_rows() == 0;
    std::printf("%zu rows in 8 MiB, then null: %d, all released: %d\n", most, refused, empty);
    return refused && empty && most > 6000;
}
bool is_told_to_split() {
    allot::oom::arbiter tasks;
    allot::account engine{allot::name{"engine"}, allot::limit{1_MiB}, tasks};
    allot::oom::task query{tasks, "query"};
    allot::oom::task_thread here{query};
    allot::oom::retry_scope scope;
    const allot::charge_status why = engine.charge_for(2_MiB, allot::forever);
    scope.done();
    std::printf("2 of 1 MiB: %s\n", allot::text_of(why.outcome).data());
    return why.outcome == allot::charge_outcome::split;
}

int main() { return fills_rows() && is_told_to_split() ? 0 : 1; }
