// The compiled library: what no set of policies changes, compiled once for a large project.
//
// One file of the project makes it, with the flags of the others:
//
//   #define ALLOT_DEFINE
//   #include <allot/compiled.hpp>
//
// All files, or those that you choose, are compiled with -DALLOT_COMPILED and link it. Targets of CMake, Meson, Conan
// and vcpkg write that file: docs/install.md. It needs some 40 s and 700 MB of g++, once.
//
// Invariant: files with ALLOT_COMPILED and without it link together and share the table of arenas; the linker keeps one
// of two definitions. Files that disagree about a switch or a mode of the compiler do not link (allot/config.hpp).
// Cost: a call where header-only a function may be inlined, outside the paths of rows and charges.
// CUDA sources, and functions for host and device, have their own copies: ALLOT_COMPILED changes nothing there.
#pragma once

#if !defined(ALLOT_DEFINE) && !defined(ALLOT_COMPILED)
#error "allot: define ALLOT_DEFINE in the one file that makes the library; other files need no allot/compiled.hpp"
#endif

#include <allot/buffer/charged_blocks.hpp>
#include <allot/buffers.hpp>
#include <allot/channel/channels.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/device/simulated.hpp>
#include <allot/device_allocator.hpp>
#include <allot/device_rows.hpp>
#include <allot/oom/held_outside.hpp>
#include <allot/oom/injection.hpp>
#include <allot/packet/frames.hpp>
#include <allot/packet/packets.hpp>
#include <allot/report/device.hpp>
#include <allot/report/html.hpp>
#include <allot/report/timeline_log.hpp>
#include <allot/report/trace.hpp>
#include <allot/row/moving/row_compactor.hpp>
#include <allot/row_manager.hpp>
#include <allot/spill/spill_memory.hpp>
#include <allot/spill/store/spill_files.hpp>
#include <allot/spill/stored_device.hpp>
#include <allot/spill/stored_rows.hpp>
#include <allot/spill/stored_vector.hpp>
#include <allot/task/operand_graph.hpp>
#include <allot/task/quota.hpp>
#include <allot/task/task_cache.hpp>
#include <allot/use/block_cache.hpp>
#include <allot/use/containers.hpp>
#include <allot/use/drill.hpp>
#include <allot/use/roxie.hpp>
#include <allot/use/spark.hpp>
#include <allot/use/thor.hpp>
#include <allot/watch/recording_reader.hpp>
