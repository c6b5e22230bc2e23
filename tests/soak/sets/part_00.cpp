#define ALLOT_SETS_PART 0
#include <soak/add_sets.hpp>
