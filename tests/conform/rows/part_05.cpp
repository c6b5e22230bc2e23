#define ALLOT_SETS_PART 5
#include <conform/row_suite.hpp>
