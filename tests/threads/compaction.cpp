// Compaction beside threads that allocate, release, link and read rows of the same heaps, and beside other compactions.
#include <support/catch.hpp>
#include <support/row_sets.hpp>

#include <allot/core/units.hpp>
#include <allot/row_manager.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <type_traits>
#include <vector>

using namespace allot::literals;

namespace {

struct canaries : allot::policies<allot::guard::canary, allot::oom::null> {};

// A row has its number in every word.
void write(void* row, std::size_t bytes, std::uint64_t number) {
    for (std::size_t at = 0; at + 8 <= bytes; at += 8) std::memcpy(static_cast<std::byte*>(row) + at, &number, 8);
}
bool holds(const void* row, std::size_t bytes, std::uint64_t number) {
    for (std::size_t at = 0; at + 8 <= bytes; at += 8)
        if (std::memcmp(static_cast<const std::byte*>(row) + at, &number, 8) != 0) return false;
    return true;
}
struct known_row {
    void* row;
    std::size_t bytes;
    std::uint64_t number;
};

} // namespace

TEMPLATE_TEST_CASE("rows move beside threads that use the same heaps", "[threads]", sets::plain, sets::delayed,
                   sets::per_thread, canaries) {
    allot::row_manager<TestType> rows{allot::limit{64_MiB}};
    // Rows that all threads read and link, and that stay where they are.
    std::vector<known_row> shared;
    for (std::uint64_t i = 0; i != 200; ++i) {
        shared.push_back({rows.allocate(16 + i % 5 * 48), 16 + i % 5 * 48, i});
        write(shared.back().row, shared.back().bytes, i);
        rows.link(shared.back().row);
    }
    std::atomic<std::size_t> wrong{0}, moved{0};
    const auto works = [&](unsigned seed) {
        std::mt19937 random{seed};
        std::vector<known_row> own;
        const auto check = [&](const known_row& r) { wrong += !holds(r.row, r.bytes, r.number); };
        for (int turn = 0; turn != 30; ++turn) {
            for (int i = 0; i != (turn == 0 ? 4000 : 400); ++i) { // the first leaves sparse pages
                const std::size_t bytes = 16 + random() % 5 * 48;
                if (void* const row = rows.try_allocate(bytes)) {
                    own.push_back({row, bytes, random()});
                    write(row, bytes, own.back().number);
                }
                const known_row& one = shared[random() % shared.size()];
                rows.link(one.row);
                check(one);
                rows.release(one.row);
            }
            std::erase_if(own, [&](const known_row& r) {
                if (random() % 4 == 0) return false;
                check(r);
                rows.release(r.row);
                return true;
            });
            if (seed % 2 == 0) { // these threads compact their own rows, and those that are shared stay
                std::vector<void*> span;
                for (const known_row& r : own) span.push_back(r.row);
                const std::size_t mine = span.size();
                for (const known_row& r : shared) span.push_back(r.row);
                moved += rows.compact(span).moved;
                for (std::size_t i = 0; i != mine; ++i) own[i].row = span[i];
                for (std::size_t i = 0; i != shared.size(); ++i) wrong += span[mine + i] != shared[i].row;
            }
        }
        for (const known_row& r : own) {
            check(r);
            rows.release(r.row);
        }
    };
    std::vector<std::thread> all;
    for (unsigned t = 0; t != 8; ++t) all.emplace_back(works, t);
    for (auto& t : all) t.join();
    CHECK(wrong == 0);
    CHECK(moved != 0);
    CHECK(rows.valid());
    for (const known_row& r : shared) {
        CHECK(holds(r.row, r.bytes, r.number));
        rows.release(r.row);
        rows.release(r.row);
    }
    CHECK(rows.live_rows() == 0);
    rows.trim();
    if constexpr (!std::is_same_v<TestType, sets::per_thread>) CHECK(rows.used() == 0);
}

TEST_CASE("rows without counts move beside threads that use handles of the same heaps", "[threads]") {
    allot::row_manager<sets::uncounted> rows{allot::limit{64_MiB}, allot::page_bytes{16_KiB}};
    std::atomic<std::size_t> wrong{0}, moved{0};
    const auto works = [&](unsigned seed) {
        std::mt19937 random{seed};
        auto local = rows.local();
        std::vector<known_row> own;
        for (int turn = 0; turn != 30; ++turn) {
            for (int i = 0; i != (turn == 0 ? 4000 : 400); ++i) {
                const std::size_t bytes = 16 + random() % 3 * 48;
                own.push_back({i % 2 != 0 ? local.allocate(bytes) : rows.allocate(bytes), bytes, random()});
                write(own.back().row, bytes, own.back().number);
            }
            std::erase_if(own, [&](const known_row& r) {
                if (random() % 4 == 0) return false;
                wrong += !holds(r.row, r.bytes, r.number);
                random() % 2 != 0 ? local.release(r.row) : rows.release(r.row);
                return true;
            });
            if (seed % 2 != 0) continue;
            std::vector<void*> span;
            for (const known_row& r : own) span.push_back(r.row);
            moved += rows.compact(span).moved;
            for (std::size_t i = 0; i != own.size(); ++i) own[i].row = span[i];
        }
        for (const known_row& r : own) {
            wrong += !holds(r.row, r.bytes, r.number);
            local.release(r.row);
        }
    };
    std::vector<std::thread> all;
    for (unsigned t = 0; t != 4; ++t) all.emplace_back(works, t);
    for (auto& t : all) t.join();
    CHECK(wrong == 0);
    CHECK(moved != 0);
    CHECK(rows.live_rows() == 0);
    CHECK(rows.valid());
}
