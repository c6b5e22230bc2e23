// What one file makes and another uses; either may have the compiled library.
#pragma once

#include <allot/ledger/tree.hpp>
#include <allot/row_manager.hpp>

struct shared_rows : allot::policies<allot::ledger::tree> {};
ALLOT_COMPILED_ROWS(shared_rows)
using shared_manager = allot::row_manager<shared_rows>;

[[gnu::visibility("default")]] void* make_row(shared_manager& rows, std::size_t bytes);
