#include <support/catch.hpp>

#include <allot/core/function_ref.hpp>

#include <type_traits>

using allot::detail::function_ref;

namespace {

static_assert(!std::is_convertible_v<const char*, function_ref<void()>>); // no text is taken for a callable
static_assert(!std::is_convertible_v<void (*)(int), function_ref<void()>>);
static_assert(sizeof(function_ref<void()>) == 2 * sizeof(void*));

constexpr auto is_odd = [](int& n) { return n++ % 2 != 0; };

} // namespace

TEST_CASE("function_ref calls what it refers to, with references") {
    int n = 3;
    const function_ref<bool(int&)> odd = is_odd;
    CHECK(odd(n));
    CHECK_FALSE(odd(n));
    CHECK(n == 5);

    int calls = 0;
    const auto count = [&] { return ++calls; };
    const function_ref<void()> first = count; // the result is dropped
    const function_ref<void()> copy = first;  // refers to `count`, not to `first`
    first();
    copy();
    CHECK(calls == 2);
    const function_ref<bool()> asked = count; // a number as a truth
    CHECK(asked());
}
