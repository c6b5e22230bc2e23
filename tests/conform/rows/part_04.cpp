#define ALLOT_SETS_PART 4
#include <conform/row_suite.hpp>
