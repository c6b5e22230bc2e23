// A row's bytes in a buffer of an account: used by one file, defined in another.
#pragma once

#include <allot/allot.hpp>

struct rows_set : allot::policies<allot::ledger::tree> {};
struct blocks_set : allot::policies<allot::fit::buddy> {};

allot::buffer joined(allot::row_manager<rows_set>& rows, allot::chunk_arena<blocks_set>& blocks, allot::account& by);
