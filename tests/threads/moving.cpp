// Rows that move under threads: a row that is resized while others read it, arrays that grow while others read, take
// and pack their rows.
#include <support/catch.hpp>
#include <support/evictor.hpp>

#include <allot/core/units.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/reclaim/chain.hpp>
#include <allot/row/moving/row_array.hpp>
#include <allot/row/moving/row_compactor.hpp>
#include <allot/row_manager.hpp>
#include <allot/sys/shared_mutex.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <thread>
#include <utility>
#include <vector>

using namespace allot::literals;

namespace {

struct spilling : allot::policies<allot::ledger::tree, allot::spill::chain> {};

} // namespace

TEST_CASE("readers of a row that is resized never read freed memory", "[threads][resize]") {
    allot::row_manager<allot::policies<>> rows{allot::limit{64_MiB}, allot::page_bytes{64_KiB}};
    struct {
        allot::detail::sys::shared_mutex readers;
        std::uint64_t* numbers;
        std::size_t count; // that are written
    } table{};
    table.numbers = static_cast<std::uint64_t*>(rows.allocate(64));
    std::atomic<bool> done{false}, good{true};
    std::vector<std::thread> all;
    for (unsigned r = 0; r != 3; ++r)
        all.emplace_back([&, r] {
            std::mt19937 random{r};
            while (!done) {
                const std::shared_lock hold(table.readers);
                for (int i = 0; i != 50 && table.count != 0; ++i) {
                    const std::size_t at = random() % table.count;
                    if (table.numbers[at] != at * 3) good = false;
                }
            }
        });
    for (unsigned t = 0; t != 2; ++t) // others take and give back what lies around it
        all.emplace_back([&, t] {
            std::mt19937 random{t + 10};
            while (!done) {
                const std::size_t bytes = random() % 400'000;
                if (void* const row = rows.try_allocate(bytes)) {
                    static_cast<char*>(row)[bytes / 2] = 1;
                    rows.release(row);
                }
            }
        });
    std::mt19937 random{7};
    for (int round = 0; round != 400 && good; ++round) {
        const std::size_t wanted = random() % (round % 3 == 0 ? 300'000 : 5000) + 1;
        const std::size_t keep = std::min(wanted, table.count);
        rows.try_resize(table.numbers, keep * 8, wanted * 8, [&](auto move) {
            const std::unique_lock hold(table.readers);
            const allot::resized_row now = move();
            table.numbers = static_cast<std::uint64_t*>(now.row);
            table.count = keep;
        });
        const std::size_t fits = std::min(rows.capacity(table.numbers) / 8, wanted);
        for (std::size_t i = keep; i < fits; ++i) table.numbers[i] = i * 3;
        const std::unique_lock hold(table.readers);
        table.count = std::max(table.count > fits ? fits : table.count, fits);
    }
    done = true;
    for (auto& t : all) t.join();
    CHECK(good);
    rows.release(table.numbers);
    CHECK(rows.live_rows() == 0);
    CHECK(rows.valid());
}

TEST_CASE("an array grows while others read, take and pack its rows", "[threads][array]") {
    allot::row_manager<spilling> rows{allot::limit{6_MiB}, allot::page_bytes{64_KiB}};
    allot::row_array<spilling> array{rows}, quiet{rows};
    allot::row_compactor<spilling> packs{rows};
    evictor<spilling> taker{array, rows};
    rows.account().add(packs);
    rows.account().add(taker);
    packs.add(array);
    packs.add(quiet);
    std::atomic<bool> done{false}, good{true};
    std::vector<std::thread> all;
    for (int r = 0; r != 3; ++r)
        all.emplace_back([&] {
            while (!done) {
                std::uint64_t before = 0;
                for (void* const row : array.read()) { // in the order of their numbers
                    const std::uint64_t now = *static_cast<std::uint64_t*>(row);
                    if (now <= before) good = false;
                    before = now;
                }
            }
        });
    for (unsigned t = 0; t != 2; ++t)
        all.emplace_back([&, t] {
            std::mt19937 random{t};
            while (!done)
                if (void* const row = rows.try_allocate(random() % 2'000'000)) rows.release(row);
        });
    std::uint64_t number = 0;
    std::size_t refused = 0;
    for (; number != 60'000;) {
        void* const row = rows.try_allocate(100);
        if (row == nullptr) continue;
        *static_cast<std::uint64_t*>(row) = ++number;
        if (number % 16 == 0) { // each page keeps some rows of another array
            if (!quiet.try_push_back(row)) rows.release(row);
        } else if (!array.try_push_back(row)) {
            rows.release(row);
            ++refused;
        }
        if (quiet.size() > 4000) quiet.clear();
    }
    done = true;
    for (auto& t : all) t.join();
    CHECK(good);
    CHECK(taker.evicted != 0);
    CHECK(array.size() + taker.evicted + refused == number - number / 16);
    CHECK(rows.live_rows() == array.size() + quiet.size() + 2);
    packs.remove(array);
    packs.remove(quiet);
    rows.account().remove(packs);
    rows.account().remove(taker);
    CHECK(rows.valid());
}

TEST_CASE("a compaction counts the pages that a request has taken at once", "[threads][compaction]") {
    allot::account memory{allot::name{"both"}, allot::limit{8_MiB}};
    allot::row_manager<spilling> rows{memory}, others{memory};
    std::vector<void*> live;
    while (memory.used() < 5_MiB) live.push_back(rows.allocate(64));
    for (std::size_t i = 0; i != live.size(); ++i)
        if (i % 10 != 0) rows.release(std::exchange(live[i], nullptr));
    std::erase(live, nullptr);
    void* got = nullptr;
    std::thread waits{[&] { got = others.allocate_for(5_MiB, std::chrono::seconds{60}); }};
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    const std::size_t before = rows.used();
    const allot::compaction done = rows.compact(live);
    CHECK(done.bytes_returned >= before - rows.used());
    CHECK(done.bytes_returned != 0);
    waits.join();
    CHECK(got != nullptr);
    others.release(got);
    for (void* const row : live) rows.release(row);
}
