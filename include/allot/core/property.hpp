// Properties that policies need and provide, lists of types, and the condition of errors.
//
// Conflicts are not written pair by pair: a policy states what it needs and provides, and one rule compares its needs
// with what the others of the set provide. Keep the list short. Types only; no cost at run time.
// Source: the properties of cuda::mr memory resources, 2022.
#pragma once

#include <allot/config.hpp>

namespace allot::inline ALLOT_ABI {

/// A list of types.
template <class...> struct types {};

namespace detail {

// Of a static_assert that reports an error wherever its template is instantiated.
template <class> inline constexpr bool always_false = false;

} // namespace detail

namespace property {

struct host_accessible;   // the host may read and write the memory
struct device_accessible; // kernels may read and write the memory
struct stream_order;      // freed memory is reused in the order of a stream
struct link_counts;       // a row has a link count
struct movable;           // rows may move: only users of their manager have their addresses
struct concurrent;        // any number of threads may use it at once
struct fixed_address;     // the memory has one address in every process
struct accounts;          // pages are charged to an account of a tree
struct preallocated;      // all pages are allocated in advance and never returned to the system

} // namespace property

} // namespace allot::inline ALLOT_ABI
