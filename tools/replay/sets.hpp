// The sets that a recording is replayed against, one line each. Add yours, and build allot_replay:
//
//     struct mine : allot::policies<allot::size::exact, allot::heap::shared> {};
//     ...
//     of<rows_of<mine>>("mine", "rows"),
//
// rows_of<Set> is a row manager, blocks_of<Set> a chunk arena, device_of<Set> a device allocator of the simulated
// device; any class with the members that subjects.hpp lists is a subject.
#pragma once

#include "entry.hpp"
#include "run.hpp"
#include "subjects.hpp"

#include <allot/use/containers.hpp>
#include <allot/use/drill.hpp>
#include <allot/use/roxie.hpp>
#include <allot/use/thor.hpp>

#include <array>
#include <string_view>

namespace replay {

template <class Subject> constexpr entry of(std::string_view name, std::string_view what, bool is_reference = false) {
    return {name, what, [](const sequence& t, const how& h) { return run_of<Subject>{t, h}(); }, Subject::is_on_device,
            is_reference};
}

struct fallbacks : allot::policies<> {};
struct best_blocks : allot::policies<allot::fit::best> {};
struct run_blocks : allot::policies<allot::fit::runs, allot::heap::per_thread> {};
struct small_chunks : allot::policies<allot::fit::runs> { // as examples/tpch has them
    static constexpr allot::chunk_bytes chunk{std::size_t{64} << 10};
};
struct drill_blocks : allot::policies<allot::fit::buddy, allot::heap::per_thread> { // use::drill without its account
    static constexpr allot::chunk_bytes chunk = allot::use::drill::chunk;
};
struct device_blocks
    : allot::policies<allot::page::on_device<allot::device::simulated>, allot::fit::best, allot::order::stream> {};

inline constexpr std::array entries{
    of<malloc_of_glibc>("malloc", "glibc", true),
    of<rows_of<allot::use::containers>>("use::containers", "rows"),
    of<rows_of<allot::use::roxie>>("use::roxie", "rows"),
    of<rows_of<allot::use::thor>>("use::thor", "rows"),
    of<rows_of<fallbacks>>("fallbacks", "rows"),
    of<blocks_of<best_blocks>>("fit::best", "blocks"),
    of<blocks_of<run_blocks>>("fit::runs", "blocks"),
    of<blocks_of<small_chunks>>("fit::runs/64K", "blocks"),
    of<blocks_of<drill_blocks>>("use::drill", "blocks"),
    of<device_of<device_blocks>>("device", "simulated"),
};

} // namespace replay
