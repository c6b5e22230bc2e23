#define ALLOT_SETS_PART 14
#include <soak/add_sets.hpp>
