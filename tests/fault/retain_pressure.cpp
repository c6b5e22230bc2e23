// retain::on_pressure gives free pages back when the system refuses memory, and tries again; on_call does not.
#include <support/catch.hpp>

#include <allot/page/arena.hpp>

using namespace allot::literals;

namespace {

struct never_set : allot::policies<allot::retain::never> {};
struct on_call_set : allot::policies<allot::retain::on_call> {};
struct on_pressure_set : allot::policies<allot::retain::on_pressure> {};

struct outcome {
    bool met;
    std::size_t returned;
};

// A run beyond what is committed is asked for while the system refuses to make memory usable twice: more, and just so
// much. One free page of before could go back.
template <class Set> outcome under_pressure() {
    allot::arena<Set> pages{allot::page_bytes{1_MiB}, allot::reserve_bytes{64_MiB}};
    std::byte* const one = pages.take();
    one[0] = std::byte{1};
    pages.give(one, 1);
    allot::detail::sys::fault::fail_nth(1, 2);
    std::byte* const run = pages.take(30);
    allot::detail::sys::fault::fail_nth(0);
    const outcome was{run != nullptr, pages.stats().returned};
    if (run != nullptr) pages.give(run, 30);
    CHECK(pages.valid());
    return was;
}

} // namespace

TEST_CASE("under pressure free pages go back, and the request is tried again", "[fault][retain]") {
    const outcome tried_again = under_pressure<on_pressure_set>();
    CHECK(tried_again.met);
    CHECK(tried_again.returned == 1_MiB);
    for (const outcome& was : {under_pressure<never_set>(), under_pressure<on_call_set>()}) {
        CHECK_FALSE(was.met);
        CHECK(was.returned == 0);
    }
}
