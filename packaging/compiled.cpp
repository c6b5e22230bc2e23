// The compiled library of allot, for Meson; CMake writes this file itself.
#define ALLOT_DEFINE
#include <allot/compiled.hpp>
