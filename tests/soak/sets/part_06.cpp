#define ALLOT_SETS_PART 6
#include <soak/add_sets.hpp>
