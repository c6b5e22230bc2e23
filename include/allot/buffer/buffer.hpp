// A buffer: one view of a block of memory that is shared, and charged to exactly one account. See buffer_class.hpp for
// what it is and costs, docs/buffers.md for its use.
#pragma once

#include <allot/buffer/buffer_class.hpp>

#include <allot/buffer/buffer_make.hpp>
