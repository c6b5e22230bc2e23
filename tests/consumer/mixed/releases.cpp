#include "mixed.hpp"

bool releases(void* row, allot::row_manager<mixed_rows>& rows) {
    const bool held = rows.live_rows() == 1;
    allot::release(row);
    return held && rows.live_rows() == 0;
}
