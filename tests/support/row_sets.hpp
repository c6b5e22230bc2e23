// The sets that the row manager's tests run over.
#pragma once

#include <allot/row_manager.hpp>
#include <allot/use/containers.hpp>
#include <allot/use/roxie.hpp>
#include <allot/use/thor.hpp>

#include <cstdint>

namespace sets {

struct plain : allot::policies<> {};
struct linked : allot::policies<allot::slots::linked> {};
struct bitmap : allot::policies<allot::slots::bitmap> {};
struct scanning : allot::policies<allot::slots::scanning> {};
struct scanning_aside : allot::policies<allot::slots::scanning, allot::count::links_out_of_band> {};
struct delayed : allot::policies<allot::slots::delay_release> {};
struct packed : allot::policies<allot::size::packed, allot::slots::bitmap> {};
struct quiet : allot::policies<allot::oom::null> {};
struct uncounted : allot::policies<allot::count::none> {};
struct per_thread : allot::policies<allot::heap::per_thread> {};

} // namespace sets

// A row that counts its lives.
struct counted_row {
    static inline int alive = 0;
    std::uint64_t value;
    explicit counted_row(std::uint64_t v = 0) : value(v) { ++alive; }
    counted_row(const counted_row&) = delete;
    counted_row& operator=(const counted_row&) = delete;
    ~counted_row() { --alive; }
};
