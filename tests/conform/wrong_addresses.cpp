// Any address inside an arena, given to any call on rows: nothing crashes, no other row changes, and checked builds
// report it. docs/rules.md has the table of answers.
#include <support/catch.hpp>
#include <support/death.hpp>

#include <allot/chunk_arena.hpp>
#include <allot/page/of.hpp>
#include <allot/row_manager.hpp>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

using namespace allot;
using namespace allot::literals;

namespace {

struct pages_set : policies<> {};
using arena_type = arena<pages_set>;
using on_arena = page::of<arena_type>;

struct plain : policies<on_arena, oom::null> {};
struct linked : policies<on_arena, slots::linked, size::packed, oom::null> {};
struct scanning : policies<on_arena, slots::scanning, oom::null> {};
struct per_thread : policies<on_arena, heap::per_thread, oom::null> {};
struct out_of_band : policies<on_arena, count::links_out_of_band, oom::null> {};
struct guarded : policies<on_arena, guard::canary, oom::null> {};
struct uncounted : policies<on_arena, count::none, oom::null> {};
struct blocks_set : policies<on_arena, oom::null> {};

template <class Set> struct fixture {
    static constexpr bool counted = !std::is_same_v<Set, uncounted>;
    static constexpr std::size_t huge_bytes = 200'000, live_bytes = 40;

    arena_type pages{page_bytes{64_KiB}, reserve_bytes{64_MiB}, name{"pages"}};
    row_manager<Set> rows{pages, limit{32_MiB}, name{"rows"}};
    chunk_arena<blocks_set> blocks{pages, limit{8_MiB}};
    std::vector<unsigned char*> live;
    unsigned char *huge = nullptr, *released = nullptr, *reused = nullptr;
    const std::byte* block = nullptr;

    fixture() {
        // An address of a row whose page serves rows of another size now.
        std::vector<void*> old;
        for (int i = 0; i < 100; ++i) old.push_back(rows.allocate(700));
        for (void* p : old) rows.release(p);
        rows.trim();
        for (int i = 0; i < 3000; ++i) {
            live.push_back(static_cast<unsigned char*>(rows.allocate(live_bytes)));
            std::memset(live.back(), i, live_bytes);
        }
        reused = static_cast<unsigned char*>(old[37]);
        huge = static_cast<unsigned char*>(rows.allocate(huge_bytes));
        std::memset(huge, 1, huge_bytes); // a count of 1, wherever a count would be
        block = static_cast<const std::byte*>(blocks.allocate(100).address);
        released = static_cast<unsigned char*>(rows.allocate(live_bytes));
        rows.release(released);
    }
    ~fixture() {
        for (void* p : live) rows.release(p);
        rows.release(huge);
        blocks.deallocate(block);
    }
    const std::byte* page_of_live() const {
        return reinterpret_cast<const std::byte*>(reinterpret_cast<std::uintptr_t>(live[10]) & pages.page_mask());
    }
    bool unharmed() {
        bool good = rows.valid() && rows.live_rows() == live.size() + 1;
        for (std::size_t i = 0; i < live.size(); ++i)
            for (std::size_t b = 0; b < live_bytes; ++b) good = good && live[i][b] == static_cast<unsigned char>(i);
        for (std::size_t b = 0; b < huge_bytes; ++b) good = good && huge[b] == 1;
        return good;
    }
};

struct wrong_address {
    std::string what;
    const void* at;
    bool interior = false; // in a page of rows, at no row's start
    bool free = false;     // of a free slot
};

template <class Set> std::vector<wrong_address> wrong_addresses(fixture<Set>& f) {
    std::vector<wrong_address> all{
        {"a page's start", f.page_of_live(), true},
        {"a page's header", f.page_of_live() + 16, true},
        {"the inside of a row", f.live[20] + 4, true},
        {"behind the last row of a page", f.page_of_live() + 64_KiB - 1, true},
        {"a page that was never used", f.pages.begin() + 32_MiB + 64},
        {"the start of a page that was never used", f.pages.begin() + 32_MiB},
        {"a later page of a huge row", f.page_of_live() != nullptr ? f.huge + 64_KiB + 8 : nullptr},
        {"the start of a later page of a huge row",
         reinterpret_cast<const void*>((reinterpret_cast<std::uintptr_t>(f.huge) & f.pages.page_mask()) + 64_KiB)},
        {"the inside of a huge row", f.huge + 8, true},
        {"a page of a chunk arena", f.block},
        {"a page's start, of a chunk arena",
         reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(f.block) & f.pages.page_mask())},
        {"a released row", f.released, false, true},
    };
    bool at_a_row = false;
    for (const unsigned char* p : f.live) at_a_row = at_a_row || p == f.reused;
    if (!at_a_row) all.push_back({"a row whose page was reused", f.reused, true});
    return all;
}

template <class Set> struct call {
    const char* name;
    std::function<void(fixture<Set>&, const void*)> on;
    bool fast = false;  // of a handle or manager: without counts it takes a slot's start for granted
    bool looks = false; // without counts, checked builds look for the slot among the free ones
};

template <class Set> std::vector<call<Set>> calls() {
    std::vector<call<Set>> all{
        {"rows.release", [](auto& f, const void* p) { f.rows.release(p); }, true},
        {"rows.release(p, bytes)", [](auto& f, const void* p) { f.rows.release(p, 40); }, true},
        {"local.release",
         [](auto& f, const void* p) {
             auto mine = f.rows.local();
             mine.release(mine.allocate(40));
             mine.release(p);
         },
         true},
        {"heap.release", [](auto& f, const void* p) { f.rows.heap(as<>, 40).release(p); }, true},
        {"heap.local().release",
         [](auto& f, const void* p) {
             auto heap = f.rows.heap(as<>, 40);
             auto mine = heap.local();
             mine.release(mine.allocate());
             mine.release(p);
         },
         true},
        {"release", [](auto&, const void* p) { allot::release(p); }},
        {"capacity", [](auto&, const void* p) { static_cast<void>(allot::capacity(p)); }, false, true},
        {"is_shared", [](auto&, const void* p) { static_cast<void>(allot::is_shared(p)); }, false, true},
        {"check", [](auto&, const void* p) { static_cast<void>(allot::check(p)); }, false, true},
        {"link", [](auto&, const void* p) { allot::link(p); }},
    };
    if constexpr (fixture<Set>::counted) {
        all.push_back({"rows.link", [](auto& f, const void* p) { f.rows.link(p); }, true});
        all.push_back({"finalize", [](auto&, const void* p) { allot::finalize(const_cast<void*>(p)); }});
        all.push_back({"seal", [](auto&, const void* p) { allot::seal(const_cast<void*>(p)); }});
    }
    return all;
}

} // namespace

TEMPLATE_TEST_CASE("any address in an arena: reported in checked builds, and harmless in others", "[row][misuse]",
                   plain, linked, scanning, per_thread, out_of_band, guarded, uncounted) {
    fixture<TestType> f;
    for (const wrong_address& wrong : wrong_addresses(f))
        for (const call<TestType>& use : calls<TestType>()) {
            if (const bool checked = ALLOT_CHECKED != 0;
                !fixture<TestType>::counted &&
                ((wrong.free && !(checked && use.looks)) || (!checked && wrong.interior && use.fast)))
                continue; // undefined without counts
            const death end = death_of([&] {
                use.on(f, wrong.at);
                if (!f.unharmed()) std::puts("HARMED");
            });
            INFO(use.name << " of " << wrong.what << ": " << end.said);
            if (ALLOT_ASAN) {
                CHECK((end.ended_by_force() || ALLOT_CHECKED == 0)); // by allot's message, or by the sanitizer's
            } else if (ALLOT_CHECKED != 0) {
                CHECK(end.aborted());
                CHECK(end.said.find("allot: misuse: ") != std::string::npos);
            } else {
                CHECK(end.survived());
                CHECK(end.said.empty());
            }
        }
    CHECK(f.unharmed());
}
