// well_formed is a question, and never an error: whatever is asked about. The errors are in tests/reject.
#include <support/catch.hpp>
#include <support/fake_pages.hpp>

#include <allot/core/diagnose.hpp>
#include <allot/slots/bitmap.hpp>
#include <allot/slots/linked.hpp>

using namespace allot;

namespace {

template <class... Ps> constexpr bool makes_rows = well_formed<policies<fake::host_page, Ps...>, product::row_manager>;
template <class... Ps> constexpr bool makes_heap = detail::well_formed_heap<policies<fake::host_page>, as_t<Ps...>>();

struct no_policy {};
struct declared;
union bits {
    int n;
};
struct no_contract {
    using category = allot::category::oom;
    using needs = types<>;
    using provides = types<>;
};
struct no_needs {
    using category = allot::category::oom;
    using provides = types<>;
    static constexpr bool raises = false;
};
struct bare {};
struct filled {
    int n;
};
struct rows : policies<fake::host_page> {};
struct two_sets : rows, policies<oom::null> {};
class hidden : policies<fake::host_page> {};

template <class Set> constexpr detail::stage stage_of_rows = detail::stage_of<Set, product::row_manager>();

} // namespace

TEST_CASE("well formed sets are distinguished from others") {
    STATIC_REQUIRE(makes_rows<>);
    STATIC_REQUIRE(makes_rows<size::packed, oom::null, slots::bitmap>);
    STATIC_REQUIRE_FALSE(makes_rows<int>);
    STATIC_REQUIRE_FALSE(makes_rows<void>);
    STATIC_REQUIRE_FALSE(makes_rows<size::packed&>);
    STATIC_REQUIRE_FALSE(makes_rows<size::packed*>);
    STATIC_REQUIRE_FALSE(makes_rows<int[]>);
    STATIC_REQUIRE_FALSE(makes_rows<void()>);
    STATIC_REQUIRE_FALSE(makes_rows<bits>);
    STATIC_REQUIRE_FALSE(makes_rows<no_policy>);
    STATIC_REQUIRE_FALSE(makes_rows<declared>);
    STATIC_REQUIRE_FALSE(makes_rows<size::packed, size::exact>);
    STATIC_REQUIRE_FALSE(makes_rows<size::packed, size::packed>);
    STATIC_REQUIRE_FALSE(makes_rows<order::host>);
    STATIC_REQUIRE_FALSE(makes_rows<no_contract>);
    STATIC_REQUIRE_FALSE(makes_rows<no_needs>);
    STATIC_REQUIRE_FALSE(makes_rows<refill::blocked<0>>);
    STATIC_REQUIRE_FALSE(makes_rows<refill::blocked<257>>);
}

TEST_CASE("a need that nobody meets is found in named answers") {
    STATIC_REQUIRE_FALSE(well_formed<policies<fake::device_page, slots::linked>, product::row_manager>);
    STATIC_REQUIRE_FALSE(well_formed<policies<fake::device_page, count::links>, product::row_manager>);
    STATIC_REQUIRE(well_formed<policies<fake::device_page, count::links_out_of_band>, product::row_manager>);
}

TEST_CASE("what is no set at all makes nothing") {
    STATIC_REQUIRE(stage_of_rows<int> == detail::stage::no_set);
    STATIC_REQUIRE(stage_of_rows<void> == detail::stage::no_set);
    STATIC_REQUIRE(stage_of_rows<rows&> == detail::stage::no_set);
    STATIC_REQUIRE(stage_of_rows<size::packed> == detail::stage::no_set);
    STATIC_REQUIRE(stage_of_rows<declared> == detail::stage::no_set);
    STATIC_REQUIRE(stage_of_rows<filled> == detail::stage::no_set);
    STATIC_REQUIRE(stage_of_rows<two_sets> == detail::stage::no_set);
    STATIC_REQUIRE(stage_of_rows<rows> == detail::stage::fine);
}

TEST_CASE("an empty struct whose base was refused is reported at link, not by a second error") {
    STATIC_REQUIRE(stage_of_rows<bare> == detail::stage::bare_struct);
    STATIC_REQUIRE_FALSE(well_formed<bare, product::row_manager>);
}

TEST_CASE("the first failed stage is the one that is reported") {
    using detail::stage;
    STATIC_REQUIRE(stage_of_rows<policies<int, size::packed, size::packed>> == stage::no_policy);
    STATIC_REQUIRE(stage_of_rows<policies<declared, size::packed, size::packed>> == stage::only_declared);
    STATIC_REQUIRE(stage_of_rows<policies<size::packed, size::packed, order::host>> == stage::twice);
    STATIC_REQUIRE(stage_of_rows<policies<order::host, no_contract>> == stage::not_read);
    STATIC_REQUIRE(stage_of_rows<policies<no_contract, refill::blocked<0>>> == stage::contract);
    STATIC_REQUIRE(stage_of_rows<policies<fake::device_page, slots::linked, refill::blocked<0>>> == stage::options);
    STATIC_REQUIRE(stage_of_rows<policies<fake::device_page, slots::linked>> == stage::needs);
}

TEST_CASE("a heap may answer what is up to one heap") {
    STATIC_REQUIRE(makes_heap<>);
    STATIC_REQUIRE(makes_heap<heap::unique, size::packed, refill::blocked<16>, slots::bitmap>);
    STATIC_REQUIRE_FALSE(makes_heap<oom::null>);
    STATIC_REQUIRE_FALSE(makes_heap<count::none>); // one form of rows a manager
    STATIC_REQUIRE_FALSE(makes_heap<fake::device_page>);
    STATIC_REQUIRE_FALSE(makes_heap<heap::unique, heap::shared>);
    STATIC_REQUIRE_FALSE(makes_heap<int>);
    STATIC_REQUIRE_FALSE(makes_heap<refill::blocked<0>>);
    STATIC_REQUIRE_FALSE(detail::well_formed_heap<policies<fake::device_page>, as_t<slots::linked>>());
}
