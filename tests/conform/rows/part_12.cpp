#define ALLOT_SETS_PART 12
#include <conform/row_suite.hpp>
