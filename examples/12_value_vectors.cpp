// Columns over buffers: a scan fills them, a join keeps a slice, and a sort receives the columns and their charge.
#include <allot/buffers.hpp>
#include <cstdio>
#include <string>

using namespace allot::literals;

int main() {
    allot::heap_memory heap;
    const allot::buffer_memory memory{heap};
    allot::account query{allot::name{"query"}, allot::limit{1_MiB}};
    allot::account scan{query, allot::name{"scan"}}, join{query, allot::name{"join"}}, sort{query, allot::name{"sort"}};

    constexpr std::size_t n = 1000;
    auto delays = allot::value_vector<std::int32_t>::allocate(memory, scan, n); // null until set
    auto airports = allot::bytes_vector::allocate(memory, scan, n, 16_KiB);
    for (std::size_t i = 0; i != n; ++i) {
        if (i % 3 != 0) delays.set(i, static_cast<std::int32_t>(i) - 500);
        if (!(i % 5 != 0 ? airports.append("airport " + std::to_string(i)) : airports.append_null())) return 1;
    }
    std::printf("%zu delays, %zu of them unknown\n", delays.size(), delays.null_count());

    // A slice may start anywhere: value 13 is bit 5 of a byte of the null bits. No value is copied.
    auto late = delays.slice(13, 100).retain(join);
    auto where = airports.slice(13, 100).retain(join);
    if (late[1] != 14 - 500 || late[2].has_value() || where[0] != "airport 13" || where[2].has_value()) return 2;
    if (join.used() != 0 || scan.used() == 0) return 3; // scan is charged for all

    const std::size_t all = scan.used();
    auto sorted = std::move(delays).transfer(sort);
    auto names = std::move(airports).transfer(sort);
    if (!sorted.fitted() || scan.used() != 0 || sort.used() != all || query.used() != all) return 4;

    sorted.view = {}, names.view = {}; // sort has no view any more: join is charged
    std::printf("join is charged %zu bytes\n", join.used());
    return join.used() == all && late.null_count() == 33 && where.get(99) == "airport 112" && query.verify() ? 0 : 5;
}
