#define ALLOT_SETS_PART 11
#include <conform/row_suite.hpp>
