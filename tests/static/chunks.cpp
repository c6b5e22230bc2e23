// Policies that are off add no byte to a chunk arena, and what is kept about blocks is as small as is said.
#include <support/catch.hpp>

#include <allot/chunk_arena.hpp>

#include <type_traits>

namespace {

struct plain : allot::policies<allot::watch::none, allot::fit::runs> {};
template <class... Ps> struct changed : allot::with<plain, Ps...> {};
template <class Set> inline constexpr std::size_t bytes = sizeof(allot::chunk_arena<Set>);

} // namespace

TEST_CASE("answers without state add no byte to a chunk arena") {
    using namespace allot;
    STATIC_REQUIRE(bytes<changed<oom::null>> == bytes<plain>);
    STATIC_REQUIRE(bytes<changed<retain::never>> == bytes<plain>);
    STATIC_REQUIRE(bytes<changed<retain::on_call>> == bytes<plain>);
    STATIC_REQUIRE(bytes<changed<heap::per_thread>> == bytes<plain>);
    STATIC_REQUIRE(bytes<changed<ledger::none>> <= bytes<plain>);
    STATIC_REQUIRE(bytes<plain> < bytes<changed<watch::counters>>);
    STATIC_REQUIRE(bytes<plain> <= 14 * 1024);
    STATIC_REQUIRE(sizeof(allot::block) == 2 * sizeof(void*));
}

TEST_CASE("what a fit keeps about a slab is less than a cache line, and who counts nothing keeps nothing") {
    STATIC_REQUIRE(sizeof(allot::detail::slab) == 56);
    STATIC_REQUIRE(std::is_empty_v<allot::detail::counts_by_class<false>>);
}
