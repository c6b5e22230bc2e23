#define ALLOT_SETS_PART 0
#include <conform/row_suite.hpp>
