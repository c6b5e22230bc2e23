// The version. CMake reads it here, and the inline namespace contains it.
#pragma once

#define ALLOT_VERSION_MAJOR 0
#define ALLOT_VERSION_MINOR 2
#define ALLOT_VERSION_PATCH 0
