// The ladder: the order of its steps, where a climb goes on after each, and how often one request is charged.
#include <support/catch.hpp>

#include <allot/core/units.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/reclaim/chain.hpp>
#include <allot/reclaim/reclaimer.hpp>
#include <allot/request/ladder.hpp>
#include <allot/row_manager.hpp>

#include <cstddef>
#include <deque>
#include <string>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;
using allot::detail::climbed;
using allot::detail::memory_request;

namespace {

// Steps that note their calls, and serve as often as they are told.
struct noted {
    static constexpr bool any = true;
    std::string& log;
    int own = 0, tenants = 0, arena = 0, moves = 0, reclaimers = 0, waits = 0;
    bool ends = false;

    climbed say(char step, int& serves) {
        log += step;
        return serves != 0 ? --serves, climbed::served : climbed::moved_on;
    }
    climbed return_idle(const memory_request&) { return say('o', own); }
    climbed ask_arena(const memory_request&) { return say('a', arena); }
    climbed wait_for_moves(const memory_request&) { return say('m', moves); }
    climbed ask_tenants(const memory_request&) { return say('t', tenants); }
    climbed call_reclaimers(const memory_request&) { return say('r', reclaimers); }
    climbed wait(memory_request&) {
        if (ends) return log += 'w', climbed::gave_up;
        return say('w', waits);
    }
    void granted(const memory_request&) { log += '!'; }
};
// The steps of a climb whose attempt number `granted` succeeds; 0: none does. An attempt is a '.'.
std::string climb(noted steps, int granted = 0) {
    memory_request asked{1};
    asked.why.outcome = allot::charge_outcome::over_limit;
    int attempts = 0;
    const bool got = allot::detail::climb(asked, steps, steps, [&] { return steps.log += '.', ++attempts == granted; });
    CHECK(got == (granted != 0));
    return steps.log;
}

} // namespace

TEST_CASE("a climb takes each step once, in order, where none serves", "[ladder]") {
    std::string log;
    CHECK(climb({.log = log}) == "otamrw");
}

TEST_CASE("a climb makes the attempt after each step that served, and goes on there", "[ladder]") {
    std::string log;
    CHECK(climb({.log = log, .own = 2}) == "o.o.otamrw");
    log.clear();
    CHECK(climb({.log = log, .tenants = 2}) == "ot.t.tamrw");
    log.clear();
    CHECK(climb({.log = log, .arena = 1}, 1) == "ota.!");
}

TEST_CASE("after moves and waits a climb begins again, after a reclaimer with what is idle now", "[ladder]") {
    std::string log;
    CHECK(climb({.log = log, .moves = 1}) == "otam.otamrw");
    log.clear();
    CHECK(climb({.log = log, .reclaimers = 2}) == "otamr.tamr.tamrw");
    log.clear();
    CHECK(climb({.log = log, .waits = 1}, 1) == "otamrw.!");
    log.clear();
    CHECK(climb({.log = log, .waits = 1}) == "otamrw.otamrw");
}

TEST_CASE("a climb ends at a step that gives up, and does not begin for misuse", "[ladder]") {
    std::string log;
    CHECK(climb({.log = log, .waits = 1, .ends = true}) == "otamrw");
    log.clear();
    noted steps{.log = log, .own = 1};
    memory_request asked{1};
    asked.why.outcome = allot::charge_outcome::misused;
    CHECK_FALSE(allot::detail::climb(asked, steps, steps, [] { return true; }));
    CHECK(log.empty());
}

namespace {

struct shared_rows : allot::policies<allot::ledger::tree, allot::spill::chain, allot::heap::shared,
                                     allot::watch::counters, allot::oom::null> {};
struct rows_of_threads : allot::policies<allot::ledger::tree, allot::spill::chain, allot::heap::per_thread,
                                         allot::watch::counters, allot::oom::null> {};

// Returns what it was given once.
struct frees_once final : allot::reclaimer {
    explicit frees_once(allot::account& a) : reclaimer("once"), by(a) {}
    bool reclaim(const allot::shortage&) noexcept override {
        if (held == 0) return false;
        by.refund(held), held = 0;
        return true;
    }
    allot::account& by;
    std::size_t held = 0;
};
// Charges that one refused request for a row makes, where all memory is in use.
template <class Set> std::size_t charges_of_a_refusal(std::size_t freed = 0) {
    allot::account root{allot::name{"root"}, allot::limit{1_MiB}}, other{root, allot::name{"other"}};
    allot::row_manager<Set> rows{root, allot::page_bytes{64_KiB}};
    frees_once cache{other};
    std::vector<void*> held;
    while (void* const row = rows.try_allocate(1000)) held.push_back(row);
    root.add(cache);
    if (freed != 0) {
        root.set_limit(1_MiB + freed);
        REQUIRE(other.try_charge(freed));
        cache.held = freed;
    }
    const auto before = rows.charges().refused;
    void* const row = rows.try_allocate(1000);
    held.push_back(row);
    CHECK((row != nullptr) == (freed >= 64_KiB));
    const auto refused = rows.charges().refused - before;
    root.remove(cache);
    for (void* const one : held) rows.release(one);
    return refused;
}

} // namespace

TEST_CASE("one refused request for a row is charged this often", "[ladder][accounts]") {
    // At first, and after each way to return own idle memory: the heaps', then the caches of threads.
    CHECK(charges_of_a_refusal<shared_rows>() == 2);
    CHECK(charges_of_a_refusal<rows_of_threads>() == 3);
    // Once more after a reclaimer that freed too little; not after one that freed nothing. Enough: no refusal more.
    CHECK(charges_of_a_refusal<shared_rows>(4_KiB) == 3);
    CHECK(charges_of_a_refusal<shared_rows>(64_KiB) == 2);
}

namespace {

// Hands what is charged below to the account above it, so that the level above stays as full as it was.
struct hands_up final : allot::reclaimer {
    hands_up(allot::account& a, allot::account* to) : reclaimer("hands up"), from(a), above(to) { from.add(*this); }
    ~hands_up() { from.remove(*this); }
    bool reclaim(const allot::shortage&) noexcept override {
        if (std::exchange(done, true)) return false;
        if (above != nullptr) allot::account::transfer(from, *above, 10);
        else from.refund(10);
        return true;
    }
    allot::account& from;
    allot::account* above;
    bool done = false;
};
// A request at the end of a chain of accounts, each of which is full and is helped by one reclaimer.
bool granted_below(std::size_t levels) {
    allot::account root{allot::name{"root"}};
    std::deque<allot::account> chain, beside;
    std::deque<hands_up> caches;
    for (std::size_t i = 0; i != levels; ++i) {
        chain.emplace_back(i == 0 ? root : chain.back(), allot::name{"level"}, allot::limit{10 * (levels - i)});
        allot::account* const above = i == 0 ? nullptr : &beside.back();
        beside.emplace_back(chain.back(), allot::name{"beside"});
        caches.emplace_back(beside.back(), above);
    }
    for (allot::account& a : beside) REQUIRE(a.try_charge(10));
    allot::account leaf{chain.back(), allot::name{"leaf"}};
    const bool got = leaf.try_charge(10).charged();
    if (got) leaf.refund(10);
    caches.clear();
    for (allot::account& a : beside) a.refund(a.used());
    leaf.close();
    while (!chain.empty()) beside.pop_back(), chain.pop_back();
    return got;
}

} // namespace

TEST_CASE("a request climbs through 16 levels that refuse it in turn, and ends at the next", "[ladder][accounts]") {
    CHECK(granted_below(1));
    CHECK(granted_below(16));
    CHECK_FALSE(granted_below(17));
}

TEST_CASE("a request that accounts beside each other refuse in turn sleeps at the one above both",
          "[accounts][waits]") {
    account root{name{"root"}, limit{1000}};
    account above{root, name{"above"}}, a{above, name{"a"}, limit{100}}, b{above, name{"b"}, limit{100}};
    a.charge(100), b.charge(100);
    allot::detail::memory_request asked{50};
    const allot::charge_status by_a = a.try_charge(50), by_b = b.try_charge(50);
    asked.why = by_a;
    const std::uint64_t end = allot::sys::fine_clock::now() + 50'000'000;
    allot::detail::waiting_request waits{root.node(), asked, end};
    int tries = 0;
    do { // the end of the wait alone lets it try again
        ++tries;
        asked.why = tries % 2 != 0 ? by_b : by_a;
        REQUIRE(waits.begin_try(asked.why));
        waits.end_try(false);
    } while (tries != 1000 && waits.sleep(asked));
    a.refund(100), b.refund(100);
    CHECK((tries == 2 && allot::sys::fine_clock::now() >= end));
}
