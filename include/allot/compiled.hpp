// The compiled library: what no set of policies changes, compiled once for a large project.
//
// One file of the project makes it, with the flags of the others:
//
//   #define ALLOT_DEFINE
//   #include <allot/compiled.hpp>
//
// All files, or those that you choose, are compiled with -DALLOT_COMPILED and link it. Targets of CMake, Meson, Conan
// and vcpkg write that file: docs/install.md. It needs about a minute and 900 MB of g++, once.
//
// Invariant: files with ALLOT_COMPILED and without it link together and share the table of arenas; the linker keeps one
// of two definitions. Files that disagree with the library about a switch or a mode of the compiler do not link
// (allot/config.hpp).
// Cost: a call where header-only a function may be inlined, outside the paths of rows and charges.
// CUDA sources, and functions for host and device, have their own copies: ALLOT_COMPILED changes nothing there.
#pragma once

#if !defined(ALLOT_DEFINE) && !defined(ALLOT_COMPILED)
#error "allot: define ALLOT_DEFINE in the one file that makes the library; other files need no allot/compiled.hpp"
#endif
#include <allot/config.hpp>

#if defined(ALLOT_DEFINE) && !ALLOT_DEFINES
#error "allot: define ALLOT_DEFINE before the first header of allot"
#endif

#include <allot/allot.hpp>
#include <allot/device.hpp>
#include <allot/engine.hpp>
#include <allot/spill/stored_device.hpp>
#include <allot/tools.hpp>
