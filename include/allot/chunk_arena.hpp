// Index header for chunk arenas: blocks of bytes of any size, the fits that cut them, page policies, and units.
#pragma once

#include <allot/chunk/chunk_arena.hpp>
#include <allot/core/units.hpp>
#include <allot/fit/best.hpp>
#include <allot/fit/buddy.hpp>
#include <allot/fit/runs.hpp>
#include <allot/page/arena.hpp>
#include <allot/page/borrowed.hpp>
#include <allot/page/huge_pages.hpp>
#include <allot/page/mapped.hpp>
#include <allot/page/of.hpp>
