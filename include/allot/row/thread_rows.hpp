// heap::per_thread: the threads' own local_rows of a manager, made at a thread's 32nd allocation there or later.
//
// heap/thread_cache_registry.hpp finds them, and lets threads and managers end in either order. Cost: that of it.
#pragma once

#include <allot/heap/thread_cache_registry.hpp>
#include <allot/row/local_rows.hpp>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Set> using thread_rows = thread_cache_registry<row_core<Set>, local_rows<Set>>;

} // namespace detail
} // namespace allot::inline ALLOT_ABI
