// The sets that the benches measure.
#pragma once

#include <allot/row_manager.hpp>
#include <allot/use/roxie.hpp>
#include <allot/use/thor.hpp>

namespace bench {

using unique = allot::heap::unique;
using packed = allot::size::packed;
using uncounted = allot::count::none;
using blocked = allot::refill::blocked<16>;

struct bitmap_rows : allot::policies<allot::slots::bitmap> {};
struct shared_rows : allot::policies<allot::slots::bitmap, allot::heap::shared> {};
struct linked_rows : allot::policies<allot::slots::linked> {};
struct scanning_rows : allot::policies<allot::slots::scanning> {};
struct delayed_rows : allot::policies<allot::slots::delay_release> {};
struct guarded_rows
    : allot::policies<allot::slots::linked, allot::guard::all<allot::guard::encoded, allot::guard::canary>> {};
struct thread_rows : allot::policies<allot::slots::bitmap, allot::heap::per_thread, packed> {};
struct uncounted_rows : allot::policies<allot::slots::bitmap, uncounted> {};
struct uncounted_thread_rows : allot::policies<allot::slots::bitmap, allot::heap::per_thread, uncounted> {};
struct packed_rows : allot::policies<allot::slots::bitmap, unique, packed> {};
struct exact_rows : allot::policies<allot::slots::bitmap, unique, allot::size::exact> {};
struct fine_rows : allot::policies<allot::slots::bitmap, allot::size::bucketed<allot::size::list::fine>> {};
struct roxie_rows : allot::policies<allot::slots::bitmap, allot::size::bucketed<allot::size::list::roxie>> {};
struct bare_rows : allot::policies<allot::slots::bitmap, unique, packed, uncounted> {};

} // namespace bench
