// allot_accounts: the cost of charges, beside one uncontended atomic addition in the same run. Prints a Markdown table
// for docs/bench/accounts.md.
//
//     allot_accounts [--smoke]        --smoke: a short run, only to see that it works
//
// Subjects take turns, round by round. A result is the median of 15 rounds of thread CPU time; a ratio is the median of
// the ratios of rounds.
#include <harness/turns.hpp>
#include <support/add_then_check.hpp>

#include <allot/account/account.hpp>
#include <allot/core/units.hpp>
#include <allot/ledger/page_ledger.hpp>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace {

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;
using bench::timed;

// Two threads, each its own steps, at once: the slower one's time, which others on the machine do not lengthen.
template <class Step> double on_two(std::size_t n, Step step) {
    double took[2]{};
    std::barrier ready{2};
    const auto work = [&](std::size_t t) {
        ready.arrive_and_wait();
        took[t] = timed(n, [&](std::size_t i) { step(t, i); });
    };
    std::thread other{work, 1};
    work(0);
    other.join();
    return std::max(took[0], took[1]);
}

struct four_levels {
    account root{name{"root"}, limit{1_GiB}}, query{root, name{"query"}}, part{query, name{"part"}},
        leaf{part, name{"leaf"}}, beside{part, name{"beside"}}, away{root, name{"away"}};
};
struct four_added {
    add_then_check_account root{1_GiB}, query{SIZE_MAX, &root}, part{SIZE_MAX, &query}, leaf{SIZE_MAX, &part};
};
struct eight_leaves {
    account root{name{"root"}, limit{1_GiB}};
    std::vector<std::unique_ptr<account>> leaves;
    explicit eight_leaves(bool steps) {
        for (int i = 0; i != 8; ++i)
            leaves.push_back(steps ? std::make_unique<account>(root, name{"leaf"}, allot::credit_step{1_MiB})
                                   : std::make_unique<account>(root, name{"leaf"}));
    }
};

} // namespace

int main(int argc, char** argv) {
    const bool smoke = argc > 1 && std::strcmp(argv[1], "--smoke") == 0;
    const std::size_t n = smoke ? 20'000 : 2'000'000;
    const int rounds = smoke ? 3 : 15;

    alignas(64) std::atomic<std::size_t> word{0};
    allot::detail::page_ledger counter{1_GiB};
    allot::detail::memory_request asked{4096};
    account root{name{"root"}, limit{1_GiB}};
    account leaf{root, name{"leaf"}, allot::credit_step{1_MiB}};
    account exact{root, name{"exact"}};
    four_levels four;
    four_added added;
    eight_leaves eight{true}, eight_exact{false};
    static_cast<void>(four.leaf.try_charge(1_MiB));

    const std::vector<bench::subject> all{
        {"one atomic addition, nobody else", "", 1,
         [&](std::size_t k) { return timed(k, [&](std::size_t) { word.fetch_add(1, std::memory_order_relaxed); }); }},
        {"charge + refund, a leaf with steps", "<= 2.5", 1,
         [&](std::size_t k) {
             return timed(k, [&](std::size_t) {
                 static_cast<void>(leaf.try_charge(4096)), bench::escape(&leaf), leaf.refund(4096),
                     bench::escape(&leaf);
             });
         }},
        {"charge + refund, a row manager's counter", "", 1,
         [&](std::size_t k) {
             return timed(k, [&](std::size_t) {
                 static_cast<void>(counter.try_charge(4096, asked)), counter.confirm(4096), counter.refund(4096);
             });
         }},
        {"charge + refund, no steps, two levels", "", 1,
         [&](std::size_t k) {
             return timed(k, [&](std::size_t) { static_cast<void>(exact.try_charge(4096)), exact.refund(4096); });
         }},
        {"charge + refund, no steps, four levels", "", 1,
         [&](std::size_t k) {
             return timed(k,
                          [&](std::size_t) { static_cast<void>(four.leaf.try_charge(4096)), four.leaf.refund(4096); });
         }},
        {"the same, added first and checked then", "", 1,
         [&](std::size_t k) {
             return timed(
                 k, [&](std::size_t) { static_cast<void>(added.leaf.try_charge(4096)), added.leaf.refund(4096); });
         }},
        {"a refused charge, four levels", "", 1,
         [&](std::size_t k) { return timed(k, [&](std::size_t) { static_cast<void>(four.leaf.try_charge(2_GiB)); }); }},
        {"transfer to a sibling and back, each", "", 2,
         [&](std::size_t k) {
             return timed(k, [&](std::size_t) {
                 static_cast<void>(account::transfer(four.leaf, four.beside, 4096)),
                     static_cast<void>(account::transfer(four.beside, four.leaf, 4096));
             });
         }},
        {"transfer across the tree and back, each", "", 2,
         [&](std::size_t k) {
             return timed(k, [&](std::size_t) {
                 static_cast<void>(account::transfer(four.leaf, four.away, 4096)),
                     static_cast<void>(account::transfer(four.away, four.leaf, 4096));
             });
         }},
        {"one atomic addition, two threads, each its own word", "", 1,
         [&](std::size_t k) {
             struct alignas(128) own {
                 std::atomic<std::size_t> word{0};
             };
             static own words[2];
             return on_two(k,
                           [&](std::size_t t, std::size_t) { words[t].word.fetch_add(1, std::memory_order_relaxed); });
         }},
        {"charge + refund, eight leaves with steps, two threads, each", "<= 4", 1,
         [&](std::size_t k) {
             return on_two(k, [&](std::size_t t, std::size_t i) {
                 account& a = *eight.leaves[2 * (i % 4) + t];
                 static_cast<void>(a.try_charge(4096)), a.refund(4096);
             });
         }},
        {"the same, each thread at any of the eight", "", 1,
         [&](std::size_t k) {
             return on_two(k, [&](std::size_t t, std::size_t i) {
                 account& a = *eight.leaves[(i * 5 + t * 3) % 8];
                 static_cast<void>(a.try_charge(4096)), a.refund(4096);
             });
         }},
        {"the same, eight leaves without steps", "", 1,
         [&](std::size_t k) {
             return on_two(k / 8,
                           [&](std::size_t t, std::size_t i) {
                               account& a = *eight_exact.leaves[2 * (i % 4) + t];
                               static_cast<void>(a.try_charge(4096)), a.refund(4096);
                           }) *
                    8;
         }},
    };
    bench::write_turns(all, bench::take_turns(all, n, rounds), "one addition");
    four.leaf.refund(1_MiB);
    return root.verify() && four.root.verify() && eight.root.verify() && eight.root.used() <= 8 * 2_MiB ? 0 : 1;
}
