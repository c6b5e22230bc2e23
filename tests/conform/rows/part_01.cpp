#define ALLOT_SETS_PART 1
#include <conform/row_suite.hpp>
