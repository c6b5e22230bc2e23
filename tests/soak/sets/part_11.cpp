#define ALLOT_SETS_PART 11
#include <soak/add_sets.hpp>
