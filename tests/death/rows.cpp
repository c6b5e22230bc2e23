// Misuse of rows aborts in checked builds, with a message that names the set, the heap and the row type.
#include <support/catch.hpp>
#include <support/damage.hpp>
#include <support/dies_telling.hpp>
#include <support/row_sets.hpp>

#include <allot/chunk_arena.hpp>
#include <allot/use/containers.hpp>

#include <cstring>
#include <optional>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace allot::literals;

namespace {

const allot::row_type order{"order"};
struct block_set : allot::policies<> {};

struct fixture {
    allot::row_manager<sets::plain> rows{allot::limit{8_MiB}, allot::name{"orders"}};
    decltype(rows.heap(allot::as<allot::heap::unique>, 48, order)) heap =
        rows.heap(allot::as<allot::heap::unique>, 48, order);
};

template <class Body> void dies(Body body, const char* what, const char* heap, const char* type) {
    dies_telling<fixture>(body, {what, "sets::plain", heap, type});
}

} // namespace

TEST_CASE("releasing a row twice is reported", "[death]") {
    dies(
        [](fixture& f) {
            void* const p = f.heap.allocate();
            f.heap.release(p);
            f.heap.release(p);
        },
        "released twice", "heap order", "row type order");
}

TEMPLATE_TEST_CASE("releasing a row without a count twice is reported", "[death]", sets::uncounted,
                   allot::use::containers) {
    const auto reported = [](std::size_t bytes, const char* what, auto release_twice) {
        const death end = death_of([&] {
            allot::row_manager<TestType> rows{allot::limit{64_MiB}, allot::name{"orders"}};
            void *const p = rows.allocate(bytes), *const others = rows.allocate(bytes);
            for (int i = 0; i != 3; ++i) rows.release(rows.allocate(bytes)); // of used slots
            release_twice(rows, p);
            rows.release(others);
        });
        INFO(bytes << ": " << end.said);
        CHECK(end.aborted());
        CHECK_THAT(end.said, ContainsSubstring(what));
        CHECK_THAT(end.said, ContainsSubstring("orders"));
    };
    for (const std::size_t bytes : {1u, 40u, 3000u, 20'000u}) {
        reported(bytes, "released twice", [](auto& rows, void* p) { rows.release(p), rows.release(p); });
        reported(bytes, "released twice", [](auto& rows, void* p) {
            auto local = rows.local();
            local.release(p), local.release(p);
        });
        reported(bytes, "allot: misuse: ", [](auto& rows, void* p) { // the page of a large one is returned
            rows.release(p);
            rows.release_empty_pages();
            rows.release(p);
        });
    }
}

TEST_CASE("releasing a row twice is reported when its slot went back to its heaplet meanwhile", "[death]") {
    // linking one, too; under each way to mark a free slot
    const auto reported = [](auto set, bool links) {
        const death end = death_of([&] {
            allot::row_manager<decltype(set)> rows{allot::limit{8_MiB}};
            auto heap = rows.heap(allot::as<allot::heap::unique>, 48, order);
            void* p = nullptr;
            {
                auto local = heap.local();
                p = local.allocate();
                local.release(p);
            }
            if (links) allot::link(p);
            else heap.release(p);
        });
        INFO(end.said);
        CHECK(end.aborted());
        CHECK_THAT(end.said, ContainsSubstring(links ? "used after its last release" : "released twice"));
        CHECK_THAT(end.said, ContainsSubstring("row type order"));
    };
    for (const bool links : {false, true}) {
        reported(sets::linked{}, links);
        reported(sets::bitmap{}, links);
        reported(sets::scanning{}, links);
        reported(sets::delayed{}, links);
        reported(sets::scanning_aside{}, links);
    }
}

TEST_CASE("releasing a huge row twice is reported", "[death]") {
    const death end = death_of([] {
        fixture f;
        void* const p = f.rows.allocate(5_MiB, order);
        f.rows.release(p);
        f.rows.release(p);
    });
    INFO(end.said);
    CHECK(end.aborted());
    CHECK_THAT(end.said, ContainsSubstring("freed before"));
    CHECK_THAT(end.said, ContainsSubstring("(arena orders)")); // its pages may be another manager's by now
}

TEST_CASE("misuse of a row in a span is reported", "[death]") {
    struct spans : allot::policies<allot::size::in_spans> {};
    struct in_spans {
        allot::row_manager<spans> rows{allot::limit{64_MiB}, allot::page_bytes{64_KiB}, allot::name{"orders"}};
        char* first = static_cast<char*>(rows.allocate(58000, order)); // of 9 in 8 pages
        char* second = static_cast<char*>(rows.allocate(58000, order));
    };
    const char* const names[] = {"spans", "heap rows", "row type order"};
    dies_telling<in_spans>([](in_spans& f) { f.rows.release(f.second + 8192); }, // in the next page
                           {"inside of a row", names[0], names[1], names[2]});
    dies_telling<in_spans>(
        [](in_spans& f) {
            f.rows.release(f.first);
            f.rows.link(f.first);
        },
        {"used after its last release", names[0], names[1], names[2]});
    dies_telling<in_spans>(
        [](in_spans& f) {
            f.rows.release(f.first);
            f.rows.release(f.second);
            f.rows.trim();
            f.rows.release(f.first);
        },
        {"freed before", "(arena orders)"});
}

TEST_CASE("linking a released row is reported", "[death]") {
    dies(
        [](fixture& f) {
            void* const p = f.heap.allocate();
            f.heap.release(p);
            allot::link(p);
        },
        "used after its last release", "heap order", "row type order");
}

TEST_CASE("linking a released row is reported by manager and handles, too", "[death]") {
    dies(
        [](fixture& f) {
            void* const p = f.heap.allocate();
            f.heap.release(p);
            f.rows.link(p);
        },
        "used after its last release", "heap order", "row type order");
    dies(
        [](fixture& f) {
            auto local = f.heap.local();
            void* const p = local.allocate();
            local.release(p);
            local.link(p);
        },
        "used after its last release", "heap order", "row type order");
}

TEST_CASE("releasing the inside of a row is reported", "[death]") {
    dies([](fixture& f) { f.heap.release(static_cast<char*>(f.heap.allocate()) + 8); }, "inside of a row", "heap order",
         "row type order");
}

TEST_CASE("releasing through a manager that shares no arena with the row is reported", "[death]") {
    dies(
        [](fixture& f) {
            allot::row_manager<sets::bitmap> other{allot::limit{8_MiB}, allot::name{"other"}};
            f.rows.release(other.allocate(10));
        },
        "arena that this manager does not use", "manager orders", "arena other");
}

TEST_CASE("a size that no address space holds is reported", "[death]") {
    dies([](fixture& f) { static_cast<void>(f.rows.try_allocate(SIZE_MAX, order)); }, "a size larger than", "",
         "row type order");
}

TEST_CASE("an alignment that is not a power of two is reported", "[death]") {
    dies(
        [](fixture& f) {
            static constexpr allot::row_type odd{"odd", nullptr, 24};
            static_cast<void>(f.rows.try_allocate(8, odd));
        },
        "not a power of two", "", "row type odd");
}

TEST_CASE("release_all under a living local handle is reported", "[death]") {
    dies(
        [](fixture& f) {
            auto local = f.heap.local();
            static_cast<void>(local.allocate());
            f.heap.release_all();
        },
        "release_all", "heap order", "row type order");
}

TEST_CASE("a handle of one thread used by another is reported", "[death]") {
    dies(
        [](fixture& f) {
            auto heap = f.rows.heap(allot::as<allot::heap::unique, allot::refill::blocked<16>>, 48, order);
            heap.release(heap.allocate());
            std::thread([&] { static_cast<void>(heap.allocate()); }).join();
        },
        "used by another thread", "heap order", "row type order");
}

TEST_CASE("an object that does not suit a heap's rows is reported", "[death]") {
    struct large {
        char bytes[200];
    };
    dies([](fixture& f) { static_cast<void>(f.heap.make<large>()); }, "a size larger than", "heap order",
         "row type order");
    dies([](fixture& f) { static_cast<void>(f.heap.make<counted_row>(1u)); }, "without the destructor", "heap order",
         "row type order");
}

TEST_CASE("damage is reported and ends the program, unless it has a sink of its own", "[death]") {
    // The canary is what a checked build falls back to.
    dies(
        [](fixture& f) {
            auto* const p = static_cast<char*>(f.heap.allocate());
            stray_change(p + allot::capacity(p));
            f.heap.release(p);
        },
        "bytes behind a row were written", "heap order", "row type order");
    dies(
        [](fixture& f) {
            auto* const p = static_cast<char*>(f.rows.allocate(5_MiB, order));
            stray_change(p + allot::capacity(p) + 3);
            f.rows.release(p);
        },
        "bytes behind a row were written", "heap huge", "row type order");
    dies(
        [](fixture& f) {
            static constexpr allot::row_type sealed{"sealed", nullptr, 0, allot::row_check::crc32c};
            auto* const p = static_cast<char*>(f.rows.allocate(40, sealed));
            std::memset(p, 1, 40);
            allot::seal(p);
            p[20] = 2;
            f.rows.release(p);
        },
        "a sealed row was changed", "heap rows", "row type sealed");
    const death end = death_of([] {
        static int reported = 0;
        allot::row_manager<sets::plain> rows{
            allot::limit{8_MiB}, allot::damage_sink{[](void*, const allot::misuse_report&) noexcept { ++reported; }}};
        auto* const p = static_cast<char*>(rows.allocate(40));
        stray_change(p + allot::capacity(p));
        rows.release(p);
        if (reported != 1) ::_exit(1);
    });
    INFO(end.said);
    CHECK(end.survived());
}

TEST_CASE("a broken list and a write after release are reported by name", "[death]") {
    struct guarded
        : allot::policies<allot::slots::linked, allot::guard::all<allot::guard::encoded, allot::guard::quarantine<4>>> {
    };
    const auto reported = [](auto body) {
        const death end = death_of([&] {
            allot::row_manager<guarded> rows{allot::limit{8_MiB}, allot::page_bytes{64_KiB}};
            auto heap = rows.heap(allot::as<allot::heap::unique>, 48, order);
            std::vector<char*> all;
            for (int i = 0; i < 400; ++i) all.push_back(static_cast<char*>(heap.allocate()));
            for (std::size_t i = 1; i < all.size(); ++i) heap.release(all[i]);
            body(heap, all);
        });
        CHECK(end.aborted());
        CHECK_THAT(end.said, ContainsSubstring("guarded"));
        CHECK_THAT(end.said, ContainsSubstring("heap order, row type order"));
        return end.said;
    };
    CHECK_THAT(reported([](auto& heap, auto& all) {
                   const std::uint32_t nowhere = 0;
                   allot::detail::sys::write_poisoned(reinterpret_cast<std::byte*>(all[100]), &nowhere, 4);
                   for (int i = 0; i < 400; ++i) static_cast<void>(heap.allocate());
               }),
               ContainsSubstring("its link leads to no slot"));
    CHECK_THAT(reported([](auto& heap, auto& all) {
                   allot::detail::sys::expose(all.back(), 48);
                   all.back()[40] = 1;
                   for (int i = 0; i < 10; ++i) heap.release(heap.allocate());
               }),
               ContainsSubstring("written after its release"));
}

// Few rows: the calls are served by shared caches; many: by those of the thread.
TEST_CASE("a visitor of pages that uses rows or blocks is reported, whatever serves the call", "[death]") {
    for (const std::size_t rows : {std::size_t{1}, std::size_t{200}}) {
        const auto dies = [rows](auto call, const char* does) {
            dies_telling<fixture>(
                [&](fixture& f) {
                    allot::chunk_arena<block_set> blocks{allot::limit{8_MiB}};
                    std::vector<void*> held(rows);
                    for (void*& p : held) p = f.rows.allocate(48);
                    const allot::block b = blocks.allocate(100);
                    auto local = f.heap.local();
                    f.rows.visit_pages([&](const allot::page_use&) { call(f, local, blocks, held[0], b); });
                },
                {does, "while it holds the lock of a heap"});
        };
        dies([](fixture& f, auto&, auto&, void*, auto) { (void)f.rows.allocate(48); }, "allocates a row");
        dies([](fixture& f, auto&, auto&, void*, auto) { (void)f.rows.try_allocate(48); }, "allocates a row");
        dies([](fixture& f, auto&, auto&, void* p, auto) { f.rows.link(p); }, "links a row");
        dies([](fixture& f, auto&, auto&, void* p, auto) { f.rows.release(p); }, "releases a row");
        dies([](fixture& f, auto&, auto&, void* p, auto) { f.rows.release(p, 48); }, "releases a row");
        dies([](fixture&, auto&, auto&, void* p, auto) { allot::link(p); }, "links a row");
        dies([](fixture&, auto&, auto&, void* p, auto) { allot::release(p); }, "releases a row");
        dies([](fixture&, auto& local, auto&, void*, auto) { (void)local.allocate(); }, "allocates a row");
        dies([](fixture&, auto&, auto& blocks, void*, auto) { (void)blocks.allocate(100); }, "allocates a block");
        dies([](fixture&, auto&, auto& blocks, void*, auto b) { blocks.deallocate(b); }, "deallocates a block");
        dies([](fixture&, auto&, auto& blocks, void*, auto b) { blocks.deallocate(b.address); }, "deallocates a block");
    }
}

TEST_CASE("what is right does not die", "[death]") {
    const death end = death_of([] {
        fixture f;
        f.heap.release(f.heap.allocate());
        allot::release("constant");
        f.rows.release(nullptr);
    });
    INFO(end.said);
    CHECK(end.survived());
}

TEST_CASE("a spare bin that nobody took ends with the manager", "[death]") {
    const death end = death_of([] {
        allot::row_manager<sets::plain> rows{allot::limit{8_MiB}};
        auto only_releases = rows.local();
        auto allocates = rows.local();
        only_releases.release(allocates.allocate(100)); // leaves word that it has no bin
        std::vector<void*> all;
        for (int i = 0; i < 400; ++i) all.push_back(allocates.allocate(100));
        for (void* const row : all) allocates.release(row);
    });
    INFO(end.said);
    CHECK(end.survived());
}

TEST_CASE("a manager that ends under a living handle is reported, whatever the handle", "[death]") {
    const auto told = [](auto set, auto open, const char* heap, const char* type) {
        const death end = death_of([&] {
            std::optional<allot::row_manager<decltype(set)>> rows{std::in_place, allot::limit{8_MiB}};
            [[maybe_unused]] const auto handle = open(*rows);
            rows.reset();
        });
        INFO(end.said);
        CHECK(end.aborted());
        for (const char* const text : {"outlives its manager", "sets::", heap, type})
            CHECK_THAT(end.said, ContainsSubstring(text));
    };
    told(sets::plain{}, [](auto& rows) { return rows.local(); }, "", "");
    told(sets::per_thread{}, [](auto& rows) { return rows.local(); }, "", "");
    told(sets::plain{}, [](auto& rows) { return rows.heap(48, order); }, "heap rows", "");
    told(
        sets::plain{}, [](auto& rows) { return rows.heap(allot::as<allot::heap::unique>, 48, order); }, "heap order",
        "row type order");
    told(
        sets::plain{}, [](auto& rows) { return rows.heap(allot::as<allot::size::packed>, 48, order); }, "heap order",
        "");
    told(
        sets::plain{}, [](auto& rows) { return rows.heap(allot::as<allot::heap::shared_by<4>>, 48, order); },
        "heap shared", "");
    told(
        sets::plain{}, [](auto& rows) { return rows.heap(allot::as<allot::heap::unique>, 48, order).local(); },
        "heap order", "row type order");
    told(sets::plain{}, [](auto& rows) { return rows.heap(48, order).local(); }, "heap rows", "");
    const death arena = death_of([] {
        struct borrowing : allot::policies<allot::page::of<allot::arena<>>> {};
        std::optional<allot::arena<>> pages{std::in_place, allot::limit{8_MiB}, allot::name{"pages"}};
        allot::row_manager<borrowing> rows{*pages};
        pages.reset();
    });
    INFO(arena.said);
    CHECK(arena.aborted());
    CHECK_THAT(arena.said, ContainsSubstring("outlives its manager or arena"));
    CHECK_THAT(arena.said, ContainsSubstring("arena pages"));
}

TEST_CASE("a manager ends under handles that are empty, and after its threads' caches", "[death]") {
    const death end = death_of([] {
        std::optional<allot::row_manager<sets::per_thread>> rows{std::in_place, allot::limit{8_MiB}};
        for (int i = 0; i < 100; ++i) rows->release(rows->allocate(100));
        auto heap = rows->heap(allot::as<allot::heap::unique>, 48, order);
        {
            const auto moved = std::move(heap);
        }
        {
            static_cast<void>(rows->local());
        }
        rows.reset();
    });
    INFO(end.said);
    CHECK(end.survived());
}

TEST_CASE("the type of a row of many is reported", "[death]") {
    dies([](fixture& f) { f.rows.release(static_cast<char*>(f.rows.allocate(30, order)) + 4); }, "inside of a row",
         "heap rows", "row type order");
    dies([](fixture& f) { f.rows.release(static_cast<char*>(f.rows.allocate(5_MiB, order)) + 8); }, "inside of a row",
         "heap huge", "row type order");
    dies(
        [](fixture& f) {
            auto local = f.rows.local();
            local.release(local.allocate(8));
            std::thread([&] { static_cast<void>(local.allocate(8, order)); }).join();
        },
        "used by another thread", "", "row type order");
}
