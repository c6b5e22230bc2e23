#define ALLOT_SETS_PART 12
#include <soak/add_sets.hpp>
