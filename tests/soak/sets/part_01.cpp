#define ALLOT_SETS_PART 1
#include <soak/add_sets.hpp>
