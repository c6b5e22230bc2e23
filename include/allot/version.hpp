// The version, and nowhere else: CMake reads it from here, and the inline namespace carries it.
#pragma once

#define ALLOT_VERSION_MAJOR 0
#define ALLOT_VERSION_MINOR 1
#define ALLOT_VERSION_PATCH 0
