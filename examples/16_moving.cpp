// Rows that move: an array of rows that grows, a compaction after most of them are released, and one row that is
// resized.
#include <allot/row/moving/row_array.hpp>
#include <allot/row_manager.hpp>
#include <cstdio>
#include <cstring>

using namespace allot::literals;

struct order {
    int number;
    char note[60];
};

int main() {
    using set = allot::policies<>;
    allot::row_manager<set> rows{allot::limit{64_MiB}, allot::name{"orders"}};
    allot::row_array<set> orders{rows}; // one thread appends, others may read

    for (int i = 0; i != 200'000; ++i) orders.push_back(rows.make<order>(order{i, "new"}).detach());
    std::printf("%zu orders in %zu KiB\n", orders.size(), rows.used() >> 10);

    allot::row_array<set> late{rows}; // every tenth stays
    {
        auto all = orders.lock();
        for (void* const row : all)
            if (static_cast<order*>(row)->number % 10 == 0) late.push_back(row);
            else rows.release(row);
        all.take_front(all.rows().size());
    }
    orders.shrink_to_fit(); // 200,000 slots
    rows.trim();
    std::printf("%zu are left, in %zu KiB: their pages are sparse\n", late.size(), rows.used() >> 10);

    allot::compaction done;
    {
        const auto alone = late.lock(); // no other thread has the addresses
        done = rows.compact(alone.rows());
    }
    rows.trim();
    std::printf("%zu moved: %zu pages became %zu, %zu KiB are charged\n", done.moved, done.pages_before,
                done.pages_after, rows.used() >> 10);
    int wrong = 0, next = 0;
    for (void* const row : late.read()) wrong += static_cast<order*>(row)->number != 10 * next++;

    void* text = rows.allocate(3);
    std::memcpy(text, "ab", 3);
    text = rows.resize(text, 3, 1_MiB); // at its address or another; the first 3 bytes are kept
    std::printf("\"%s\" has %zu KiB now\n", static_cast<char*>(text), rows.capacity(text) >> 10);
    rows.release(text);
    return wrong == 0 && done.pages_after < done.pages_before / 5 ? 0 : 1;
}
