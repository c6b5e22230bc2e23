#include <support/catch.hpp>
#include <support/row_sets.hpp>

#include <type_traits>
#include <vector>

using namespace allot::literals;

namespace {

struct watched : allot::policies<allot::watch::counters, allot::oom::null> {};
struct unwatched : allot::policies<allot::watch::none, allot::oom::null> {};

template <class Rows> concept tells_charges = requires(const Rows& rows) { rows.charges(); };

} // namespace

TEST_CASE("watch::counters records what happened at the limit", "[watch]") {
    allot::row_manager<watched> rows{allot::limit{4_MiB}, allot::page_bytes{64_KiB}};
    CHECK(rows.charges().charges == 0);
    std::vector<void*> all;
    while (void* const p = rows.try_allocate(1000)) all.push_back(p);
    const auto full = rows.charges();
    CHECK(full.charges == 64);
    CHECK(full.charged == 4_MiB);
    CHECK(full.refused >= 1);
    CHECK(full.refunded == 0);
    for (void* p : all) rows.release(p);
    rows.trim();
    CHECK(rows.charges().refunded == 4_MiB);
}

TEST_CASE("watch::none has nothing to report, and takes no room for it", "[watch]") {
    STATIC_REQUIRE(tells_charges<allot::row_manager<watched>>);
    STATIC_REQUIRE_FALSE(tells_charges<allot::row_manager<unwatched>>);
    STATIC_REQUIRE(
        sizeof(allot::detail::watched_ledger<allot::detail::page_ledger, allot::detail::no_charge_counters>) ==
        sizeof(allot::detail::page_ledger));
    STATIC_REQUIRE(
        std::is_empty_v<allot::detail::watched_ledger<allot::detail::no_ledger, allot::detail::no_charge_counters>>);
}
