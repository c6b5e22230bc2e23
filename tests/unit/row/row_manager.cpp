#include <support/catch.hpp>
#include <support/in_use.hpp>
#include <support/row_sets.hpp>

#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

using namespace allot::literals;

TEST_CASE("a row is allocated, linked, shared and released", "[row]") {
    allot::row_manager<sets::plain> rows{allot::limit{8_MiB}};
    void* const p = rows.allocate(100);
    REQUIRE(p != nullptr);
    std::memset(p, 0x5a, 100);
    CHECK(rows.capacity(p) >= 100);
    CHECK_FALSE(rows.is_shared(p));
    rows.link(p);
    CHECK(rows.is_shared(p));
    CHECK(rows.live_rows() == 1);
    rows.release(p);
    CHECK_FALSE(rows.is_shared(p));
    CHECK(rows.live_rows() == 1);
    rows.release(p);
    CHECK(rows.live_rows() == 0);
    CHECK(rows.valid());
}

TEST_CASE("free functions find a row's manager by its address", "[row]") {
    allot::row_manager<sets::plain> one{allot::limit{8_MiB}};
    allot::row_manager<sets::linked> two{allot::limit{8_MiB}};
    void* const a = one.allocate(10);
    void* const b = two.allocate(300000);
    allot::link(a);
    allot::link(b);
    CHECK(allot::is_shared(a));
    CHECK(allot::is_shared(b));
    CHECK(allot::capacity(b) >= 300000);
    for (int i = 0; i < 2; ++i) {
        allot::release(a);
        allot::release(b);
    }
    CHECK(one.live_rows() == 0);
    CHECK(two.live_rows() == 0);
}

TEST_CASE("constants and foreign addresses link and release as nothing", "[row]") {
    static const char constant[] = "constant";
    int local = 0;
    allot::row_manager<sets::plain> rows{allot::limit{8_MiB}};
    for (const void* p : {static_cast<const void*>(constant), static_cast<const void*>(&local),
                          static_cast<const void*>(nullptr), reinterpret_cast<const void*>(~std::uintptr_t{0})}) {
        rows.link(p);
        rows.release(p);
        allot::link(p);
        allot::release(p);
        CHECK(allot::is_shared(p));
        CHECK(allot::capacity(p) == 0);
    }
    CHECK(local == 0);
}

TEST_CASE("rows of every size and alignment are apart and aligned", "[row]") {
    struct wide : allot::policies<allot::size::bucketed<allot::size::list::fine>> {};
    allot::row_manager<wide> rows{allot::limit{64_MiB}};
    std::vector<std::pair<unsigned char*, std::size_t>> all;
    for (std::size_t align : {0u, 8u, 16u, 32u, 64u}) {
        const allot::row_type type{"aligned", nullptr, align};
        static std::vector<std::unique_ptr<allot::row_type>> keep;
        keep.push_back(std::make_unique<allot::row_type>(type));
        for (std::size_t n : {0u, 1u, 7u, 8u, 9u, 55u, 56u, 57u, 64u, 100u, 1000u, 2040u, 2041u, 5000u, 60000u, 70000u,
                              200000u, 1000000u}) {
            auto* const p = static_cast<unsigned char*>(rows.allocate(n, *keep.back()));
            REQUIRE(p != nullptr);
            CHECK(reinterpret_cast<std::uintptr_t>(p) % (align == 0 ? 8 : align) == 0);
            CHECK(rows.capacity(p) >= n);
            std::memset(p, static_cast<int>(all.size() + 1), n);
            all.emplace_back(p, n);
        }
    }
    for (std::size_t i = 0; i < all.size(); ++i)
        for (std::size_t k = 0; k < all[i].second; ++k) REQUIRE(all[i].first[k] == static_cast<unsigned char>(i + 1));
    for (auto& [p, n] : all) rows.release(p);
    CHECK(rows.live_rows() == 0);
    CHECK(rows.valid());
    rows.trim();
    CHECK(rows.used() == 0);
}

TEST_CASE("a finalized row is destroyed at its last release, an unfinished one is not", "[row]") {
    allot::row_manager<sets::plain> rows{allot::limit{8_MiB}};
    counted_row::alive = 0;
    {
        auto a = rows.make<counted_row>(7u);
        auto b = a;
        CHECK(a->value == 7);
        a.reset();
        CHECK(counted_row::alive == 1);
        CHECK(b->value == 7);
    }
    CHECK(counted_row::alive == 0);
    void* const raw = rows.allocate(sizeof(counted_row), allot::row_type_of<counted_row>);
    rows.release(raw);
    CHECK(counted_row::alive == 0);
    void* const late = rows.allocate(sizeof(counted_row), allot::row_type_of<counted_row>);
    new (late) counted_row(1);
    rows.finalize(late);
    rows.release(late);
    CHECK(counted_row::alive == 0);
}

#if ALLOT_EXCEPTIONS
struct throws_row {
    explicit throws_row(int) { throw 42; }
    ~throws_row() { std::abort(); }
};
TEST_CASE("a constructor that throws leaves no row behind", "[row]") {
    allot::row_manager<sets::plain> rows{allot::limit{8_MiB}};
    CHECK_THROWS_AS(rows.make<throws_row>(1), int);
    CHECK(rows.live_rows() == 0);
}
#endif

TEST_CASE("the limit is hard and a refused request changes nothing", "[row]") {
    allot::row_manager<sets::quiet> rows{allot::limit{4_MiB}};
    std::vector<void*> all;
    while (void* const p = rows.try_allocate(1000)) all.push_back(p);
    CHECK(rows.used() <= 4_MiB);
    CHECK(rows.used() > 3_MiB);
    const auto used = rows.used(), peak = rows.peak();
    CHECK(rows.try_allocate(100000000) == nullptr);
    CHECK(rows.allocate(2_MiB) == nullptr);
#if !ALLOT_CHECKED // there it is told
    CHECK(rows.try_allocate(SIZE_MAX) == nullptr);
    CHECK(rows.try_allocate(SIZE_MAX - 4096) == nullptr);
#endif
    CHECK(rows.used() == used);
    CHECK(rows.peak() == peak);
    CHECK(rows.peak() <= 4_MiB);
    CHECK(rows.live_rows() == all.size());
    rows.release(all.back());
    all.pop_back();
    void* const again = rows.try_allocate(1000);
    CHECK(again != nullptr);
    all.push_back(again);
    for (void* p : all) rows.release(p);
    CHECK(rows.live_rows() == 0);
    rows.trim();
    CHECK(rows.used() == 0);
}

#if ALLOT_EXCEPTIONS
TEST_CASE("out of memory reports who holds it", "[row]") {
    allot::row_manager<sets::plain> rows{allot::limit{2_MiB}, allot::name{"orders"}};
    const allot::row_type type{"order line"};
    std::vector<void*> all;
    try {
        for (;;) all.push_back(rows.allocate(1000, type));
    } catch (const allot::out_of_memory& error) {
        const std::string page = error.report();
        INFO(page);
        CHECK(page.find("orders") != std::string::npos);
        CHECK(page.find("sets::plain") != std::string::npos);
        CHECK(page.find("order line") != std::string::npos);
        CHECK(page.find("limit 2 MiB") != std::string::npos);
        CHECK(page.find("live rows") != std::string::npos);
        CHECK(std::string(error.what()).find("order line") != std::string::npos);
    }
    CHECK(all.size() > 1500);
    for (void* p : all) rows.release(p);
}
#endif

TEST_CASE("ten size classes share eight mebibytes with little loss", "[row]") {
    struct fine : allot::policies<allot::size::bucketed<allot::size::list::fine>, allot::oom::null> {};
    allot::row_manager<fine> rows{allot::limit{8_MiB}};
    const std::size_t sizes[] = {16, 40, 64, 100, 136, 200, 280, 400, 600, 1000};
    std::size_t payload = 0;
    std::vector<void*> all;
    for (std::size_t i = 0;; ++i) {
        const std::size_t n = sizes[i % 10];
        void* const p = rows.try_allocate(n);
        if (p == nullptr) break;
        payload += rows.capacity(p) + 8; // what the rows' slots hold
        all.push_back(p);
    }
    CHECK(static_cast<double>(payload) >= 0.85 * 8_MiB);
    for (void* p : all) rows.release(p);
}

TEST_CASE("leaked rows are reported at the end by heap and type, and not destroyed", "[row]") {
    std::string reported;
    counted_row::alive = 0;
    {
        const allot::leak_sink sink{
            [](void* to, std::string_view text) noexcept { *static_cast<std::string*>(to) += text; }, &reported};
        allot::row_manager<sets::plain> rows{allot::limit{8_MiB}, allot::name{"leaky"}, sink};
        static_cast<void>(rows.make<counted_row>(1u).detach());
        static_cast<void>(rows.make<counted_row>(2u).detach());
        static_cast<void>(rows.allocate(3000000, allot::row_type_of<long>));
        auto kept = rows.make<counted_row>(3u);
    }
    INFO(reported);
    CHECK(counted_row::alive == 2);
    CHECK(reported.find("leaky") != std::string::npos);
    CHECK(reported.find("3 rows not released") != std::string::npos);
    CHECK(reported.find("2 rows of type counted_row") != std::string::npos);
    CHECK(reported.find("1 rows of type long") != std::string::npos);
}

TEST_CASE("leaked rows without a type are reported by heap and size", "[row]") {
    struct uncounted : allot::policies<allot::count::none, allot::guard::none> {};
    std::string reported;
    {
        const allot::leak_sink sink{
            [](void* to, std::string_view text) noexcept { *static_cast<std::string*>(to) += text; }, &reported};
        allot::row_manager<uncounted> rows{allot::limit{8_MiB}, sink};
        for (const std::size_t bytes : {64u, 64u, 128u}) static_cast<void>(rows.allocate(bytes));
    }
    INFO(reported);
    CHECK(reported.find("heap rows of 64 bytes: 2 rows\n") != std::string::npos);
    CHECK(reported.find("heap rows of 128 bytes: 1 rows\n") != std::string::npos);
}

TEST_CASE("huge rows take runs of pages and return them at once", "[row]") {
    allot::row_manager<sets::plain> rows{allot::limit{64_MiB}};
    void* const p = rows.allocate(10_MiB);
    CHECK(rows.used() >= 10_MiB);
    CHECK(rows.capacity(p) >= 10_MiB);
    CHECK(rows.live_rows() == 1);
    rows.link(p);
    rows.release(p);
    CHECK(rows.used() >= 10_MiB);
    rows.release(p);
    CHECK(support::in_use(rows) == 0);
    CHECK(rows.used() >= 10_MiB); // until it returns to the system
    CHECK(rows.trim() >= 10_MiB);
    CHECK(rows.used() == 0);
    CHECK(rows.live_rows() == 0);
    std::vector<void*> many;
    for (int i = 0; i < 200; ++i) many.push_back(rows.allocate(140000));
    CHECK(rows.live_rows() == 200);
    for (void* q : many) rows.release(q);
    rows.trim();
    CHECK(rows.used() == 0);
}

TEST_CASE("a heap that swings around one row does not take and give a page each time", "[row]") {
    allot::row_manager<sets::plain> rows{allot::limit{8_MiB}};
    rows.release(rows.allocate(64));
    const auto used = rows.used();
    for (int i = 0; i < 1000; ++i) {
        void* const p = rows.allocate(64);
        CHECK(rows.used() == used);
        rows.release(p);
        CHECK(rows.used() == used);
    }
}

TEST_CASE("pages that one heap no longer needs serve the others", "[row]") {
    allot::row_manager<sets::quiet> rows{allot::limit{4_MiB}};
    for (std::size_t n : {64u, 128u, 300u, 1000u, 4000u, 64u}) {
        std::vector<void*> all;
        while (void* const p = rows.try_allocate(n)) all.push_back(p);
        CHECK(all.size() * n > 4_MiB / 3);
        for (void* p : all) rows.release(p);
    }
}
