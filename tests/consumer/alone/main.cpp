#include "joined.hpp"

#include <allot/row_manager.hpp>
#include <cstdio>

using namespace allot::literals;

int main() {
    allot::account query{allot::name{"query"}, allot::limit{8_MiB}};
    allot::row_manager<rows_set> rows{query, allot::name{"rows"}};
    allot::chunk_arena<blocks_set> blocks{allot::limit{8_MiB}};
    allot::buffer made = joined(rows, blocks, query);
    const bool good = rows.live_rows() == 0 && made.size() == 48 && query.used() >= made.block_bytes();
    made.release();
    static char page[4096];
    allot::text_writer out{page};
    allot::write_accounts(out, query);
    std::fputs(page, stdout);
    return good ? 0 : 1;
}
