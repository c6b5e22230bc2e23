#define ALLOT_SETS_PART 13
#include <soak/add_sets.hpp>
