#define ALLOT_SETS_PART 2
#include <soak/add_sets.hpp>
