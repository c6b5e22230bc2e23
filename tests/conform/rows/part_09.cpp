#define ALLOT_SETS_PART 9
#include <conform/row_suite.hpp>
