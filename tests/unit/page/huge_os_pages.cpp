// Huge OS pages are larger than ours: what goes back to the system goes in whole ones, as far as they are free.
#include <support/catch.hpp>

#include <allot/account/account.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/page/arena.hpp>
#include <allot/row_manager.hpp>

#include <cstring>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace allot::literals;

namespace {

// Bytes of transparent huge pages within a range.
std::size_t huge_bytes(const allot::page_arena& pages) {
    std::ifstream maps("/proc/self/smaps");
    std::size_t sum = 0;
    bool inside = false;
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t from = 0, to = 0;
        if (std::sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2)
            inside = pages.contains(reinterpret_cast<void*>(from));
        else if (inside && line.rfind("AnonHugePages:", 0) == 0) sum += std::stoul(line.substr(14)) * 1024;
    }
    return sum;
}

} // namespace

TEST_CASE("the unused part of a huge OS page goes back with the used one", "[arena]") {
    for (const std::size_t page : {16_KiB, 64_KiB, 512_KiB, 1_MiB})
        for (const bool in_company : {false, true}) {
            allot::arena<> pages{allot::page_bytes{page}, allot::reserve_bytes{128_MiB}};
            std::vector<std::byte*> all;
            while (all.size() < 26_MiB / page) all.push_back(pages.take());
            while (all.size() > 20_MiB / page + 1) { // all is committed, and one page beyond whole huge ones taken
                pages.give(all.back(), 1);
                all.pop_back();
            }
            pages.trim();
            std::byte* const last = all.back();
            all.pop_back();
            *last = std::byte{1};
            const bool is_huge = huge_bytes(pages) != 0;
            if (is_huge) CHECK(pages.resident() == 2_MiB);
            if (is_huge && in_company && page < 1_MiB) { // last, middle, far: in one huge page; only the middle is free
                std::byte* const middle = pages.take();
                std::byte* const far = pages.take();
                std::memset(last, 1, page);
                std::memset(far, 2, page);
                pages.give(middle, 1);
                CHECK(pages.trim() == page); // what was committed for somebody
                CHECK(last[page - 1] == std::byte{1});
                CHECK(far[0] == std::byte{2});
                CHECK(pages.resident() == 2 * page); // those two: the free pages behind them have gone, too
                pages.give(far, 1);
            }
            pages.give(last, 1);
            pages.trim();
            CHECK(pages.resident() == 0);
            for (std::byte* p : all) pages.give(p, 1);
            CHECK(pages.valid());
        }
}

TEST_CASE("whatever was taken and given at random, a trim leaves only what is held", "[arena]") {
    allot::arena<> pages{allot::page_bytes{256_KiB}, allot::reserve_bytes{128_MiB}};
    std::mt19937 random(7);
    struct run {
        std::byte* at;
        std::size_t pages;
    };
    std::vector<run> held;
    std::size_t bytes = 0;
    for (int step = 0; step < 600; ++step) {
        if (held.empty() || random() % 5 < 3) {
            const std::size_t n = random() % 4 == 0 ? 1 + random() % 9 : 1;
            if (std::byte* const p = pages.take(n)) {
                for (std::size_t at = 0; at < n * 256_KiB; at += 4096) p[at] = std::byte{9};
                held.push_back({p, n});
                bytes += n * 256_KiB;
            }
        } else {
            const std::size_t i = random() % held.size();
            pages.give(held[i].at, held[i].pages);
            bytes -= held[i].pages * 256_KiB;
            held[i] = held.back();
            held.pop_back();
        }
        if (step % 50 == 49) {
            pages.trim();
            std::set<std::uintptr_t> huge; // what is held may lie in huge pages, whose free parts stay meanwhile
            for (const run& r : held)
                for (std::size_t i = 0; i < r.pages; ++i)
                    huge.insert(reinterpret_cast<std::uintptr_t>(r.at + i * 256_KiB) / 2_MiB);
            REQUIRE(pages.resident() <= huge.size() * 2_MiB);
            REQUIRE(pages.stats().committed == bytes);
        }
    }
    bool kept = true;
    for (const run& r : held) kept = kept && r.at[0] == std::byte{9} && r.at[r.pages * 256_KiB - 4096] == std::byte{9};
    CHECK(kept);
    for (const run& r : held) pages.give(r.at, r.pages);
    pages.trim();
    CHECK(pages.resident() == 0);
    CHECK(pages.valid());
}

// Where the limit has room for it, a manager is charged for a huge OS page at a time, not for a page.
TEST_CASE("idle memory of others makes room for whole huge OS pages", "[arena][accounts]") {
    struct in_tree : allot::policies<allot::ledger::tree, allot::oom::null> {};
    const auto charges_of = [](std::size_t limit) {
        allot::account engine{allot::name{"engine"}, allot::limit{limit}};
        allot::row_manager<in_tree> had{engine}, takes{engine};
        std::vector<void*> rows;
        while (had.used() < 30_MiB) rows.push_back(had.allocate(1000));
        for (void* const row : rows) had.release(row);
        rows.clear();
        std::size_t charges = 0;
        for (std::size_t before = 0; takes.used() < 30_MiB; before = takes.account().used()) {
            rows.push_back(takes.allocate(1000));
            charges += takes.account().used() > before;
        }
        for (void* const row : rows) takes.release(row);
        CHECK(engine.peak() <= limit);
        return charges;
    };
    const std::size_t fresh = charges_of(80_MiB), handed_over = charges_of(37_MiB);
    CHECK(fresh > 7); // of 14 MiB behind the first 16 MiB, which get no huge OS pages
    CHECK(handed_over <= fresh + 1);
}
