#define ALLOT_SETS_PART 9
#include <soak/add_sets.hpp>
