// Every entry point of buffers, vectors and reservations that takes a size, at the edges of std::size_t.
#include <support/buffer_fixture.hpp>
#include <support/edge_sizes.hpp>

namespace {

struct null_rows : allot::policies<allot::oom::null> {};

void walk(buffer_memory memory, account& by) {
    for (const std::size_t n : support::lawful_edge_sizes()) {
        INFO(n);
        const std::size_t before = by.stats().own;
        {
            const buffer b = memory.try_allocate(by, n);
            CHECK(b.size() == (b ? n : 0));
            CHECK((b || n == 0 || n > 16_MiB));
            if (ALLOT_CHECKED == 0)
                for (const std::size_t at : support::edge_sizes()) {
                    CHECK(b.slice(at, 1).size() <= (at < b.size() ? 1 : 0));
                    CHECK(b.slice(1, at).size() <= b.size());
                }
        }
        {
            const auto numbers = allot::value_vector<double>::try_allocate(memory, by, n);
            CHECK((!numbers || numbers->size() == n));
            for (const std::size_t data : {std::size_t{0}, std::size_t{100}, n})
                if (auto texts = allot::bytes_vector::try_allocate(memory, by, n, data); texts && n != 0 && data >= 3)
                    CHECK(texts->append("abc"));
        }
        {
            const auto sure = by.reserve_for(n <= PTRDIFF_MAX ? memory.capacity_for(n) : n, 0_ms);
            CHECK((sure || n > 16_MiB));
            const std::size_t whole = memory.try_allocate(by, n).size(); // a memory may need more than it was asked for
            CHECK((whole == n || n > 16_MiB));
        }
        CHECK(by.stats().own == before);
    }
}

} // namespace

TEST_CASE("buffers: sizes at the edges of size_t are served or refused, and nothing stays charged", "[buffer]") {
    account root{name{"root"}}, scan{root, name{"scan"}, limit{64_MiB}};
    account stepped{root, name{"stepped"}, limit{64_MiB}, allot::credit_step{1_MiB}};
    allot::row_manager<null_rows> rows{limit{128_MiB}};
    allot::heap_memory heap;
    for (const buffer_memory memory : {buffer_memory{rows}, buffer_memory{heap}}) {
        walk(memory, scan);
        walk(memory, stepped);
    }
    CHECK(scan.used() == 0);
    CHECK(root.verify());
}
