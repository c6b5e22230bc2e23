// Requests that wait, and those that may not pass them: who goes behind one that is due, and who does not.
#include <support/catch.hpp>
#include <support/rescue.hpp>

#include <allot/account/account.hpp>
#include <allot/account/memory_look.hpp>
#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/oom/arbiter.hpp>
#include <allot/oom/retry.hpp>
#include <allot/oom/scoped_wait.hpp>
#include <allot/oom/state_machine.hpp>
#include <allot/oom/task.hpp>
#include <allot/row_manager.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::charge_outcome;
using allot::limit;
using allot::name;
using allot::patient;

namespace {

// A thread that waits for bytes.
struct first_one {
    first_one(account& by, std::size_t bytes)
        : thread{[this, &by, bytes] { granted = by.charge_for(bytes, {allot::forever, stop}).charged(); }} {}
    ~first_one() {
        stop.cancel();
        if (thread.joinable()) thread.join();
    }
    bool gets_it() {
        thread.join();
        return granted;
    }
    allot::cancellation stop;
    std::atomic<bool> granted{false};
    std::thread thread;
};
// A thread of a task that goes on, so the arbiter lets nobody pass.
struct running {
    explicit running(allot::oom::task& t)
        : thread{[this, &t] {
              allot::oom::task_thread here{t};
              began = true;
              while (!done) std::this_thread::yield();
          }} {
        while (!began) std::this_thread::yield();
    }
    ~running() {
        done = true;
        thread.join();
    }
    std::atomic<bool> began{false}, done{false};
    std::thread thread;
};
void until_it_waits(const account& at, std::uint32_t waiting = 1) {
    while (at.stats().waiting != waiting) std::this_thread::yield();
}
void make_due(account& small) {
    for (int i = 0; i != 16; ++i) CHECK_ON_THREAD(small.charge_for(1, allot::forever));
    small.refund(16);
}

} // namespace

TEST_CASE("one that is due holds back requests that may wait, and no others", "[reclaim][waiting]") {
    const support::rescue ends{"a request that waits for ever"};
    account root{name{"root"}, limit{1000}};
    account hog{root, name{"hog"}}, big{root, name{"big"}}, small{root, name{"small"}};
    REQUIRE(hog.try_charge(1000));
    {
        first_one due{big, 900};
        until_it_waits(root);
        hog.refund(500);
        make_due(small);
        CHECK(root.stats().passed == 16);
        CHECK(root.used() == 1000); // what is free is kept for it
        CHECK(hog.used() == 500);
        const allot::charge_status behind = small.charge_for(1, 2_ms);
        CHECK(behind.outcome == charge_outcome::held_back);
        CHECK(behind.at == &root);
        CHECK(small.try_charge(100));
        CHECK(small.charge(1)); // a thread without a task never waits
        CHECK(small.force_charge(1).fitted());
        CHECK(root.stats().passed == 18);
        small.refund(102);
        hog.refund(500);
        CHECK(due.gets_it());
        CHECK(root.stats().passed == 0);
    }
    big.refund(900);
    CHECK(root.used() == 0);
    CHECK(root.verify());
}

TEST_CASE("a level below the one that is due is held back, one beside it is not", "[reclaim][waiting]") {
    const support::rescue ends{"a request that waits for ever"};
    account engine{name{"engine"}, limit{10'000}};
    account query{engine, name{"query"}, limit{1000}}, other{engine, name{"other"}, limit{1000}};
    account hog{query, name{"hog"}}, big{query, name{"big"}}, small{query, name{"small"}};
    account reserves{query, name{"reserves"}};
    const auto floor = reserves.reserve_floor_for(100, 0_ms);
    REQUIRE(hog.try_charge(400));
    {
        first_one due{big, 900};
        until_it_waits(query);
        make_due(small);
        CHECK(small.charge_for(1, 1_ms).outcome == charge_outcome::held_back);
        CHECK(other.charge_for(1000, 1_ms));
        CHECK(reserves.charge_for(100, 1_ms)); // is reserved: it takes nothing of `query`
        CHECK(reserves.charge_for(1, 1_ms).outcome == charge_outcome::held_back);
    }
    CHECK(small.charge_for(1, 1_ms));
    small.refund(1), hog.refund(400), other.refund(1000), reserves.refund(100);
}

TEST_CASE("a task that has what the due one waits for passes at once", "[reclaim][waiting][oom]") {
    const support::rescue ends{"two tasks that wait for each other"};
    allot::oom::arbiter tasks;
    account root{name{"root"}, limit{100}, tasks};
    account mine{root, name{"mine"}}, big{root, name{"big"}};
    allot::oom::task query{tasks, "query", 0, &mine}, large{tasks, "large", 1, &big};
    allot::oom::task_thread here{query};
    REQUIRE(mine.charge(50));
    std::thread waits{[&] {
        allot::oom::task_thread there{large};
        allot::oom::with_retry_no_split([&] { big.charge(60); });
    }};
    until_it_waits(root);
    for (int i = 0; i != 40; ++i) CHECK(mine.charge(1)); // without `mine`'s bytes `big` cannot go on
    CHECK(root.stats().waiting == 1);
    mine.refund(90);
    waits.join();
    CHECK(large.stats().rollbacks == 0);
    CHECK(query.stats().waits == 0);
    big.refund(60);
}

TEST_CASE("a task without memory goes behind the one that is due", "[reclaim][waiting][oom]") {
    const support::rescue ends{"a request that waits for ever"};
    allot::oom::arbiter tasks;
    account root{name{"root"}, limit{100}, tasks};
    account hog{root, name{"hog"}}, mine{root, name{"mine"}}, big{root, name{"big"}};
    allot::oom::task query{tasks, "query", 0, &mine}, large{tasks, "large", 1, &big}, runs{tasks, "runs", 0, &hog};
    allot::oom::task_thread here{query};
    REQUIRE(hog.try_charge(50));
    const running goes_on{runs};
    std::thread waits{[&] {
        allot::oom::task_thread there{large};
        allot::oom::with_retry_no_split([&] { big.charge(90); });
    }};
    until_it_waits(root);
    for (int i = 0; i != 16; ++i) {
        REQUIRE(mine.charge(1));
        mine.refund(1);
    }
    std::thread frees{[&] {
        until_it_waits(root, 2);
        hog.refund(50);
        waits.join();
        big.refund(90);
    }};
    CHECK(mine.charge(20)); // behind `big`
    frees.join();
    CHECK(query.stats().waits == 1);
    mine.refund(20);
}

TEST_CASE("one that is due and gives up lets those behind it go", "[reclaim][waiting][oom]") {
    const support::rescue ends{"a request behind one that has given up"};
    allot::oom::arbiter tasks;
    account root{name{"root"}, limit{100}, tasks};
    account hog{root, name{"hog"}}, mine{root, name{"mine"}}, big{root, name{"big"}};
    allot::oom::task query{tasks, "query", 0, &mine}, runs{tasks, "runs", 0, &hog};
    REQUIRE(hog.try_charge(50));
    const running goes_on{runs};
    {
        first_one due{big, 90};
        until_it_waits(root);
        make_due(mine);
        std::thread gives_up{[&] {
            until_it_waits(root, 2);
            due.stop.cancel();
        }};
        allot::oom::task_thread here{query};
        CHECK(mine.charge(20));
        gives_up.join();
    }
    mine.refund(20), hog.refund(50);
}

TEST_CASE("where no task can go on, one that is held back passes, and nobody is rolled back",
          "[reclaim][waiting][oom]") {
    const support::rescue ends{"tasks that wait for each other"};
    allot::oom::arbiter tasks;
    account root{name{"root"}, limit{100}, tasks};
    account hog{root, name{"hog"}}, mine{root, name{"mine"}}, big{root, name{"big"}};
    allot::oom::task query{tasks, "query", 0, &mine}, large{tasks, "large", 1, &big}, waits{tasks, "waits", 0, &hog};
    REQUIRE(hog.try_charge(50));
    std::atomic<bool> began{false}, due{false}, done{false};
    std::thread awaits_query{[&] {
        allot::oom::task_thread there{waits};
        began = true;
        while (!due) std::this_thread::yield();
        {
            allot::oom::scoped_wait w{query};
            while (!done) std::this_thread::yield();
        }
        hog.refund(50); // for `large`
    }};
    while (!began) std::this_thread::yield();
    std::thread is_due{[&] {
        allot::oom::task_thread there{large};
        allot::oom::with_retry_no_split([&] { big.charge(90); });
        big.refund(90);
    }};
    until_it_waits(root);
    {
        allot::oom::task_thread here{query};
        for (int i = 0; i != 16; ++i) {
            REQUIRE(mine.charge(1));
            mine.refund(1);
        }
        due = true;
        CHECK(mine.charge(20)); // `query` for `large`, `large` for `waits`, `waits` for `query`
        mine.refund(20);
        done = true;
        awaits_query.join();
        is_due.join();
    }
    CHECK(tasks.stats().rollbacks == 0);
    CHECK(tasks.stats().refused == 0);
}

TEST_CASE("a thread that no arbiter knows passes after a time: it may have what the due one waits for",
          "[reclaim][waiting]") {
    const support::rescue ends{"two requests that wait for each other"};
    account root{name{"root"}, limit{100}};
    account mine{root, name{"mine"}}, big{root, name{"big"}};
    REQUIRE(mine.try_charge(50));
    first_one due{big, 90};
    until_it_waits(root);
    for (int i = 0; i != 16; ++i) REQUIRE(mine.charge_for(1, allot::forever));
    CHECK(mine.charge_for(1, allot::forever));
    mine.refund(67);
    CHECK(due.gets_it());
    big.refund(90);
}

TEST_CASE("of two that are due the one at the higher level goes first", "[reclaim][waiting]") {
    const support::rescue ends{"two requests that are due, and wait for each other"};
    account engine{name{"engine"}, limit{1000}};
    account query{engine, name{"query"}, limit{500}}, hog{query, name{"hog"}}, other{engine, name{"other"}};
    account a{query, name{"a"}}, b{query, name{"b"}};
    REQUIRE(hog.try_charge(300));
    REQUIRE(other.try_charge(500));
    first_one lower{a, 400};
    until_it_waits(query);
    for (int i = 0; i != 16; ++i) REQUIRE(b.charge_for(1, allot::forever)); // `lower` is due
    b.refund(16);
    first_one upper{other, 450}; // 1000 are too few beside 800
    until_it_waits(engine, 2);
    for (int i = 0; i != 16; ++i) REQUIRE(other.charge_for(1, allot::forever)); // `upper` is due
    other.refund(16);
    hog.refund(300);
    other.refund(50);
    CHECK(upper.gets_it());
    other.refund(450);
    CHECK(lower.gets_it());
    a.refund(400), other.refund(450);
    CHECK(engine.used() == 0);
}

TEST_CASE("a patient request keeps nobody's credit, and holds back patient ones alone", "[reclaim][waiting]") {
    const support::rescue ends{"a patient request that waits for ever"};
    account root{name{"root"}, limit{1000}};
    account hog{root, name{"hog"}}, later{root, name{"later"}}, leaf{root, name{"leaf"}, allot::credit_step{64}};
    REQUIRE(hog.try_charge(800));
    std::atomic<bool> granted{false};
    std::thread waits{[&] { granted = later.charge_for(500, patient(allot::forever)).charged(); }};
    until_it_waits(root);
    for (int i = 0; i != 40; ++i) {
        REQUIRE(leaf.charge_for(1, allot::forever));
        REQUIRE(hog.charge_for(1, allot::forever));
    }
    CHECK(leaf.stats().credit == 24);
    for (int i = 0; i != 16; ++i) REQUIRE(hog.charge_for(1, patient(allot::forever)));
    CHECK(hog.charge_for(1, patient(1_ms)).outcome == charge_outcome::held_back);
    CHECK(hog.charge_for(1, 1_ms));
    hog.refund(hog.used());
    leaf.refund(40); // into its credit, which wakes nobody
    waits.join();
    CHECK(granted);
    later.refund(500);
}

TEST_CASE("a patient request gets what is hidden in credit", "[reclaim][waiting]") {
    const support::rescue ends{"a patient request that nobody wakes"};
    account root{name{"root"}, limit{1000}};
    account leaf{root, name{"leaf"}, allot::credit_step{100}}, later{root, name{"later"}};
    REQUIRE(leaf.try_charge(100));
    std::thread waits{[&] { CHECK_ON_THREAD(later.charge_for(1000, patient(allot::forever))); }};
    until_it_waits(root);
    REQUIRE(leaf.try_charge(1)); // 100 more are granted
    leaf.refund(101);
    waits.join();
    CHECK(leaf.stats().credit == 0);
    later.refund(1000);
}

TEST_CASE("requests for rows, blocks and buffers go behind one that is due", "[reclaim][waiting]") {
    const support::rescue ends{"a request that waits for ever"};
    struct rows_set : allot::policies<allot::ledger::tree, allot::oom::null> {};
    account root{name{"root"}, limit{32_MiB}};
    account hog{root, name{"hog"}}, big{root, name{"big"}}, small{root, name{"small"}};
    allot::row_manager<rows_set> rows{root, name{"rows"}};
    allot::chunk_arena<rows_set> blocks{root, name{"blocks"}};
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    REQUIRE(hog.try_charge(16_MiB));
    first_one due{big, 30_MiB};
    until_it_waits(root);
    make_due(small);
    allot::charge_status why;
    CHECK(rows.allocate_for(1_MiB, 1_ms, allot::untyped, &why) == nullptr);
    CHECK(why.outcome == charge_outcome::held_back);
    CHECK(!blocks.allocate_for(1_MiB, 1_ms, 8, &why));
    CHECK(why.outcome == charge_outcome::held_back);
    CHECK(!memory.allocate_for(small, 1_MiB, 1_ms, &why));
    CHECK(why.outcome == charge_outcome::held_back);
    void* const row = rows.try_allocate(1_MiB);
    CHECK(row != nullptr);
    CHECK(memory.try_allocate(small, 1_MiB));
    rows.release(row);
    hog.refund(16_MiB);
    CHECK(due.gets_it());
    big.refund(30_MiB);
}

namespace {

struct waiting_rows : allot::policies<allot::ledger::tree, allot::oom::null> {};

// Rows whose pages each have a live one, and free slots: no page is empty.
struct pinned_pages {
    explicit pinned_pages(account& above) : rows{above, name{"rows"}} {
        for (int i = 0; i != 5'000; ++i) all.push_back(rows.allocate(2'000));
        for (std::size_t i = 0; i != all.size(); ++i)
            if (i % 20 != 0) rows.release(all[i]);
    }
    ~pinned_pages() {
        for (std::size_t i = 0; i < all.size(); i += 20) rows.release(all[i]);
        for (void* const row : more) rows.release(row);
    }
    charge_outcome take(void* row, const allot::charge_status& why) {
        if (row != nullptr) more.push_back(row);
        return row != nullptr ? charge_outcome::fits : why.outcome;
    }
    charge_outcome take_for() {
        allot::charge_status why;
        void* const row = rows.allocate_for(2'000, 1_ms, allot::untyped, &why);
        return take(row, why);
    }
    allot::row_manager<waiting_rows> rows;
    std::vector<void*> all, more;
};

} // namespace

TEST_CASE("free slots and unused pages of an object go behind one that is due", "[reclaim][waiting]") {
    const support::rescue ends{"a request that waits for ever"};
    account root{name{"root"}, limit{64_MiB}};
    account hog{root, name{"hog"}}, big{root, name{"big"}};
    pinned_pages pinned{root};
    allot::chunk_arena<waiting_rows> blocks{root, name{"blocks"}};
    const auto some = blocks.allocate(3'000); // its chunk has room for more
    const std::size_t used = root.used();
    REQUIRE(hog.try_charge(32_MiB));
    first_one due{big, 62_MiB - used};
    until_it_waits(root);
    for (int i = 0; i != 16; ++i) CHECK(pinned.take_for() == charge_outcome::fits); // they pass it
    CHECK(root.stats().passed == 16);
    CHECK(pinned.take_for() == charge_outcome::held_back);
    allot::charge_status why;
    CHECK(!blocks.allocate_for(3'000, 1_ms, 8, &why));
    CHECK(why.outcome == charge_outcome::held_back);
    CHECK(pinned.take(pinned.rows.try_allocate(2'000), {}) == charge_outcome::fits);
    const auto block = blocks.try_allocate(3'000);
    CHECK(block);
    blocks.deallocate(block), blocks.deallocate(some);
    hog.refund(32_MiB);
    CHECK(due.gets_it());
    CHECK(pinned.take_for() == charge_outcome::fits);
    big.refund(62_MiB - used);
}

TEST_CASE("a task whose objects use nothing does not pass for what they keep", "[reclaim][waiting][oom]") {
    const support::rescue ends{"a request that waits for ever"};
    struct waits : allot::policies<allot::ledger::tree, allot::oom::state_machine> {};
    for (const std::size_t bytes : {std::size_t{2'000}, std::size_t{900'000}}) {
        allot::oom::arbiter tasks;
        account root{name{"root"}, limit{64_MiB}, tasks};
        account hog{root, name{"hog"}}, big{root, name{"big"}}, small{root, name{"small"}};
        allot::row_manager<waits> rows{root, name{"rows"}};
        allot::oom::task worker{tasks, "worker", 0, &rows.account()}, other{tasks, "other"};
        running goes_on{other};
        REQUIRE(hog.try_charge(16_MiB));
        std::thread big_one{[&] { big.charge_for(60_MiB, allot::forever); }};
        until_it_waits(root);
        std::thread works{[&] {
            allot::oom::task_thread here{worker};
            std::vector<void*> all;
            for (std::size_t n = 0; n < 24_MiB; n += bytes) all.push_back(rows.try_allocate(bytes));
            make_due(small);
            for (void* const row : all) rows.release(row);
            rows.release(rows.allocate(bytes)); // behind the one that is due
            CHECK_ON_THREAD(big.peak() == 60_MiB);
        }};
        until_it_waits(root, 2);
        CHECK(big.peak() == 0);
        hog.refund(16_MiB);
        big_one.join();
        big.refund(60_MiB);
        works.join();
    }
}

TEST_CASE("one that only looks holds nobody up: it is passed by nobody, and rows take no slower way for it",
          "[reclaim]") {
    account root{name{"root"}, limit{1000}};
    account hog{root, name{"hog"}}, small{root, name{"small"}};
    REQUIRE(hog.try_charge(500));
    allot::detail::sys::parking spot;
    const allot::detail::memory_look look{root, 900, spot};
    const allot::detail::account_tree& tree = root.node().tree();
    REQUIRE(tree.has_waiters());
    for (int i = 0; i != 40; ++i) REQUIRE(small.charge_for(1, allot::forever));
    CHECK((tree.strain == 0 && !tree.may_have_due() && root.stats().passed == 0));
    small.refund(40), hog.refund(500);
    CHECK(!tree.has_waiters()); // it was signalled
}
