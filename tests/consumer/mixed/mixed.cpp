#include "mixed.hpp"

#include <cstdio>

using namespace allot::literals;

int main() {
    allot::account query{allot::name{"query 7"}, allot::limit{64_MiB}};
    allot::row_manager<mixed_rows> rows{query};
    const bool good = charges_a_block(query) && releases(rows.allocate(100), rows);
    std::puts(good ? "one program" : "wrong");
    return good ? 0 : 1;
}
