#define ALLOT_SETS_PART 4
#include <soak/add_sets.hpp>
