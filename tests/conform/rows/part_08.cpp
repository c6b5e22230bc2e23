#define ALLOT_SETS_PART 8
#include <conform/row_suite.hpp>
