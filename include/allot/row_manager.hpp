// Rows in the host's memory: the row manager, the sources of its pages, and units for its limits.
//
// The call path, with the file under include/allot/ and the cost of each call. A batch is at most 32 slots, a group 64;
// `tree` is ledger::tree. A huge row has no slot: huge_rows calls page_provider::take, and give at its release.
//
// allocate
//   row_manager::allocate, row_core::try_allocate     row/row_core.hpp               no lock
//   thread's cache: row_bins, slot_cache::pop         row/row_bins.hpp               no lock, plain loads and stores
//     heap::per_thread: thread_cache_registry         sync/thread_cache_registry.hpp finds it: a thread-local load
//   heap::shared: buckets::at, fixed_heap::pop        heap/slot_caches.hpp           no lock, one atomic exchange
//   cache empty: slot_caches::refill, slot_store      heap/slot_caches.hpp           heap's spin lock, once per group
//   page_queues::claim, in_page::claim (slot policy)  heap/page_queues.hpp, slots/   under that lock
//   no slot: page_provider::take                      heap/ledger_pages.hpp          no heap's lock is held
//     heap_group::collect (pages reported empty)      heap/heap_group.hpp            heap's spin lock if it is free
//     charged_pages::take, page_ledger::try_charge    page/charged_pages.hpp         compare-and-swap; tree: its lock
//     page_arena::take                                page/page_arena.hpp            arena's spin lock
//     system_pages::commit                            page/system_pages.hpp          system call, for new pages only
//     no page: page_queues::claim_any, take_waiting   heap/slot_caches.hpp           any free slot, also in caches
//   refused: detail::climb, step by step              request/ladder.hpp             no lock between the steps
//     own idle: page_provider::return_idle            heap/page_provider.hpp         each heap's lock in turn
//     of others, reclaimers, wait: account_steps      account/account_steps.hpp      the tree's lock in turn
//     pages_in_transit::request::retry                page/pages_in_transit.hpp      waits for pages of other threads
//   row_core::refuse                                  row/row_core.hpp               the oom policy
//   slot_rows::start                                  row/slot_rows.hpp              one or two stores: link count 1
// release: never waits, no system call
//   row_core::release; by address: allot::release     row/row.hpp                    no lock
//   link_word::release_if_sole, drop                  row/link_count.hpp             load, store; shared: atomic -1
//   last link: slot_rows::drop                        row/slot_rows.hpp              destructor, guard
//   slot_cache::push, else fixed_heap::push           heap/slot_cache.hpp            as for pop
//   cache full: slot_caches::push_apart, slot_store   heap/slot_caches.hpp           spin lock if free; else atomics
//   page empty: page_queues::count, heap_group::note  heap/page_queues.hpp           no lock; the page stays charged
// an empty page: at the next page request of its manager, by release_empty_pages(), or when the arena is full
//   fixed_heap::reclaim, slot_store::collect          heap/fixed_heap.hpp            heap's spin lock
//   leaving_pages::give, page_arena::give             page/page_arena.hpp            no lock; the page stays charged
//   page_ledger::refund                               ledger/page_ledger.hpp         atomic -bytes; tree: try_lock
// a free page: by trim() or as the retain policy says
//   page_arena::trim, system_pages::return_pages      page/system_pages.hpp          system call
#pragma once

#include <allot/core/units.hpp>
#include <allot/page/arena.hpp>
#include <allot/page/borrowed.hpp>
#include <allot/page/huge_pages.hpp>
#include <allot/page/mapped.hpp>
#include <allot/page/of.hpp>
#include <allot/row/any_rows.hpp>
#include <allot/row/row_manager.hpp>
