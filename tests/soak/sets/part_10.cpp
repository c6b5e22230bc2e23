#define ALLOT_SETS_PART 10
#include <soak/add_sets.hpp>
