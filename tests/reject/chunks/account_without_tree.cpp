// expected-error {{this set has no use for a constructor argument}} {{product::chunk_arena}} {{buffers}}
// {{account}}
#include <allot/account/account.hpp>
#include <allot/chunk_arena.hpp>

using namespace allot::literals;

struct buffers : allot::policies<allot::ledger::counter> {};

int main() {
    allot::account query{allot::name{"query"}, allot::limit{64_MiB}};
#if WRONG
    allot::chunk_arena<buffers> blocks{allot::limit{1_MiB}, query};
#else
    allot::chunk_arena<buffers> blocks{allot::limit{1_MiB}};
#endif
    blocks.deallocate(blocks.allocate(8).address);
    return query.used() == 0 ? 0 : 1;
}
