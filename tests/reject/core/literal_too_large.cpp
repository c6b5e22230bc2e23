// expected-error {{this_many_bytes_do_not_fit_in_size_t}}
#include <allot/core/units.hpp>

using namespace allot::literals;

#if WRONG
const std::size_t all = 16777216_TiB;
#else
const std::size_t all = 16777215_TiB;
#endif

int main() { return all == 0; }
