#include "engine.hpp"

#include <allot/row_manager.hpp>

namespace ENGINE {

namespace {

struct rows_set : allot::policies<allot::size::packed> {};

allot::row_manager<rows_set>& rows() {
    static allot::row_manager<rows_set> manager{allot::limit{std::size_t{64} << 20}};
    return manager;
}

} // namespace

const char* version() { return ALLOT_TEXT(ALLOT_ABI); }
void* make_row(std::size_t bytes) { return rows().allocate(bytes); }
void release_by_address(const void* row) { allot::release(row); }
std::size_t live_rows() { return rows().live_rows(); }

} // namespace ENGINE
