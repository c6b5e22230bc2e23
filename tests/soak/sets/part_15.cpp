#define ALLOT_SETS_PART 15
#include <soak/add_sets.hpp>
