// What each of the two libraries offers. ENGINE is the library's namespace.
// Included once for each ENGINE, so without a guard.

#include <cstddef>

namespace ENGINE {

const char* version(); // its inline namespace
void* make_row(std::size_t bytes);
void release_by_address(const void* row); // a row of another version is no row here
std::size_t live_rows();

} // namespace ENGINE
