// Rows of a tenth of a page or more share spans of pages: what they are charged, and that they are rows as all others.
#include <allot/report/page_usage.hpp>
#include <allot/row_manager.hpp>
#include <allot/use/containers.hpp>
#include <support/catch.hpp>
#include <support/from_environment.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace allot::literals;
using containers = allot::row_manager<allot::use::containers>;

// Checked builds have 4 bytes behind each row, unless a set says otherwise.
struct unguarded : allot::with<allot::use::containers, allot::guard::none> {};

struct shared_spans
    : allot::policies<allot::size::in_spans, allot::heap::shared, allot::count::none, allot::guard::none> {};
struct counted_spans : allot::policies<allot::size::in_spans, allot::count::links, allot::guard::none> {};
struct guarded_spans : allot::policies<allot::size::in_spans, allot::guard::canary> {};
struct borrowing : allot::policies<allot::size::in_spans, allot::page::of<allot::arena<>>> {};

constexpr allot::page_bytes page{64_KiB};

// Bytes of the pages that rows hold.
template <class Rows> std::size_t held(const Rows& rows) {
    std::size_t bytes = 0;
    rows.usage([&](const allot::heap_usage& u) { bytes += u.bytes; });
    return bytes;
}
template <class Rows> std::vector<void*> many(Rows& rows, std::size_t n, std::size_t bytes) {
    std::vector<void*> all;
    for (std::size_t i = 0; i != n; ++i) all.push_back(rows.allocate(bytes));
    return all;
}
// What is charged for each of many rows, as a part of its bytes.
double charged(std::size_t bytes) {
    allot::row_manager<unguarded> rows{allot::limit{4_GiB}};
    const std::size_t n = (bytes < 6000 ? 16_MiB : 128_MiB) / bytes; // the last page, or span, is a small part of them
    const auto all = many(rows, n, bytes);
    CHECK(rows.capacity(all[n / 2]) == rows.capacity_for(bytes));
    CHECK(rows.valid());
    const std::size_t whole = held(rows);
    for (void* row : all) rows.release(row);
    CHECK(rows.live_rows() == 0);
    CHECK(rows.valid());
    rows.release_empty_pages();
    CHECK(held(rows) == 0);
    return static_cast<double>(whole) / static_cast<double>(n * bytes);
}

} // namespace

TEST_CASE("use::containers charges at most 12.5 % above a size from 64 bytes to 64 KiB, headers and all") {
    const allot::row_manager<unguarded> sizes{allot::limit{4_GiB}};
    // The first size of each class has the most behind it. A part of the last span is unused, too.
    std::size_t i = 0;
    for (std::size_t bytes = 64; bytes <= 64_KiB; bytes = sizes.capacity_for(bytes) + 1) {
        if (ALLOT_ASAN && support::in_short_run() && i++ % 4 != 0) continue; // it changes no size
        INFO(bytes);
        CHECK(charged(bytes) < 1.129);
    }
    for (std::size_t bytes = 8_KiB; bytes <= 64_KiB; bytes *= 2) CHECK(sizes.capacity_for(bytes) == bytes);
}

TEST_CASE("a size class in use holds one page up to a tenth of a page, and above it 1 to 8") {
    allot::row_manager<unguarded> rows{allot::limit{1_GiB}};
    std::vector<void*> all;
    std::size_t classes = 0;
    for (std::size_t bytes = 1; bytes < 6000; bytes = rows.capacity(all.back()) + 1, ++classes)
        all.push_back(rows.allocate(bytes));
    CHECK(classes >= 40);
    CHECK(held(rows) == classes * 64_KiB);
    std::array<std::size_t, 9> spans{}; // by their pages
    for (std::size_t bytes = 7300; bytes <= 64_KiB; bytes = rows.capacity(all.back()) + 1) {
        const std::size_t before = held(rows);
        all.push_back(rows.allocate(bytes));
        ++spans.at((held(rows) - before) / 64_KiB);
    }
    CHECK(rows.capacity_for(64_KiB + 1) == 72_KiB); // the last class, of 9 pages
    CHECK(spans == std::array<std::size_t, 9>{0, 8, 7, 0, 6, 0, 0, 0, 4});
    for (void* row : all) rows.release(row);
}

TEMPLATE_TEST_CASE("rows in spans are apart, and go back by every way", "", allot::use::containers, shared_spans,
                   counted_spans, guarded_spans) {
    allot::row_manager<TestType> rows{allot::limit{256_MiB}, page};
    std::vector<std::pair<unsigned char*, std::size_t>> all;
    for (std::size_t bytes = 6000; bytes <= 64_KiB; bytes += 1777)
        for (int i = 0; i != 20; ++i) {
            all.emplace_back(static_cast<unsigned char*>(rows.allocate(bytes)), bytes);
            std::memset(all.back().first, static_cast<int>(all.size() % 251), bytes);
        }
    CHECK(rows.valid());
    CHECK(rows.live_rows() == all.size());
    for (std::size_t i = 0; i != all.size(); ++i) {
        const auto [row, bytes] = all[i];
        const auto mark = static_cast<unsigned char>((i + 1) % 251);
        REQUIRE((row[0] == mark && row[bytes / 2] == mark && row[bytes - 1] == mark));
    }
    std::thread([&] {
        auto local = rows.local();
        for (std::size_t i = 0; i != all.size(); ++i)
            if (i % 5 == 0) rows.release(all[i].first);
            else if (i % 5 == 1) local.release(all[i].first);
            else if (i % 5 == 2) local.release(all[i].first, all[i].second);
    }).join();
    for (std::size_t i = 0; i != all.size(); ++i)
        if (i % 5 == 3) rows.release(all[i].first, all[i].second);
        else if (i % 5 == 4) allot::release(all[i].first);
    CHECK(rows.live_rows() == 0);
    CHECK(rows.valid());
    rows.trim();
    CHECK(rows.arena().taken() == 0);
}

TEMPLATE_TEST_CASE("a row may hold a copy of a page's header", "", allot::use::containers, shared_spans,
                   guarded_spans) {
    allot::row_manager<TestType> rows{allot::limit{256_MiB}, page};
    auto local = rows.local();
    std::vector<void*> small = many(rows, 100, 16), all;
    for (int i = 0; i != 9; ++i) all.push_back(rows.allocate(58000)); // a span of 8 pages
    const auto start_of_page = [](void* at) { return reinterpret_cast<std::uintptr_t>(at) & ~(64_KiB - 1); };
    for (std::size_t i = 1; i != 8; ++i) // each page but the first starts in a row
        std::memcpy(reinterpret_cast<void*>(start_of_page(all[0]) + i * 64_KiB),
                    reinterpret_cast<void*>(start_of_page(small[0])), 192);
    small.push_back(local.allocate(16));                      // so that each way has a cache of its size
    auto heap = rows.heap(allot::as<allot::size::exact>, 16); // a handle takes rows of others, too
    auto handle = heap.local();
    for (int i = 0; i != 40; ++i) small.push_back(handle.allocate());
    std::memcpy(reinterpret_cast<void*>(start_of_page(all[0]) + 7 * 64_KiB),
                reinterpret_cast<void*>(start_of_page(small.back())), 192);
    handle.release(all[8]);
    for (std::size_t i = 1; i != 8; ++i) i % 2 != 0 ? rows.release(all[i]) : local.release(all[i]);
    CHECK(rows.live_rows() == small.size() + 1);
    for (void* row : small) rows.release(row);
    rows.release(all[0]);
    CHECK(rows.live_rows() == 0);
    CHECK(rows.valid());
}

TEST_CASE("a row in a span has links, an owner in each page, and a size class where it is resized") {
    allot::row_manager<counted_spans> rows{allot::limit{256_MiB}, page};
    std::vector<void*> all = many(rows, 9, 58000); // a span of 8 pages has 9
    CHECK(held(rows) == 8 * 64_KiB);
    for (void* row : all) {
        rows.link(row);
        CHECK(rows.is_shared(row));
        rows.release(row);
        CHECK(!allot::is_shared(row));
        CHECK(allot::capacity(row) >= 58000);
    }
    std::memset(all[8], 7, 58000);
    all[8] = rows.resize(all[8], 58000, 60000);
    CHECK(rows.capacity(all[8]) >= 60000);
    all[8] = rows.resize(all[8], 58000, 1000000); // huge
    CHECK(static_cast<char*>(all[8])[57999] == 7);
    for (void* row : all) rows.release(row);
    CHECK(rows.live_rows() == 0);
}

TEST_CASE("a span that went back has no owner, in any of its pages") {
    allot::row_manager<counted_spans> rows{allot::limit{256_MiB}, page};
    const std::vector<void*> all = many(rows, 9, 58000);
    for (void* row : all) {
        CHECK(rows.arena().owner_of(row) == rows.arena().owner_of(all[0]));
        CHECK(rows.arena().owner_of(row) != nullptr);
    }
    for (void* row : all) rows.release(row);
    rows.trim();
    for (void* row : all) CHECK(rows.arena().owner_of(row) == nullptr);
}

TEST_CASE("compaction empties spans") {
    containers rows{allot::limit{256_MiB}};
    std::vector<void*> all = many(rows, 900, 13000); // 5 in a page
    std::vector<void*> left;
    for (std::size_t i = 0; i != all.size(); ++i) {
        if (i % 4 != 0) rows.release(all[i]);
        else left.push_back(all[i]);
        if (i % 4 == 0) std::memset(all[i], static_cast<int>(i % 251), 13000);
    }
    const allot::compaction done = rows.compact(left);
    CHECK(done.bytes_returned >= 100 * 64_KiB);
    for (std::size_t i = 0; i != left.size(); ++i) {
        const auto* row = static_cast<const unsigned char*>(left[i]);
        REQUIRE((row[0] == 4 * i % 251 && row[12999] == 4 * i % 251));
    }
    CHECK(held(rows) <= 64_KiB * (225 / 5 + 1));
    CHECK(rows.valid());
    for (void* row : left) rows.release(row);
}

TEST_CASE("maps of pages draw spans") {
    containers rows{allot::limit{256_MiB}};
    void* const row = rows.allocate(58000); // the first of 9
    static char map[100000];
    allot::text_writer out{map};
    allot::write_page_usage(out, rows);
    CHECK(std::string{map}.find("11111111") != std::string::npos);
    rows.release(row);
}

TEST_CASE("a span goes back with its last row") {
    containers rows{allot::limit{256_MiB}};
    for (int round = 0; round != 3; ++round) {
        const auto all = many(rows, 300, 30000);
        for (void* row : all) rows.release(row);
        CHECK(rows.trim() >= 100 * 64_KiB);
        CHECK(rows.used() == 0);
    }
}

TEST_CASE("under a small limit, or in a shared arena, there are no spans") {
    containers few{allot::limit{4_MiB}, page};
    void* const row = few.allocate(20000);
    CHECK(held(few) == 64_KiB);
    CHECK(few.capacity(row) == few.capacity_for(20000));
    few.release(row);
    allot::arena<> arena{allot::limit{1_GiB}, page};
    allot::row_manager<borrowing> shared{arena};
    const auto all = many(shared, 10, 58000);
    CHECK(held(shared) == 10 * 64_KiB);
    for (void* each : all) shared.release(each);
}

TEST_CASE("a limit with no room for a span refuses, and a span that is refused costs nothing") {
    containers rows{allot::limit{32_MiB}};
    std::vector<void*> all;
    while (void* const row = rows.try_allocate(58000)) all.push_back(row);
    CHECK(rows.used() <= 32_MiB);
    CHECK(all.size() == 9 * 64); // 64 spans of 8 pages
    for (void* row : all) rows.release(row);
    all.clear();
    while (void* const row = rows.try_allocate(16000)) all.push_back(row); // from the pages of those
    CHECK(all.size() == 2048);
    for (void* row : all) rows.release(row);
    CHECK(rows.valid());
}
