#define ALLOT_SETS_PART 7
#include <soak/add_sets.hpp>
