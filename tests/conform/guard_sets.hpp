// The sets that the tests of guards run over. A new guard joins by a set in the lists of what it does.
#pragma once

#include <support/catch.hpp>
#include <support/damage.hpp>
#include <support/sets_home.hpp>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

using namespace allot::literals;

namespace {

using allot::misuse;
namespace guard = allot::guard;
using everything = guard::all<guard::encoded, guard::canary, guard::quarantine<16>, guard::zero>;

template <class... Ps> struct a_set : allot::policies<Ps...> {};
using linked = allot::slots::linked;
using bitmap = allot::slots::bitmap;

using coded_sets = std::tuple<a_set<linked, guard::encoded>, a_set<linked, everything>,
                              a_set<linked, guard::all<guard::canary, guard::encoded>>>;
using canary_sets =
    std::tuple<a_set<linked, guard::canary>, a_set<bitmap, guard::canary>, a_set<bitmap, everything>,
               a_set<linked, guard::canary, allot::size::packed>, a_set<guard::canary, allot::size::exact>,
               a_set<guard::canary, allot::heap::per_thread>, a_set<guard::canary, allot::count::links_out_of_band>,
               a_set<guard::all<guard::canary, guard::zero>, allot::count::none>,
               a_set<everything, allot::heap::unique>>;
using waiting_sets = std::tuple<a_set<guard::quarantine<16>>, a_set<bitmap, guard::quarantine<16>>,
                                a_set<linked, everything>, a_set<guard::quarantine<16>, allot::count::none>,
                                a_set<guard::quarantine<16>, allot::count::links_out_of_band>>;
using wiping_sets =
    std::tuple<a_set<linked, guard::zero>, a_set<bitmap, guard::zero>, a_set<linked, everything>,
               a_set<guard::zero, allot::size::packed>, a_set<guard::zero, allot::heap::per_thread>,
               a_set<guard::zero, allot::count::none>, a_set<guard::zero, allot::count::links_out_of_band>>;
using guards = std::tuple<guard::none, guard::encoded, guard::canary, guard::quarantine<>, guard::zero, everything>;

const allot::row_type order{"order"};

[[maybe_unused]] bool is_zero(const void* p, std::size_t n) {
    const auto* at = static_cast<const unsigned char*>(p);
    return std::all_of(at, at + n, [](unsigned char c) { return c == 0; });
}
[[maybe_unused]] unsigned char* bytes(void* p) { return static_cast<unsigned char*>(p); }

} // namespace
