#include <support/catch.hpp>
#include <support/row_sets.hpp>

#include <string>
#include <vector>

using namespace allot::literals;

namespace {

struct tenant : allot::policies<allot::page::of<allot::arena<>>, allot::oom::null> {};
struct loud : allot::policies<allot::page::of<allot::arena<>>> {};

} // namespace

TEST_CASE("managers that share an arena release each other's rows", "[shared_arena]") {
    allot::arena<> pages{allot::limit{16_MiB}, allot::page_bytes{64_KiB}};
    allot::row_manager<tenant> a{pages, allot::name{"a"}};
    allot::row_manager<tenant> b{pages, allot::limit{4_MiB}, allot::name{"b"}};
    std::vector<void*> all;
    for (int i = 0; i < 1000; ++i) all.push_back(a.allocate(100));
    auto local = b.local();
    for (int i = 0; i < 500; ++i) b.release(all[static_cast<std::size_t>(i)]);
    for (int i = 500; i < 1000; ++i) local.release(all[static_cast<std::size_t>(i)]);
    CHECK(a.live_rows() == 0);
    CHECK(b.live_rows() == 0);
    a.trim();
    CHECK(pages.stats().taken == 0);
}

TEST_CASE("pages that one manager gives back serve the other", "[shared_arena]") {
    allot::arena<> pages{allot::limit{4_MiB}, allot::page_bytes{64_KiB}};
    allot::row_manager<tenant> a{pages};
    allot::row_manager<tenant> b{pages};
    for (auto* const rows : {&a, &b, &a}) {
        std::vector<void*> all;
        while (void* const p = rows->try_allocate(1000)) all.push_back(p);
        CHECK(all.size() > 3500);
        for (void* p : all) rows->release(p); // its empty pages are asked for when the other needs them
    }
}

#if ALLOT_EXCEPTIONS
TEST_CASE("a full arena reports which managers hold it", "[shared_arena]") {
    allot::arena<> pages{allot::limit{2_MiB}, allot::page_bytes{64_KiB}, allot::name{"shared"}};
    allot::row_manager<tenant> greedy{pages, allot::name{"greedy"}};
    allot::row_manager<loud> poor{pages, allot::name{"poor"}};
    std::vector<void*> all;
    while (void* const p = greedy.try_allocate(5000)) all.push_back(p);
    std::string page;
    try {
        static_cast<void>(poor.allocate(100));
    } catch (const allot::out_of_memory& error) {
        page = error.report();
    }
    INFO(page);
    CHECK_THAT(page, ContainsSubstring("held by greedy: 2 MiB"));
    CHECK_THAT(page, ContainsSubstring("held by poor: 0 bytes"));
    CHECK_THAT(page, ContainsSubstring("arena shared"));
    CHECK_THAT(page, ContainsSubstring("exhausted"));
    CHECK(poor.used() == 0);
    for (void* p : all) greedy.release(p);
}
#endif
