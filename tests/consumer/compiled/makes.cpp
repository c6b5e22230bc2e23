#include "makes.hpp"

void* make_row(shared_manager& rows, std::size_t bytes) { return rows.allocate(bytes); }
