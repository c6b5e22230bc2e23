// The properties that policies need and provide, and lists of types.
//
// Conflicts between policies are never written pair by pair: one rule compares what a policy `needs` with
// what the others `provide`, so a new policy states its own facts and is checked against all. Keep the list
// short.
// Types only; costs nothing at run time.
// Source: the properties of cuda::mr memory resources, 2022.
#pragma once

#include <allot/config.hpp>

namespace allot::inline ALLOT_ABI {

template <class...> struct types {};

namespace property {

struct host_accessible;   // the host may read and write the memory
struct device_accessible; // kernels may
struct many_processes;    // the memory is shared between processes
struct stream_order;      // freed memory may be used again in the order of a stream
struct link_counts;       // a row carries a count of its links
struct movable;           // rows may be moved by compaction
struct concurrent;        // any number of threads may use it at once
struct fixed_address;     // mapped at one address in every process
struct preallocated;      // the system gave the pages before they were asked for, and does not get them back

} // namespace property

} // namespace allot::inline ALLOT_ABI
