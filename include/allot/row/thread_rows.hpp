// heap::per_thread: each thread finds its own local_rows of a manager, made when it has allocated some rows there.
//
// Where it finds them, and how threads and managers end in either order: heap/thread_cache_registry.hpp. Cost: that.
#pragma once

#include <allot/heap/thread_cache_registry.hpp>
#include <allot/row/local_rows.hpp>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Set> using thread_rows = thread_cache_registry<row_core<Set>, local_rows<Set>>;

} // namespace detail
} // namespace allot::inline ALLOT_ABI
