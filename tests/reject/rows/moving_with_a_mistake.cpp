// expected-error {{a set names two policies of one category}} {{orders}} {{category::slots}} {{slots::linked}}
// {{slots::bitmap}}
#include <allot/account/account.hpp>
#include <allot/row/moving/row_array.hpp>
#include <allot/row/moving/row_compactor.hpp>
#include <allot/row_manager.hpp>

using namespace allot::literals;

#if WRONG
struct orders : allot::policies<allot::slots::linked, allot::slots::bitmap> {};
#else
struct orders : allot::policies<allot::slots::linked> {};
#endif

int main() {
    allot::row_manager<orders> rows{allot::limit{1_MiB}, allot::name{"orders"}};
    void* row = rows.allocate(40);
    row = rows.resize(row, 40, 80);
    if (void* const larger = rows.try_resize(row, 80, 160)) row = larger;
    static_cast<void>(rows.compact({&row, 1}));

    allot::row_array<orders> sorted{rows};
    if (!sorted.try_push_back(row)) rows.release(row);
    for (void* const each : sorted.read()) static_cast<void>(each);
    if (auto taken = sorted.try_lock_to_evict()) taken.take_front(sorted.size());
    allot::row_compactor<orders> packs{rows};
    packs.add(sorted);
    allot::account query{allot::name{"query"}};
    query.add(packs);
    query.remove(packs);
    const allot::compaction done = packs.compact();
    packs.remove(sorted);
    return done.moved != 0;
}
