// Policies that are off add no bytes, and the resolution of a set is a matter of the compiler alone.
#include <support/catch.hpp>
#include <support/fake_pages.hpp>

#include <allot/core/describe.hpp>
#include <allot/fit/best.hpp>
#include <allot/fit/buddy.hpp>
#include <allot/fit/runs.hpp>
#include <allot/slots/bitmap.hpp>
#include <allot/slots/linked.hpp>

#include <type_traits>

using namespace allot;

namespace {

struct holder {
    ALLOT_NO_UNIQUE_ADDRESS heap::shared a;
    ALLOT_NO_UNIQUE_ADDRESS refill::single b;
    ALLOT_NO_UNIQUE_ADDRESS ledger::none c;
    ALLOT_NO_UNIQUE_ADDRESS spill::none d;
    ALLOT_NO_UNIQUE_ADDRESS oom::raise e;
    ALLOT_NO_UNIQUE_ADDRESS retain::never f;
    ALLOT_NO_UNIQUE_ADDRESS guard::none g;
    ALLOT_NO_UNIQUE_ADDRESS watch::none h;
    ALLOT_NO_UNIQUE_ADDRESS size::packed i;
    ALLOT_NO_UNIQUE_ADDRESS count::none j;
    void* state;
};

template <class... Ps> constexpr bool all_empty = ((std::is_empty_v<Ps> && std::is_trivial_v<Ps>) && ...);

struct first : policies<fake::host_page, size::packed, oom::null, heap::unique> {};
struct second : policies<heap::unique, oom::null, fake::host_page, size::packed> {};
struct third : policies<oom::null, size::packed, heap::unique, fake::host_page> {};
template <class Set> using answers = typename detail::resolved<Set, product::row_manager>::answers;

} // namespace

TEST_CASE("trivial policies are empty") {
    STATIC_REQUIRE(all_empty<heap::shared, heap::unique, heap::per_thread, heap::shared_by<>, refill::single,
                             refill::blocked<16>>);
    STATIC_REQUIRE(
        all_empty<size::packed, size::exact, size::bucketed<>, count::links, count::links_out_of_band, count::none>);
    STATIC_REQUIRE(all_empty<ledger::none, ledger::counter, spill::none, oom::null, oom::raise, order::host, fit::best,
                             fit::buddy, fit::runs>);
    STATIC_REQUIRE(all_empty<retain::never, retain::on_call, retain::on_pressure>);
    STATIC_REQUIRE(all_empty<watch::none, watch::counters, watch::peaks, watch::trace<>>);
    STATIC_REQUIRE(all_empty<guard::none, guard::encoded, guard::canary, guard::quarantine<8>, guard::zero,
                             guard::all<guard::canary, guard::zero>>);
}

TEST_CASE("empty policies add no byte to an object") { STATIC_REQUIRE(sizeof(holder) == sizeof(void*)); }

TEST_CASE("sets are empty, by whatever name") {
    STATIC_REQUIRE(all_empty<policies<>, first, with<first, size::exact>, as_t<heap::unique>>);
}

TEST_CASE("the order of policies in a set has no effect") {
    STATIC_REQUIRE(std::is_same_v<answers<first>, answers<second>>);
    STATIC_REQUIRE(std::is_same_v<answers<first>, answers<third>>);
}

TEST_CASE("two sets with the same answers are different types") { STATIC_REQUIRE_FALSE(std::is_same_v<first, second>); }

TEST_CASE("a set is described at compile time") {
    STATIC_REQUIRE(describe<first>().size() == 12);
    STATIC_REQUIRE(describe<first>().begin()[1].answer == "size::packed");
    STATIC_REQUIRE(describe<first>().begin()[1].named);
    STATIC_REQUIRE(describe<first>().text().view().starts_with("row_manager of "));
}
