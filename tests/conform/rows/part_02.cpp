#define ALLOT_SETS_PART 2
#include <conform/row_suite.hpp>
