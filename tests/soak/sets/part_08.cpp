#define ALLOT_SETS_PART 8
#include <soak/add_sets.hpp>
