// Rows whose free slots are marked in their count words or aside: a row may hold any bytes, a mark is no row, and what
// was released comes back whole.
#include <support/catch.hpp>
#include <support/row_sets.hpp>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace allot::literals;

namespace {

using allot::policies;
struct scanned : policies<allot::slots::scanning> {};
struct scanned_aside : policies<allot::slots::scanning, allot::count::links_out_of_band> {};
struct scanned_bare : policies<allot::slots::scanning, allot::count::none> {};
struct delayed : policies<allot::slots::delay_release> {};
struct delayed_aside : policies<allot::slots::delay_release, allot::count::links_out_of_band> {};
struct delayed_bare : policies<allot::slots::delay_release, allot::count::none, allot::size::exact> {};
struct delayed_threads : policies<allot::slots::delay_release, allot::heap::per_thread> {};

constexpr std::size_t bytes = 40;

// Every byte says "given back", as far as a row can say it.
void* looks_free(void* row, unsigned char byte) { return std::memset(row, byte, bytes); }

} // namespace

TEMPLATE_TEST_CASE("a row's bytes are never taken for marks", "[rows]", scanned, scanned_aside, scanned_bare, delayed,
                   delayed_aside, delayed_bare, allot::use::thor) {
    for (const int value : {0x40, 0xff, 0x00, 0x01}) {
        const auto byte = static_cast<unsigned char>(value);
        allot::row_manager<TestType> rows{allot::limit{1_MiB}, allot::page_bytes{64_KiB}};
        auto heap = rows.heap(allot::as<allot::heap::unique>, bytes);
        auto local = heap.local();
        std::mt19937 random(byte);
        std::vector<unsigned char*> live;
        bool good = true;
        for (int i = 0; i < 40000; ++i) {
            if (void* const p = i / 3000 % 2 == 0 ? local.try_allocate() : nullptr)
                live.push_back(static_cast<unsigned char*>(looks_free(p, byte)));
            if (live.empty() || random() % 5 < 2) continue;
            std::swap(live[random() % live.size()], live.back());
            local.release(live.back());
            live.pop_back();
        }
        CHECK(heap.live_rows() == live.size());
        CHECK(std::set<void*>(live.begin(), live.end()).size() == live.size());
        for (unsigned char* p : live)
            for (std::size_t i = 0; i < bytes; ++i) good = good && p[i] == byte;
        CHECK(good);
        CHECK(rows.valid());
        for (unsigned char* p : live) local.release(p);
    }
}

TEMPLATE_TEST_CASE("what a page held before is not taken for marks", "[rows]", scanned, scanned_aside, scanned_bare,
                   delayed, delayed_aside, delayed_bare) {
    allot::row_manager<TestType> rows{allot::limit{512_KiB}, allot::page_bytes{64_KiB}};
    std::vector<void*> all;
    while (void* const p = rows.try_allocate(15000)) all.push_back(std::memset(p, 0xff, 15000));
    for (void* p : all) rows.release(p);
    rows.trim();
    auto heap = rows.heap(allot::as<allot::heap::unique>, bytes);
    all.clear();
    while (void* const p = heap.try_allocate()) all.push_back(p);
    for (int round = 0; round < 3; ++round) {
        for (std::size_t i = 0; i < all.size(); i += 5) heap.release(all[i]);
        for (std::size_t i = 0; i < all.size(); i += 5) {
            all[i] = heap.try_allocate();
            REQUIRE(all[i] != nullptr);
        }
        CHECK(heap.try_allocate() == nullptr);
        CHECK(std::set<void*>(all.begin(), all.end()).size() == all.size());
    }
    for (void* p : all) heap.release(p);
}

TEMPLATE_TEST_CASE("marked slots are no rows: not in leak reports, not for release_all", "[rows]", scanned,
                   scanned_aside, delayed, delayed_aside, delayed_threads) {
    static const allot::row_type type{"kept"};
    std::string reported;
    const allot::leak_sink sink{
        [](void* to, std::string_view text) noexcept { *static_cast<std::string*>(to) += text; }, &reported};
    counted_row::alive = 0;
    {
        allot::row_manager<TestType> rows{allot::limit{8_MiB}, sink};
        auto heap = rows.heap(allot::as<allot::heap::unique>, sizeof(counted_row), allot::row_type_of<counted_row>);
        std::vector<void*> all;
        {
            auto local = heap.local();
            for (unsigned i = 0; i < 5000; ++i) all.push_back(heap.template make<counted_row>(i).detach());
            for (std::size_t i = 0; i < all.size(); ++i)
                if (i % 10 != 0) local.release(all[i]);
            CHECK(rows.live_rows() == 500);
        }
        CHECK(counted_row::alive == 500);
        CHECK(heap.live_rows() == 500);
        heap.release_all();
        CHECK(counted_row::alive == 0);

        auto leaky = rows.heap(allot::as<allot::heap::unique>, 24, type);
        all.clear();
        for (int i = 0; i < 3000; ++i) all.push_back(leaky.allocate());
        for (std::size_t i = 3; i < all.size(); ++i) leaky.release(all[i]);
    }
    INFO(reported);
    CHECK(reported.find("3 rows not released") != std::string::npos);
    CHECK(reported.find("3 rows of type kept") != std::string::npos);
}

TEMPLATE_TEST_CASE("after everything is released, flushed and trimmed, no memory is held", "[rows]", scanned,
                   scanned_aside, scanned_bare, delayed, delayed_aside, delayed_bare, delayed_threads,
                   allot::use::thor) {
    allot::row_manager<TestType> rows{allot::limit{64_MiB}};
    std::mt19937 random(1);
    std::vector<void*> all;
    auto local = rows.local();
    for (int i = 0; i < 60000; ++i)
        all.push_back(i % 2 != 0 ? rows.allocate(1 + random() % 600) : local.allocate(1 + random() % 600));
    std::shuffle(all.begin(), all.end(), random);
    std::vector<std::thread> threads; // each ends with its tallies told
    for (std::size_t t = 0; t < 3; ++t)
        threads.emplace_back([&, t] {
            auto mine = rows.local();
            for (std::size_t i = t; i < all.size() / 2; i += 3)
                i % 2 != 0 ? rows.release(all[i]) : mine.release(all[i]);
        });
    for (auto& thread : threads) thread.join();
    for (std::size_t i = all.size() / 2; i < all.size(); ++i) i % 2 != 0 ? rows.release(all[i]) : local.release(all[i]);
    CHECK(rows.live_rows() == 0);
    CHECK(rows.valid());
    local.flush();
    rows.trim();
    CHECK(rows.used() == 0);
    CHECK(rows.arena().stats().taken == 0);
    rows.arena().trim();
    CHECK(rows.arena().stats().committed == 0);
}

TEST_CASE("the report says how far was looked, where a policy looks", "[rows]") {
    const auto report = [](auto set) {
        allot::row_manager<decltype(set)> rows{allot::limit{1_MiB}, allot::page_bytes{64_KiB}};
        std::vector<void*> all;
        while (void* const p = rows.try_allocate(100)) all.push_back(p);
        for (void* p : all) rows.release(p);
        for (std::size_t i = 0; i < 1000; ++i) all[i] = rows.allocate(100);
        char page[4096];
        allot::text_writer out{page};
        rows.report(out);
        for (std::size_t i = 0; i < 1000; ++i) rows.release(all[i]);
        return std::string(out.view());
    };
    CHECK(report(scanned{}).find("slots looked at for ") != std::string::npos);
    CHECK(report(sets::bitmap{}).find("looked at") == std::string::npos);
    CHECK(report(sets::bitmap{}).find(" cached\n") != std::string::npos);
}
