// expected-error {{literal_does_not_fit_in_size_t}}
#include <allot/core/units.hpp>

using namespace allot::literals;

#if WRONG
const std::size_t most = 16777216_TiB;
#else
const std::size_t most = 16777215_TiB;
#endif

int main() { return most == 0; }
