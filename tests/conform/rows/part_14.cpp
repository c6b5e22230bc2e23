#define ALLOT_SETS_PART 14
#include <conform/row_suite.hpp>
