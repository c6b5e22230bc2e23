#include <support/catch.hpp>
#include <support/fake_pages.hpp>

#include <allot/core/diagnose.hpp>
#include <allot/page/mapped.hpp>
#include <allot/slots/bitmap.hpp>

#include <type_traits>

using namespace allot;
using std::is_same_v;

namespace {

template <class Set, class Category, class Product = product::row_manager>
using answer = typename detail::resolved<Set, Product>::template answer<Category>;

struct plain : policies<fake::host_page> {};
struct device : policies<fake::device_page> {};
struct named : policies<oom::null, refill::blocked<16>, fake::host_page, size::packed> {};

template <std::size_t Step> struct by_steps { // an answer from outside of allot
    using category = category::size;
    using needs = types<>;
    using provides = types<>;
    using list = size::list::fine;
    static constexpr std::size_t step = Step;
    static constexpr bool rounds = false;
    static constexpr std::string_view about = "", cost = "";
};

} // namespace

TEST_CASE("an answer to size with a step that no heap rounds to is refused") {
    STATIC_REQUIRE(category::size::takes<by_steps<4>>);
    STATIC_REQUIRE(category::size::takes<by_steps<8>>);
    STATIC_REQUIRE(!category::size::takes<by_steps<64>>);
}

TEST_CASE("what is not named takes its category's fallback") {
    STATIC_REQUIRE(is_same_v<answer<plain, category::size>, size::bucketed<size::list::fine>>);
    STATIC_REQUIRE(is_same_v<answer<plain, category::heap>, heap::per_thread>);
    STATIC_REQUIRE(is_same_v<answer<plain, category::refill>, refill::single>);
    STATIC_REQUIRE(is_same_v<answer<plain, category::ledger>, ledger::counter>);
    STATIC_REQUIRE(is_same_v<answer<plain, category::spill>, spill::none>);
    STATIC_REQUIRE(is_same_v<answer<plain, category::oom>, oom::raise>);
    STATIC_REQUIRE(
        is_same_v<answer<plain, category::guard>, std::conditional_t<ALLOT_CHECKED != 0, guard::canary, guard::none>>);
    STATIC_REQUIRE(is_same_v<answer<plain, category::watch>, watch::counters>);
}

TEST_CASE("what is named is the answer") {
    STATIC_REQUIRE(is_same_v<answer<named, category::size>, size::packed>);
    STATIC_REQUIRE(is_same_v<answer<named, category::refill>, refill::blocked<16>>);
    STATIC_REQUIRE(is_same_v<answer<named, category::oom>, oom::null>);
    STATIC_REQUIRE(is_same_v<answer<named, category::heap>, heap::per_thread>);
    STATIC_REQUIRE(detail::resolved<named, product::row_manager>::names<category::oom>);
    STATIC_REQUIRE_FALSE(detail::resolved<named, product::row_manager>::names<category::heap>);
}

TEST_CASE("a fallback depends on what the others provide") {
    STATIC_REQUIRE(is_same_v<answer<plain, category::slots>, slots::bitmap>);
    STATIC_REQUIRE(is_same_v<answer<plain, category::count>, count::links>);
    STATIC_REQUIRE(is_same_v<answer<plain, category::retain>, retain::on_pressure>);
    STATIC_REQUIRE(is_same_v<answer<device, category::slots>, slots::bitmap>);
    STATIC_REQUIRE(is_same_v<answer<device, category::count>, count::links_out_of_band>);
    STATIC_REQUIRE(is_same_v<answer<policies<fake::preallocated_page>, category::retain>, retain::never>);
}

TEST_CASE("a fallback depends on other fallbacks as well") {
    STATIC_REQUIRE(is_same_v<answer<policies<>, category::page>, page::mapped<>>);
    STATIC_REQUIRE(is_same_v<answer<policies<>, category::slots>, slots::bitmap>);
    STATIC_REQUIRE(is_same_v<answer<policies<>, category::count>, count::links>);
}

TEST_CASE("a set need not have a name, and a set of a set has its answers") {
    struct derived : named {};
    STATIC_REQUIRE(is_same_v<answer<policies<fake::host_page, size::packed>, category::size>, size::packed>);
    STATIC_REQUIRE(is_same_v<answer<derived, category::size>, size::packed>);
    STATIC_REQUIRE(well_formed<derived, product::row_manager>);
}

TEST_CASE("with replaces one answer and keeps the others") {
    using changed = with<named, size::exact>;
    STATIC_REQUIRE(is_same_v<answer<changed, category::size>, size::exact>);
    STATIC_REQUIRE(is_same_v<answer<changed, category::oom>, oom::null>);
    STATIC_REQUIRE(is_same_v<answer<changed, category::refill>, refill::blocked<16>>);
    STATIC_REQUIRE(detail::resolved<changed, product::row_manager>::names<category::size>);
}

TEST_CASE("with adds an answer, takes several, and can be repeated") {
    using changed = with<with<plain, heap::unique>, size::exact, heap::per_thread>;
    STATIC_REQUIRE(is_same_v<answer<changed, category::heap>, heap::per_thread>);
    STATIC_REQUIRE(is_same_v<answer<changed, category::size>, size::exact>);
    STATIC_REQUIRE(well_formed<changed, product::row_manager>);
}

TEST_CASE("with changes what fallbacks depend on") {
    STATIC_REQUIRE(is_same_v<answer<with<plain, fake::device_page>, category::count>, count::links_out_of_band>);
    STATIC_REQUIRE(is_same_v<answer<with<device, fake::host_page>, category::count>, count::links>);
}

TEST_CASE("as gives one heap its answers") {
    using changed = detail::overridden<named, as_t<heap::unique, size::exact>>;
    STATIC_REQUIRE(is_same_v<answer<changed, category::heap>, heap::unique>);
    STATIC_REQUIRE(is_same_v<answer<changed, category::size>, size::exact>);
    STATIC_REQUIRE(is_same_v<answer<changed, category::oom>, oom::null>);
    STATIC_REQUIRE(is_same_v<detail::overridden<named, as_t<>>, named>);
    STATIC_REQUIRE(is_same_v<decltype(as<heap::unique>), const as_t<heap::unique>>);
    STATIC_REQUIRE(detail::well_formed_heap<named, as_t<heap::unique, size::exact>>());
    STATIC_REQUIRE(detail::well_formed_heap<named, as_t<>>());
}

TEST_CASE("each product has its own list of categories") {
    struct pages : policies<fake::host_page, retain::on_call> {};
    STATIC_REQUIRE(well_formed<pages, product::arena>);
    STATIC_REQUIRE(is_same_v<answer<pages, category::retain, product::arena>, retain::on_call>);
    STATIC_REQUIRE(is_same_v<answer<pages, category::watch, product::arena>, watch::counters>);
    STATIC_REQUIRE_FALSE(well_formed<named, product::arena>);
}
