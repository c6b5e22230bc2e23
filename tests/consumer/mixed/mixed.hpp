// Three files of one program: a CUDA source, and two C++ files.
#pragma once

#include <allot/ledger/tree.hpp>
#include <allot/row_manager.hpp>

struct mixed_rows : allot::policies<allot::ledger::tree> {};

bool charges_a_block(allot::account& query);
bool releases(void* row, allot::row_manager<mixed_rows>& rows);
