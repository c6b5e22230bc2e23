// Everything for rows on the host: the row manager, where its pages come from, and units for its limits.
#pragma once

#include <allot/core/units.hpp>
#include <allot/page/arena.hpp>
#include <allot/page/borrowed.hpp>
#include <allot/page/huge_pages.hpp>
#include <allot/page/mapped.hpp>
#include <allot/page/of.hpp>
#include <allot/row/any_rows.hpp>
#include <allot/row/row_manager.hpp>
