#define ALLOT_SETS_PART 3
#include <soak/add_sets.hpp>
