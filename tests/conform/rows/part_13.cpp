#define ALLOT_SETS_PART 13
#include <conform/row_suite.hpp>
