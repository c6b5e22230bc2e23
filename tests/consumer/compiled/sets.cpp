// The project's own sets, where the library is made without them.
#define ALLOT_DEFINE_SETS
#include "makes.hpp"
