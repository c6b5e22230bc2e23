// What the compiled library has of chunk arenas: the code of sets that many projects use, and of a project's own sets,
// as row/compiled_rows.hpp has it for rows.
//
//     struct engine_blocks : allot::policies<allot::ledger::tree> {};
//     ALLOT_COMPILED_CHUNKS(engine_blocks) // behind the set, at global scope
#pragma once

#include <allot/chunk/chunk_core.hpp>
#include <allot/chunk/chunk_policies.hpp>
#include <allot/config.hpp>
#include <allot/core/policies.hpp>
#include <allot/core/product.hpp>
#include <allot/fit/runs.hpp>

namespace allot::inline ALLOT_ABI {
namespace detail::compiled {

template <class Set> using chunks = chunk_policies<answers_of<Set, product::chunk_arena>>;

struct plain_chunks : policies<> {};
struct run_chunks : policies<fit::runs> {};

} // namespace detail::compiled
} // namespace allot::inline ALLOT_ABI

#define ALLOT_CHUNK_INSTANCES(X, set)                                                                                  \
    X(detail::chunk_core<detail::compiled::chunks<set>>)                                                               \
    X(detail::chunk_heap<detail::compiled::chunks<set>>)                                                               \
    X(detail::thread_cache_registry<detail::chunk_core<detail::compiled::chunks<set>>,                                 \
                                    detail::thread_block_cache<detail::chunk_core<detail::compiled::chunks<set>>>>)
/// The library has the code of chunk arenas of this set.
#define ALLOT_COMPILED_CHUNKS(set) ALLOT_SET_INSTANCES(ALLOT_CHUNK_INSTANCES, set)

ALLOT_INSTANCES(ALLOT_CHUNK_INSTANCES, detail::compiled::plain_chunks)
ALLOT_INSTANCES(ALLOT_CHUNK_INSTANCES, detail::compiled::run_chunks)
