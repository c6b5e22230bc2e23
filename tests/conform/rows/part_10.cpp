#define ALLOT_SETS_PART 10
#include <conform/row_suite.hpp>
