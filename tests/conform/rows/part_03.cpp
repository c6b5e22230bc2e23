#define ALLOT_SETS_PART 3
#include <conform/row_suite.hpp>
