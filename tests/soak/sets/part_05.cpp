#define ALLOT_SETS_PART 5
#include <soak/add_sets.hpp>
