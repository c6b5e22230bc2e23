// Random traces of a row manager agree with a model. The seed of a trace that fails is told; MODEL_SEED=n runs that one
// alone.
#include <support/catch.hpp>
#include <support/row_trace.hpp>

#include <cstdlib>

namespace {

struct linked : allot::policies<allot::slots::linked, allot::oom::null> {};
struct bitmap : allot::policies<allot::slots::bitmap, allot::size::bucketed<allot::size::list::fine>> {};
struct out_of_band : allot::policies<allot::slots::bitmap, allot::count::links_out_of_band, allot::size::packed> {};
struct uncounted : allot::policies<allot::count::none, allot::slots::linked, allot::size::exact> {};
struct threads : allot::policies<allot::heap::per_thread, allot::slots::bitmap> {};
struct unlimited : allot::policies<allot::ledger::none, allot::heap::unique> {};
struct lent : allot::policies<allot::page::borrowed, allot::slots::bitmap> {};
struct scanned : allot::policies<allot::slots::scanning, allot::oom::null> {};
struct scanned_aside : allot::policies<allot::slots::scanning, allot::count::links_out_of_band, allot::size::packed> {};
struct delayed : allot::policies<allot::slots::delay_release, allot::size::bucketed<allot::size::list::fine>> {};
struct delayed_threads : allot::policies<allot::slots::delay_release, allot::heap::per_thread, allot::size::packed> {};
struct delayed_uncounted : allot::policies<allot::slots::delay_release, allot::count::none, allot::size::exact> {};

} // namespace

TEMPLATE_TEST_CASE("random traces of a row manager agree with the model", "[model]", linked, bitmap, out_of_band,
                   uncounted, threads, unlimited, lent, scanned, scanned_aside, delayed, delayed_threads,
                   delayed_uncounted) {
    const char* const one = std::getenv("MODEL_SEED");
    const unsigned first = one != nullptr ? static_cast<unsigned>(std::atoi(one)) : 1;
    const unsigned last = one != nullptr ? first : ALLOT_ASAN || ALLOT_TSAN ? 4 : 24;
    for (unsigned seed = first; seed <= last; ++seed) {
        INFO("seed " << seed);
        REQUIRE(row_trace<TestType>(seed).run(6000));
    }
}
