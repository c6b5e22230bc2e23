// Address space: how much an arena reserves, what it says where that ends, and limits of 0.
#include <support/catch.hpp>
#include <support/this_system.hpp>

#include <allot/page/arena.hpp>
#include <allot/page/huge_pages.hpp>
#include <allot/sys/map.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <vector>

using namespace allot::literals;
using allot::charge_outcome;
using allot::charge_status;

namespace {

struct reserves : allot::policies<allot::page::mapped<allot::page::mapped_options{.reserve = 192_MiB}>> {};
struct huge_reserves : allot::policies<allot::page::huge_pages<allot::page::huge_options{.reserve = 192_MiB}>> {};

std::string report_of(const allot::page_arena& pages) {
    char page[2048];
    allot::text_writer out{page};
    pages.report(out);
    return page;
}

} // namespace

TEST_CASE("the default reservation shrinks as arenas are alive, and grows again", "[arena][address_space]") {
    if (!support::reserved_space_is_free()) SKIP("64 TiB of address space take memory on this system");
    const std::size_t memory = allot::detail::sys::physical_memory(), least = std::min(memory, 1_GiB);
    const auto reserved = [](auto... values) { return allot::arena<>{values...}.stats().reserved; };
    const std::size_t first = reserved(), limited = reserved(allot::limit{3_GiB});
    {
        std::vector<std::unique_ptr<allot::arena<>>> large;
        const auto leave = [&](std::size_t left) { // of 2^46 bytes
            while (large.size() < (64_TiB - left) / 1_TiB)
                large.push_back(std::make_unique<allot::arena<>>(allot::reserve_bytes{1_TiB}));
        };
        leave(1_TiB);
        if (large.back()->stats().reserved != 1_TiB) SKIP("this process has too little address space");
        CHECK(reserved() <= std::min(first, 1_TiB / 2 / large.size()));
        CHECK(reserved() >= least);
        CHECK(reserved(allot::limit{20_GiB}) >= std::min(20_GiB, memory)); // a limit fits while there is space
        leave(0);
        CHECK(reserved() == least);
        CHECK(reserved(allot::limit{3_GiB}) == std::min(limited, 1_GiB)); // nor can limits reserve without end
        CHECK(reserved(allot::limit{3_GiB}, allot::reserve_bytes{5_GiB}) == 5_GiB);
    }
    CHECK(reserved() == first);
}

TEST_CASE("what an arena reserves: reserve_bytes, else the policy's option, else by its limit",
          "[arena][address_space]") {
    allot::arena<reserves> option, limited{allot::limit{16_MiB}},
        given{allot::limit{16_MiB}, allot::reserve_bytes{32_MiB}};
    CHECK(option.stats().reserved == 192_MiB);
    CHECK(limited.stats().reserved == 192_MiB);
    CHECK(limited.limit() == 16_MiB);
    CHECK(given.stats().reserved == 32_MiB);
    allot::arena<huge_reserves> huge{allot::limit{16_MiB}};
    CHECK(huge.stats().reserved == 192_MiB);
    allot::arena<> by_limit{allot::limit{16_MiB}};
    CHECK(by_limit.stats().reserved == 48_MiB);
}

TEST_CASE("an arena says whether its limit or its address space ended", "[arena][address_space]") {
    allot::arena<> bounded{allot::page_bytes{64_KiB}, allot::limit{256_KiB}},
        unbounded{allot::page_bytes{64_KiB}, allot::reserve_bytes{1_MiB}};
    charge_status why;
    std::byte* const all = bounded.take(4, &why);
    CHECK(why.fitted());
    CHECK(bounded.take(1, &why) == nullptr);
    CHECK(why.outcome == charge_outcome::over_limit);
    CHECK_FALSE(bounded.grow_up(all, 4, 5));
    CHECK_THAT(report_of(bounded), ContainsSubstring(", exhausted"));
    bounded.give(all, 4);

    CHECK(unbounded.take(17, &why) == nullptr);
    CHECK(why.outcome == charge_outcome::no_address_space);
    std::byte* const first = unbounded.take();
    std::byte* const others = unbounded.take(15);
    CHECK(unbounded.take(1, &(why = {})) == nullptr);
    CHECK(why.outcome == charge_outcome::no_address_space);
    CHECK_THAT(report_of(unbounded), ContainsSubstring(", exhausted"));
    allot::detail::memory_request asked{0};
    allot::detail::page_budget budget;
    CHECK(unbounded.slide_down(others, 15, 17, budget, asked) == nullptr);
    unbounded.give(first, 1);
    unbounded.give(others + 64_KiB, 1);
    CHECK(unbounded.take(2, &(why = {})) == nullptr); // two pages that are not neighbours
    CHECK(why.outcome == charge_outcome::no_address_space);
    CHECK_THAT(report_of(unbounded), ContainsSubstring(", fragmented"));
    unbounded.give(others, 1);
    unbounded.give(others + 128_KiB, 13);
    CHECK(unbounded.valid());
}

TEST_CASE("a limit of 0 refuses every page", "[arena][address_space]") {
    allot::arena<> none{allot::limit{0}}, less{allot::limit{1}};
    for (allot::arena<>* const pages : {&none, &less}) {
        charge_status why;
        CHECK(pages->take(1, &why) == nullptr);
        CHECK(why.outcome == charge_outcome::over_limit);
        CHECK(pages->limit() == 0);
        CHECK(pages->stats().reserved <= 17_MiB);
    }
}

#if ALLOT_EXCEPTIONS
TEST_CASE("without address space the constructor says so", "[arena][address_space]") {
    if (ALLOT_ASAN || ALLOT_TSAN) SKIP("a sanitizer reserves address space of its own");
    const allot::arena<> other{allot::limit{1_MiB}};
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
    const rlimit little{1_MiB, before.rlim_max}; // less than the process has: no mapping is granted
    REQUIRE(setrlimit(RLIMIT_AS, &little) == 0);
    if (support::reserved_space{64_MiB}.get() != nullptr) {
        setrlimit(RLIMIT_AS, &before);
        SKIP("this system does not limit address space");
    }
    std::string line, page;
    try {
        const allot::arena<> pages{allot::name{"late"}};
    } catch (const allot::out_of_memory& e) {
        line = e.what();
        page = e.report();
    }
    setrlimit(RLIMIT_AS, &before);
    CHECK_THAT(line, ContainsSubstring("cannot reserve address space"));
    CHECK_THAT(page, ContainsSubstring("arena late: the system refuses address space"));
    CHECK_THAT(page, ContainsSubstring("other arenas: 1, which reserve 64 MiB"));
    CHECK_THAT(page, ContainsSubstring("ulimit -v"));
}
#endif
