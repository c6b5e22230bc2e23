// Every call to the system fails once: whatever the n-th call is, the request that needed it fails, nothing else
// changes, and nothing is left behind.
#include <support/catch.hpp>
#include <support/in_use.hpp>

#include <allot/chunk_arena.hpp>
#include <allot/row_manager.hpp>

#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace allot::literals;
namespace fault = allot::detail::sys::fault;

namespace {

std::size_t mappings() {
    std::ifstream maps("/proc/self/maps");
    std::size_t n = 0;
    for (std::string line; std::getline(maps, line);)
        if (line.find("[heap]") == std::string::npos && line.find("[stack]") == std::string::npos) ++n;
    return n;
}

// Runs `scene` with the first, second, ... call failing, until it runs without a failure. Returns the calls it makes.
template <class Scene> std::uint64_t fail_each(Scene scene) {
    fault::fail_nth(0);
    scene(); // the table of arenas and the C library get their memory
    const std::size_t before = mappings();
    for (std::uint64_t n = 1;; ++n) {
        fault::fail_nth(n);
        try {
            scene();
        } catch (const allot::out_of_memory&) {
            CHECK(fault::has_failed());
        }
        const bool has_failed = fault::has_failed();
        fault::fail_nth(0);
        INFO("call " << n);
        // The C library may map once more for itself; a sanitizer does so at any time, so there it is not counted.
        if (!ALLOT_ASAN && !ALLOT_TSAN) CHECK(mappings() <= before + 1);
        if (!has_failed) return n - 1;
        REQUIRE(n < 1000);
    }
}

struct null_set : allot::policies<allot::oom::null, allot::size::bucketed<allot::size::list::fine>> {};
struct blocks : allot::policies<allot::oom::null> {};
struct huge_set : allot::policies<allot::oom::null, allot::page::huge_pages<>> {};
struct optioned : allot::policies<allot::oom::null,
                                  allot::page::mapped<allot::page::mapped_options{.dont_dump = true, .lock = true}>> {};

template <class Set> void rows_scene() {
    allot::row_manager<Set> rows{allot::limit{96_MiB}, allot::page_bytes{1_MiB}};
    std::vector<void*> all;
    for (std::size_t i = 0; i < 600; ++i) {
        const std::size_t n = i % 50 == 0 ? 3_MiB : i % 7 == 0 ? 200000 : 100;
        const std::size_t used = rows.used(), live = rows.live_rows();
        allot::charge_status why;
        if (void* const p = rows.try_allocate(n, allot::untyped, &why)) {
            std::memset(p, 1, n);
            all.push_back(p);
        } else {
            CHECK(why.outcome == allot::charge_outcome::no_memory);
            CHECK(why.by == allot::refuser::arena);
            CHECK(rows.used() <= used); // a refusal may have collected empty pages
            CHECK(rows.live_rows() == live);
        }
        CHECK(rows.arena().valid());
        if (all.size() > 40) {
            rows.release(all[i % all.size()]);
            all[i % all.size()] = all.back();
            all.pop_back();
        }
    }
    CHECK(rows.live_rows() == all.size());
    for (void* p : all) rows.release(p);
    rows.trim();
    rows.arena().trim();
    CHECK(support::in_use(rows) == 0);
    CHECK(rows.live_rows() == 0);
    CHECK(rows.valid());
}

} // namespace

TEMPLATE_TEST_CASE("a row manager survives the failure of each call to the system", "[fault]", null_set, huge_set,
                   optioned) {
    CHECK(fail_each([] { rows_scene<TestType>(); }) > 5);
}

TEST_CASE("an arena survives the failure of each call to the system", "[fault]") {
    const auto calls = fail_each([] {
        allot::arena<> pages{allot::limit{512_MiB}, allot::page_bytes{1_MiB}};
        std::vector<std::pair<std::byte*, std::size_t>> taken;
        std::size_t n = 0;
        for (int i = 0; i < 300; ++i) {
            const std::size_t k = i % 5 == 0 ? 7 : 1;
            const auto before = pages.stats();
            if (std::byte* const p = pages.take(k)) {
                p[0] = p[(k << 20) - 1] = std::byte{1};
                taken.emplace_back(p, k);
                n += k;
            } else {
                CHECK(pages.stats().taken == before.taken);
                CHECK(pages.stats().peak_taken == before.peak_taken);
            }
            CHECK(pages.valid());
            if (i % 3 == 0 && !taken.empty() &&
                pages.grow_up(taken.back().first, taken.back().second, taken.back().second + 2)) {
                taken.back().first[((taken.back().second + 2) << 20) - 1] = std::byte{2};
                taken.back().second += 2;
                n += 2;
            }
        }
        CHECK(pages.stats().taken == n << 20);
        for (auto& [p, k] : taken) pages.give(p, k);
        CHECK(pages.stats().taken == 0);
        pages.trim();
        CHECK(pages.valid());
    });
    CHECK(calls > 10);
}

TEST_CASE("a thread for whose end the system has no memory gets its rows without caches", "[fault]") {
    allot::row_manager<null_set> rows{allot::limit{8_MiB}};
    rows.release(rows.allocate(64)); // the pages are there
    std::thread{[&] {
        fault::fail_nth(1);
        void* const first = rows.allocate(64);
        CHECK_ON_THREAD(fault::has_failed());
        fault::fail_nth(0);
        CHECK_ON_THREAD(first != nullptr);
        for (int i = 0; i != 64; ++i) rows.release(rows.allocate(64));
        rows.release(first);
    }}.join();
    CHECK(rows.live_rows() == 0);
    CHECK(rows.valid());
}

TEST_CASE("an arena for which the system has less address space than it was to have says so", "[fault]") {
    fault::fail_nth(1, 2);
    allot::row_manager<null_set> rows{allot::name{"late"}, allot::page_bytes{64_KiB}, allot::reserve_bytes{8_MiB}};
    fault::fail_nth(0);
    CHECK(rows.arena().stats().reserved == 4_MiB);
    allot::charge_status why;
    CHECK(rows.try_allocate(6_MiB, allot::untyped, &why) == nullptr);
    char text[512];
    allot::text_writer out{text};
    write(out, why);
    CHECK(out.view() ==
          "no address space: arena late uses 0 bytes of 4 MiB, which the system gave it of 8 MiB; the request "
          "needs 6.06 MiB; raise ulimit -v");
    out.clear();
    rows.arena().report(out);
    CHECK(out.view().find("reserved 4 MiB of 8 MiB (the system refuses more: raise ulimit -v)") !=
          std::string_view::npos);
}

#if ALLOT_EXCEPTIONS
TEST_CASE("an arena without memory for its tables says which one, and what to raise", "[fault]") {
    const auto first_line_with = [](const char* text, auto make) {
        std::string line;
        for (unsigned n = 1; n != 9 && line.find(text) == std::string::npos; ++n) {
            fault::fail_nth(n, 1);
            try {
                make();
            } catch (const allot::out_of_memory& e) {
                line = e.what();
                CHECK(e.why().outcome == allot::charge_outcome::no_memory);
            }
        }
        fault::fail_nth(0);
        return line;
    };
    CHECK(first_line_with("tables", [] { const allot::arena<> a{allot::name{"late"}, allot::limit{1_MiB}}; }) ==
          "allot: out of memory: arena late has no memory for its tables: raise ulimit -v or vm.max_map_count");
    CHECK(first_line_with("block table", [] {
              const allot::chunk_arena<blocks> a{allot::name{"late"}};
          }).ends_with("blocks late: no memory: the system"));
}
#endif
