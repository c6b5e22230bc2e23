#define ALLOT_SETS_PART 15
#include <conform/row_suite.hpp>
