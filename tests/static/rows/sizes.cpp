// Policies that are off add no byte to a row manager or to its handles.
#include <support/catch.hpp>

#include <allot/row_manager.hpp>

#include <type_traits>

namespace {

struct plain : allot::policies<allot::watch::none> {};
template <class... Ps> struct changed : allot::with<plain, Ps...> {};
template <class Set> inline constexpr std::size_t bytes = sizeof(allot::row_manager<Set>);
template <class... Ps> inline constexpr bool adds_nothing = bytes<changed<Ps...>> == bytes<plain>;

template <class Set>
using unique_heap =
    decltype(std::declval<allot::row_manager<Set>&>().heap(allot::as<allot::heap::unique>, std::size_t{64}));

} // namespace

TEST_CASE("answers without state add no byte to a row manager") {
    using namespace allot;
    STATIC_REQUIRE(adds_nothing<guard::none>);
    STATIC_REQUIRE(adds_nothing<spill::none>);
    STATIC_REQUIRE(adds_nothing<oom::null>);
    STATIC_REQUIRE(adds_nothing<oom::raise>);
    STATIC_REQUIRE(adds_nothing<retain::never>);
    STATIC_REQUIRE(adds_nothing<retain::on_call>);
    STATIC_REQUIRE(adds_nothing<heap::unique>);
    STATIC_REQUIRE(adds_nothing<heap::shared_by<>>);
    STATIC_REQUIRE(adds_nothing<refill::single>);
    STATIC_REQUIRE(adds_nothing<refill::blocked<16>>);
    STATIC_REQUIRE(adds_nothing<count::links_out_of_band>);
    STATIC_REQUIRE(adds_nothing<count::none>);
    STATIC_REQUIRE(adds_nothing<slots::bitmap>);
    STATIC_REQUIRE(adds_nothing<size::packed>);
    STATIC_REQUIRE(adds_nothing<guard::none, spill::none, oom::null, refill::single>);
}

TEST_CASE("what charges nobody keeps no figures, what records nothing no counters") {
    STATIC_REQUIRE(bytes<changed<allot::ledger::none>> <= bytes<plain>);
    STATIC_REQUIRE(bytes<changed<allot::ledger::counter>> == bytes<plain>);
    STATIC_REQUIRE(bytes<plain> <= bytes<changed<allot::watch::counters>>);
    STATIC_REQUIRE(std::is_empty_v<allot::detail::ledger_of<allot::ledger::none>>);
}

TEST_CASE("handles are small, and the size of a set has no part in it") {
    STATIC_REQUIRE(sizeof(unique_heap<plain>) <= 4 * sizeof(void*) + 8);
    STATIC_REQUIRE(sizeof(unique_heap<plain>) == sizeof(unique_heap<changed<allot::oom::null, allot::ledger::none>>));
    STATIC_REQUIRE(sizeof(allot::local_rows<plain>) ==
                   sizeof(allot::local_rows<changed<allot::oom::null, allot::ledger::none, allot::count::none>>));
    STATIC_REQUIRE(sizeof(allot::row_ptr<long>) == sizeof(void*));
    STATIC_REQUIRE(sizeof(allot::any_rows) == 2 * sizeof(void*));
}

TEST_CASE("a heaplet's header and its bits are at most 1.6 % of a page") {
    constexpr std::size_t page = std::size_t{1} << 20;
    STATIC_REQUIRE(sizeof(allot::detail::heaplet<allot::slots::linked>) == 192);
    STATIC_REQUIRE(sizeof(allot::detail::heaplet<allot::slots::bitmap>) == 192);
    using namespace allot::guard; // its guards find room in it
    STATIC_REQUIRE(sizeof(allot::detail::heaplet<allot::slots::linked, all<encoded, canary, quarantine<>, zero>>) ==
                   192);
    STATIC_REQUIRE((192 + allot::slots::bitmap::out_of_band_bytes(page / 16, 16, 0)) * 1000 <= page * 16);
    STATIC_REQUIRE((192 + allot::slots::bitmap::out_of_band_bytes(page / 20, 20, 0)) * 1000 <= page * 16);
}
