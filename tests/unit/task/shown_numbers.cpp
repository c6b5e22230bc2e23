// What an observer is shown while tasks, pools, quotas and reservations share a limit that changes: no number above it.
#include <support/catch.hpp>
#include <support/from_environment.hpp>
#include <support/rescue.hpp>

#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/core/text.hpp>
#include <allot/ledger/pool.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/report/accounts.hpp>
#include <allot/row_manager.hpp>
#include <allot/task/executor.hpp>
#include <allot/task/quota.hpp>
#include <allot/task/task_group.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::account_stats;
using allot::limit;
using allot::name;

namespace {

struct pooled : allot::policies<allot::ledger::pool, allot::fit::runs, allot::oom::null> {};
struct in_tree : allot::policies<allot::ledger::tree, allot::oom::null> {};

constexpr std::size_t most = 32_MiB;

// What another thread may see at any moment.
void look(const account& root, std::vector<char>& page, bool texts) {
    root.visit([](const account_stats& f, const account&) {
        if (f.used > f.limit && !f.lowered) FAIL(f.name << " uses " << f.used << " of " << f.limit);
        if (f.peak > most || f.beyond != 0) FAIL(f.name << ": peak " << f.peak << ", beyond " << f.beyond);
        if (f.owed > f.reservation) FAIL(f.name << " is owed " << f.owed << " of " << f.reservation);
    });
    const std::size_t promised = root.promised();
    if (promised > most) FAIL("promised " << promised);
    if (!texts) return;
    for (const bool as_json : {false, true}) {
        allot::text_writer out{page.data(), page.size()};
        as_json ? write_accounts_json(out, root, allot::account_numbers::known) : write_accounts(out, root);
        for (const char* const word : {"by force", "\"beyond\""})
            if (out.view().find(word) != std::string_view::npos) FAIL(out.view());
    }
}

void run(std::size_t samples) {
    const support::rescue ends{"tasks beside an observer", std::chrono::minutes{5 + samples / 500}};
    allot::oom::arbiter arbiter;
    account root{name{"engine"}, limit{most}, arbiter}, shares{root, name{"shares"}};
    account one{shares, name{"one"}}, two{shares, name{"two"}}, three{root, name{"three"}};
    allot::chunk_arena<pooled> pool{root, name{"pool"}, allot::chunk_bytes{256_KiB}};
    allot::row_manager<in_tree> rows{three};
    const allot::buffer_memory memory{pool};
    std::atomic<bool> stop{false};
    std::vector<std::jthread> others;
    others.emplace_back([&] { // quotas
        allot::quota parts{shares};
        for (std::mt19937 random{1}; !stop;)
            static_cast<void>(parts.request({{one, random() % 4_MiB}, {two, random() % 4_MiB}}, 0_ms)), parts.release();
    });
    others.emplace_back([&] { // a limit that is lowered, below what is used, too
        for (std::mt19937 random{2}; !stop; std::this_thread::yield())
            root.set_limit(random() % 2 == 0 ? most : most / 4 + random() % (most / 2));
    });
    for (account* const mine : {&one, &two, &three}) // reservations, buffers and rows
        others.emplace_back([&, mine] {
            std::mt19937 random{3 + static_cast<unsigned>(mine == &two)};
            while (!stop) {
                const allot::account_reservation sure = random() % 2 == 0 ? mine->reserve_for(random() % 8_MiB, 0_ms)
                                                                          : mine->reserve_floor_for(4_MiB, 0_ms);
                std::vector<allot::buffer> held;
                for (int i = 0; i != 30; ++i) {
                    held.push_back(memory.try_allocate(*mine, 1 + random() % 500'000));
                    if (random() % 2 == 0) held[random() % held.size()].release();
                    if (void* const row = rows.try_allocate(1 + random() % 100'000)) rows.release(row);
                }
            }
        });
    {
        allot::executor run{arbiter, root, {.threads = 3}};
        std::jthread starts{[&] {
            while (!stop) {
                allot::task_group all{run, name{"tasks"}};
                for (std::size_t i = 0; i != 8; ++i)
                    all.add({.name = "sort", .output = 1_MiB + i % 4 * 2_MiB}, [&](allot::task_step& step) {
                        std::vector<allot::buffer> held;
                        for (int k = 0; k != 8; ++k) {
                            held.push_back(memory.try_allocate(step.memory(), 128_KiB));
                            if (k % 3 == 2) held.erase(held.begin());
                        }
                    });
                all.wait();
            }
        }};
        std::vector<char> page(1 << 16);
        const struct at_end { // also where a look fails
            std::atomic<bool>& now;
            ~at_end() { now = true; }
        } ends_all{stop};
        for (std::size_t i = 0; i != samples; ++i) look(root, page, i % 20 == 0);
    }
    others.clear();
    CHECK(root.verify());
    CHECK(root.stats().beyond == 0);
    CHECK(shares.used() == 0);
}

} // namespace

TEST_CASE("no number that is shown exceeds its limit", "[task][reservation]") {
    run(support::in_short_run() ? 200 : 2000);
}

TEST_CASE("no number that is shown exceeds its limit, a million times", "[.][hours]") { run(1'000'000); }
