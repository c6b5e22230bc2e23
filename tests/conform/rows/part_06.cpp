#define ALLOT_SETS_PART 6
#include <conform/row_suite.hpp>
