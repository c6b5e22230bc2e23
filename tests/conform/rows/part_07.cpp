#define ALLOT_SETS_PART 7
#include <conform/row_suite.hpp>
