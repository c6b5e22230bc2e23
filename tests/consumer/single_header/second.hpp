// What the second translation unit offers to the first. Includes the single header that packages.py writes.
#pragma once

#include "allot.hpp"

struct shared_set : allot::policies<allot::heap::shared> {};
using shared_rows = allot::row_manager<shared_set>;

void* make_row(shared_rows& rows);
std::size_t pmr_bytes(shared_rows& rows); // bytes of rows while a std::pmr container lives
