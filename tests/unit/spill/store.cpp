// A store: what leaves first, what is written, and what a pin, an end or a failure during a write does.
#include <support/catch.hpp>
#include <support/hooked_home.hpp>
#include <support/stored_bytes.hpp>
#include <support/tasks.hpp>

#include <allot/spill/stored_buffer.hpp>
#include <allot/tree/account_listener.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;
using allot::spill::entry_state;
using handle = allot::stored<allot::buffer>;
using support::charged;
using support::holds;

namespace {

struct fixture {
    support::rescue ends{"a store that waits for ever"};
    allot::oom::arbiter tasks;
    account engine{name{"engine"}, limit{64_KiB}, tasks}, disk{name{"disk"}};
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    support::hooked_home home{disk};
    allot::store inputs{engine, home, name{"inputs"}};

    ~fixture() {
        CHECK(engine.used() == 0);
        CHECK(disk.used() == 0);
        CHECK(home.records == 0);
        CHECK((inputs.stats().entries == 0 && inputs.stats().in_memory == 0 && inputs.stats().free_to_leave == 0));
    }
    handle put(std::size_t bytes, int with = 1) { return put(engine, bytes, with); }
    handle put(account& by, std::size_t bytes, int with = 1) {
        allot::buffer b = memory.allocate(by, bytes);
        if (bytes != 0) std::memset(b.data(), with, bytes);
        return inputs.put(std::move(b));
    }
};
std::string away(std::initializer_list<const handle*> all) {
    std::string s;
    for (const handle* h : all) s += h->is_away() ? 'a' : 'h';
    return s;
}

} // namespace

TEST_CASE("an object that has not changed is written once", "[spill]") {
    fixture f;
    handle h = f.put(16_KiB, 7);
    for (int i = 0; i != 3; ++i) {
        CHECK(h.spill());
        CHECK(holds(h, 7));
        CHECK(h.state() == entry_state::both);
    }
    CHECK((f.home.writes == 1 && f.home.reads == 3 && f.disk.used() == 16_KiB));
    const allot::store_stats s = f.inputs.stats();
    CHECK((f.engine.stats().spilled == 48_KiB && f.disk.stats().spilled == 0));
    CHECK((s.left == 3 && s.bytes_left == 48_KiB && s.written == 1 && s.bytes_written == 16_KiB && s.read == 3));
    const allot::home_traffic t = f.home.traffic();
    CHECK((t.bytes_written == 16_KiB && t.bytes_read == 48_KiB && t.write_ns != 0 && t.read_ns != 0));
    std::memset(h.pin_to_change()->data(), 8, 16_KiB);
    CHECK((h.state() == entry_state::here && f.disk.used() == 0 && f.home.drops == 1));
    CHECK(h.spill());
    CHECK(holds(h, 8));
    CHECK((f.home.writes == 2 && f.home.records == 1)); // its room served again
}

TEST_CASE("what is at home leaves first, then what was used least recently", "[spill]") {
    fixture f;
    handle a = f.put(8_KiB), b = f.put(8_KiB), c = f.put(8_KiB), d = f.put(8_KiB);
    CHECK(c.spill());
    static_cast<void>(c.pin()); // the last used, and at home
    static_cast<void>(a.pin());
    const auto free = [&](std::size_t bytes) { return f.inputs.spill(bytes); };
    CHECK(free(1) == 8_KiB);
    CHECK(away({&a, &b, &c, &d}) == "hhah");
    CHECK(free(8_KiB) == 8_KiB);
    CHECK(away({&a, &b, &c, &d}) == "haah");
    CHECK(free(9_KiB) == 16_KiB); // both that are left
    CHECK(free(1) == 0);
    CHECK(f.home.writes == 4);
}

TEST_CASE("what is marked for later leaves behind the rest, and the last that was marked first", "[spill]") {
    fixture f;
    handle a = f.put(8_KiB), b = f.put(8_KiB), c = f.put(8_KiB), d = f.put(8_KiB);
    for (const handle* h : {&a, &b, &c}) h->mark_for_later();
    const auto free = [&] { return f.inputs.spill(1), away({&a, &b, &c, &d}); };
    CHECK((free() == "hhha" && free() == "hhaa" && free() == "haaa"));
    CHECK((holds(a, 1) && holds(d, 1))); // used: no longer marked, and clean
    b.mark_for_later();
    CHECK((holds(c, 1) && f.inputs.spill(SIZE_MAX) == 24_KiB && away({&a, &b, &c, &d}) == "aaaa"));
    {
        const auto pin = c.pin();
        c.mark_for_later(); // it counts when the pin has ended
    }
    CHECK((holds(b, 1) && free() == "aaha" && free() == "aaaa"));
    handle{}.mark_for_later();
}

TEST_CASE("of the oldest, the smallest that is large enough alone leaves", "[spill]") {
    fixture f;
    handle a = f.put(4_KiB), b = f.put(16_KiB), c = f.put(8_KiB), d = f.put(8_KiB);
    CHECK(f.inputs.spill(6_KiB) == 8_KiB);
    CHECK(away({&a, &b, &c, &d}) == "hhah");
    CHECK(f.inputs.spill(20_KiB) == 20_KiB); // none is: the oldest one, then what is missing then
    CHECK(away({&a, &b, &c, &d}) == "aaah");
}

TEST_CASE("the last task's objects leave first, those of no task before them, the requester's own last", "[spill]") {
    fixture f;
    allot::oom::task first{f.tasks, "first", 5}, second{f.tasks, "second", 1}, third{f.tasks, "third", 1};
    std::optional<handle> of_first, of_second, of_third, of_none{f.put(8_KiB)};
    const auto puts = [&](allot::oom::task& t, std::optional<handle>& to) {
        const allot::oom::task_thread here{t};
        to.emplace(f.put(8_KiB));
    };
    puts(second, of_second), puts(first, of_first), puts(third, of_third);
    const auto all = [&] { return away({&*of_first, &*of_second, &*of_third, &*of_none}); };
    const allot::oom::task_thread here{third};
    const charged a{f.engine, 40_KiB};
    CHECK(all() == "hhha");
    const charged b{f.engine, 8_KiB};
    CHECK(all() == "haha"); // not the third's, which asks
    const charged c{f.engine, 8_KiB};
    CHECK(all() == "aaha");
    const charged d{f.engine, 8_KiB};
    CHECK(all() == "aaaa");
}

TEST_CASE("a query at its own limit has its own objects leave, though the store is the engine's", "[spill]") {
    fixture f;
    account query{f.engine, name{"query"}, limit{20_KiB}}, other{f.engine, name{"other"}};
    handle its = f.put(query, 16_KiB), others = f.put(other, 16_KiB);
    {
        const charged more{query, 16_KiB};
        CHECK(away({&its, &others}) == "ah");
    }
    CHECK_THROWS_AS(query.charge(21_KiB), allot::out_of_memory);
    CHECK_FALSE(others.is_away());
    CHECK(query.peak() <= 20_KiB);
    std::size_t seen = 0;
    query.visit_reclaimers([&](const allot::reclaimer& r) { seen += r.cost() != 0 ? r.reclaimable(query) : 0; });
    CHECK(seen == 0);
    CHECK(holds(its, 1));
    query.visit_reclaimers([&](const allot::reclaimer& r) { seen += r.cost() != 0 ? r.reclaimable(query) : 0; });
    CHECK(seen == 16_KiB);
}

TEST_CASE("a write that fails loses nothing, and other objects leave", "[spill]") {
    fixture f;
    handle a = f.put(16_KiB, 1), b = f.put(16_KiB, 2);
    f.home.in_write = [&] { return f.home.in_write = nullptr, false; };
    {
        const charged more{f.engine, 40_KiB};
        CHECK(away({&a, &b}) == "ha");
    }
    const allot::store_stats s = f.inputs.stats();
    CHECK((s.failures == 1 && s.last_failure.error == EIO && std::string(s.last_failure.call) == "write"));
    CHECK((holds(a, 1) && holds(b, 2)));
    f.home.in_write = [] { return false; };
    CHECK(b.spill()); // it is at home still
    allot::home_status why;
    CHECK_FALSE(a.spill(&why));
    CHECK((why.how == allot::home_status::outcome::failed && why.error == EIO));
    CHECK_THROWS_AS(f.engine.charge(64_KiB), allot::out_of_memory);
    CHECK_THROWS_AS(a.halves(), allot::spill_error);
    CHECK(holds(a, 1));
}

TEST_CASE("a home that is full refuses: small objects leave, the others stay, and the request is refused", "[spill]") {
    fixture f;
    f.disk.set_limit(6_KiB);
    handle a = f.put(16_KiB, 1), b = f.put(4_KiB, 2), c = f.put(16_KiB, 3);
    CHECK_THROWS_AS(f.engine.charge(64_KiB), allot::out_of_memory);
    CHECK(away({&a, &b, &c}) == "hah");
    CHECK((holds(a, 1) && holds(b, 2) && holds(c, 3)));
    try {
        f.engine.charge(60_KiB);
        FAIL("charged");
    } catch (const allot::out_of_memory& e) {
        CHECK_THAT(e.report(), ContainsSubstring("inputs, cost 10"));
        CHECK_THAT(e.report(), ContainsSubstring("written to disk"));
        CHECK_THAT(e.report(), ContainsSubstring("refused: over the limit: account disk"));
    }
    f.disk.set_limit(SIZE_MAX);
}

TEST_CASE("a read that fails says why, and may succeed later", "[spill]") {
    fixture f;
    handle a = f.put(16_KiB, 7);
    CHECK(a.spill());
    f.home.in_read = [] { return false; };
    try {
        static_cast<void>(a.pin());
        FAIL("read");
    } catch (const allot::spill_error& e) {
        CHECK_THAT(e.what(), ContainsSubstring("inputs: failed: read hooked"));
        CHECK(e.status().error == EIO);
    }
    allot::home_status why;
    CHECK_FALSE(a.try_pin(&why));
    CHECK((why.error == EIO && a.is_away() && f.engine.used() == 0));
    CHECK_THROWS_AS(std::move(a).take(), allot::spill_error);
    f.home.in_read = nullptr;
    CHECK(holds(a, 7));
    CHECK(f.inputs.stats().failures == 3);
}

TEST_CASE("a pin during a write keeps the object in memory, and what was written", "[spill]") {
    fixture f;
    handle a = f.put(16_KiB, 7);
    std::optional<handle::pinned> pin;
    f.home.in_write = [&] {
        std::thread{[&] { pin.emplace(a.pin()); }}.join();
        CHECK(a.state() == entry_state::leaving);
        return true;
    };
    CHECK_FALSE(a.spill());
    CHECK((a.state() == entry_state::both && f.engine.used() == 16_KiB && f.disk.used() == 16_KiB));
    pin.reset();
    CHECK(a.spill());
    CHECK((f.home.writes == 1 && f.engine.used() == 0));
    CHECK(holds(a, 7));
}

TEST_CASE("a pin to change waits for the write, and drops what was written", "[spill]") {
    for (const bool fails : {false, true}) {
        fixture f;
        handle a = f.put(16_KiB, 7);
        std::jthread changes;
        f.home.in_write = [&] {
            f.home.in_write = nullptr;
            std::atomic<bool> begun{false};
            changes = std::jthread([&] {
                begun = true;
                std::memset(a.pin_to_change()->data(), 8, 16_KiB);
            });
            support::until([&] { return begun.load(); });
            std::this_thread::sleep_for(std::chrono::milliseconds(20)); // it waits by now
            CHECK(a.state() == entry_state::leaving);
            return !fails;
        };
        static_cast<void>(a.spill());
        changes.join();
        CHECK((a.state() == entry_state::here && f.disk.used() == 0 && f.engine.used() == 16_KiB));
        CHECK(a.spill());
        CHECK(holds(a, 8));
    }
}

TEST_CASE("the end of an object waits for its write, and is not lost inside of it", "[spill]") {
    for (const bool inside : {false, true}) {
        fixture f;
        std::optional<handle> a{f.put(16_KiB)};
        std::jthread ends;
        f.home.in_write = [&] {
            if (inside) a.reset();
            else ends = std::jthread([&] { a.reset(); });
            return true;
        };
        static_cast<void>(f.inputs.spill(1));
        if (ends.joinable()) ends.join();
        CHECK((f.engine.used() == 0 && f.disk.used() == 0));
    }
}

TEST_CASE("the end of an object that has left waits until its memory is free: its account may end then", "[spill]") {
    struct slow final : allot::account_listener {
        void released(const account&, std::size_t) noexcept override {
            begun = true;
            std::this_thread::sleep_for(std::chrono::milliseconds(30)); // what must wait would go on meanwhile
            done = true;
        }
        std::atomic<bool> begun{false}, done{false};
    };
    for (const bool pins : {false, true}) {
        fixture f;
        account query{f.engine, name{"query"}};
        std::optional<handle> a{f.put(query, 16_KiB, 7)};
        slow listener;
        query.add(listener);
        std::jthread frees{[&] { f.inputs.spill(1); }};
        support::until([&] { return listener.begun.load(); });
        if (pins) CHECK(holds(*a, 7));
        else a.reset();
        CHECK(listener.done);
        query.remove(listener);
        a.reset();
        frees.join();
    }
}

TEST_CASE("one consumer takes the object, to its account", "[spill]") {
    fixture f;
    account mine{f.engine, name{"mine"}};
    handle here = f.put(16_KiB, 1), gone = f.put(16_KiB, 2), both = f.put(16_KiB, 3);
    CHECK((gone.spill() && both.spill()));
    static_cast<void>(both.pin());
    for (handle* h : {&here, &gone, &both}) {
        const std::byte with{static_cast<unsigned char>(h == &here ? 1 : h == &gone ? 2 : 3)};
        const allot::buffer b = std::move(*h).take(mine);
        CHECK((!*h && h->bytes() == 0));
        CHECK((b.charged() == &mine && b.size() == 16_KiB && b.data()[16_KiB - 1] == with));
        CHECK((mine.used() == 16_KiB));
    }
    CHECK(f.disk.used() == 0);
    handle pinned = f.put(4_KiB, 4);
    if (ALLOT_CHECKED == 0) { // reported there, by abort
        const auto pin = pinned.pin();
        CHECK_THROWS_AS(std::move(pinned).take(mine), allot::out_of_memory);
        CHECK(pinned);
    }
    account small{f.engine, name{"small"}, limit{1_KiB}};
    CHECK_THROWS_AS(std::move(pinned).take(small), allot::out_of_memory);
    CHECK((holds(pinned, 4) && small.used() == 0));
    CHECK(pinned.spill());
    CHECK_THROWS_AS(std::move(pinned).take(small), allot::out_of_memory);
    CHECK(holds(pinned, 4));
}

TEST_CASE("an empty buffer never leaves; an empty handle has nothing", "[spill]") {
    fixture f;
    handle none = f.put(0);
    CHECK((none && none.bytes() == 0 && !none.spill() && none.halves().empty()));
    CHECK(none.pin()->empty());
    CHECK_THROWS_AS(f.engine.charge(65_KiB), allot::out_of_memory);
    CHECK_FALSE(none.is_away());
    CHECK(std::move(none).take().empty());
    handle empty;
    CHECK((!empty && empty.bytes() == 0 && !empty.is_away() && !empty.spill() && empty.halves().empty()));
    CHECK(empty.state() == entry_state::here);
}

TEST_CASE("without memory for an entry, the object is still the caller's", "[spill]") {
    fixture f;
    allot::buffer b = f.memory.allocate(f.engine, 4_KiB);
    f.home.has_no_room = true;
    CHECK_THROWS_AS(f.inputs.put(std::move(b)), allot::out_of_memory);
    CHECK((b.size() == 4_KiB && f.engine.used() == 4_KiB && f.inputs.stats().entries == 0));
    f.home.has_no_room = false;
    handle h = f.inputs.put(std::move(b));
    CHECK(h.spill());
    f.home.has_no_room = true;
    {
        const std::vector<handle> parts = h.halves();
        CHECK(parts.size() == 2);
        static_cast<void>(h.pin_to_change()); // what is kept is shared: it has no room now
    }
    allot::home_status why;
    CHECK_FALSE(h.spill(&why));
    CHECK(why.how == allot::home_status::outcome::refused);
    f.home.has_no_room = false;
    CHECK(h.spill());
}

TEST_CASE("a pin waits for memory until it has some, its time is over, or it is cancelled", "[spill]") {
    fixture f;
    handle a = f.put(32_KiB, 1);
    CHECK(a.spill());
    f.engine.charge(40_KiB);
    allot::home_status why;
    CHECK((!a.pin_for(0_ms, &why) && why.why.outcome == allot::charge_outcome::over_limit));
    CHECK((!a.pin_for(5_ms, &why) && why.why.outcome == allot::charge_outcome::over_limit &&
           why.why.requested >= 32_KiB));
    allot::cancellation stop;
    {
        const std::jthread ends([&] {
            support::until([&] { return f.engine.stats().waiting == 1; });
            stop.cancel();
        });
        CHECK((!a.pin_for({allot::forever, stop}, &why) && why.why.outcome == allot::charge_outcome::cancelled));
    }
    CHECK((!a.pin_for({allot::forever, stop}, &why) && why.why.outcome == allot::charge_outcome::cancelled &&
           a.is_away()));
    {
        const std::jthread frees([&] {
            support::until([&] { return f.engine.stats().waiting == 1; });
            f.engine.refund(40_KiB);
        });
        const auto data = a.pin_for(allot::forever, &why);
        CHECK((data && why && data->bytes()[0] == std::byte{1}));
    }
    CHECK((a.pin_for(0_ms, &why) && why));
    CHECK(a.spill());
    {
        const handle b = f.put(40_KiB, 2);
        CHECK((!a.try_pin(&why) && why.why.outcome == allot::charge_outcome::over_limit && !b.is_away()));
        CHECK((a.pin_for(0_ms) && b.is_away()));
    }
    f.home.in_read = [] { return false; };
    CHECK(a.spill());
    CHECK((!a.pin_for(allot::forever, &why) && why.how == allot::home_status::outcome::failed));
    f.home.in_read = nullptr;
    CHECK((!handle{}.pin_for(0_ms, &why) && why.why.outcome == allot::charge_outcome::misused));
    CHECK((!handle{}.spill(&why) && why.why.outcome == allot::charge_outcome::misused));
    CHECK((!a.spill(&why) && why)); // away: nothing was to be done
}

TEST_CASE("a pin that waits for memory ends where another thread has brought the object back", "[spill]") {
    fixture f;
    handle a = f.put(32_KiB, 1);
    CHECK(a.spill());
    f.engine.charge(40_KiB);
    std::atomic<int> pinned{0};
    allot::cancellation stop;
    std::vector<std::jthread> threads;
    for (int i = 0; i != 4; ++i)
        threads.emplace_back([&] {
            const auto data = a.pin_for({allot::forever, stop});
            if (data && data->bytes()[0] == std::byte{1}) ++pinned;
            support::until([&] { return pinned == 4; }); // so none of them frees memory for another
        });
    support::until([&] { return f.engine.stats().waiting == 4; });
    f.engine.refund(8_KiB); // for one of them
    threads.clear();
    f.engine.refund(32_KiB);
    CHECK((pinned == 4 && f.engine.peak() == 64_KiB && f.inputs.stats().read == 1));
}

TEST_CASE("a write stops no other request: what is on its way is waited for, or freed elsewhere", "[spill]") {
    fixture f;
    handle a = f.put(32_KiB, 1), b = f.put(16_KiB, 2);
    std::jthread waits, tries;
    std::optional<bool> tried;
    f.home.in_write = [&] {
        f.home.in_write = nullptr;
        tries = std::jthread([&] { // it does not wait: another object leaves for it
            tried = f.engine.try_charge(24_KiB).charged();
            f.engine.refund(24_KiB);
        });
        tries.join();
        waits = std::jthread([&] {
            CHECK_ON_THREAD(f.engine.charge_for(60_KiB, allot::forever)); // what is written now is coming
            f.engine.refund(60_KiB);
        });
        support::until([&] { return f.engine.stats().waiting == 1; });
        return true;
    };
    const std::size_t before = f.home.writes;
    if (f.engine.try_charge(20_KiB)) f.engine.refund(20_KiB); // the one that waits may have been first
    waits.join();
    CHECK(tried == true);
    CHECK((f.home.writes - before == 2 && holds(a, 1) && holds(b, 2)));
}

TEST_CASE("a request that does not wait for memory is not refused beside a write that is under way", "[spill]") {
    fixture f;
    handle a = f.put(48_KiB, 1);
    std::jthread tries;
    std::atomic<bool> begun{false};
    std::optional<bool> tried;
    f.home.in_write = [&] {
        f.home.in_write = nullptr;
        tries = std::jthread([&] {
            begun = true;
            tried = f.engine.try_charge(40_KiB).charged(); // nothing else could leave
        });
        support::until([&] { return begun.load(); });
        std::this_thread::sleep_for(std::chrono::milliseconds(20)); // it waits by now
        return true;
    };
    CHECK(f.engine.try_charge(20_KiB));
    tries.join();
    CHECK(tried == true);
    f.engine.refund(60_KiB);
    CHECK(holds(a, 1));
}

TEST_CASE("an object may have another size when it was changed", "[spill]") {
    fixture f;
    handle a = f.put(4_KiB, 1);
    CHECK(a.spill());
    CHECK(a.pin_to_change()->reallocate_if_needed(40_KiB));
    CHECK((a.bytes() == 40_KiB && f.inputs.stats().in_memory == 40_KiB && f.disk.used() == 0));
    std::memset(a.pin_to_change()->data(), 2, 40_KiB);
    CHECK(a.spill());
    CHECK(holds(a, 2));
    *a.pin_to_change() = f.memory.allocate(f.engine, 100);
    CHECK((a.bytes() == 100 && f.inputs.stats().in_memory == f.engine.used()));
    a.pin_to_change()->release();
    CHECK((a.bytes() == 0 && !a.spill() && f.engine.used() == 0 && f.inputs.stats().in_memory == 0));
    *a.pin_to_change() = f.memory.allocate(f.engine, 4_KiB);
    CHECK(a.spill());
}

TEST_CASE("an object that others have views of stays, and is not asked again and again", "[spill]") {
    if (ALLOT_CHECKED != 0) return; // reported there, by abort
    fixture f;
    handle a = f.put(16_KiB, 1), b = f.put(16_KiB, 2);
    {
        const allot::buffer view = a.pin()->slice(0, 100);
        CHECK_FALSE(a.spill());
        CHECK_THROWS_AS(f.engine.charge(64_KiB), allot::out_of_memory);
        CHECK((!a.is_away() && b.is_away()));
        CHECK(f.inputs.stats().free_to_leave == 0);
    }
    static_cast<void>(a.pin());
    CHECK(a.spill());
    CHECK(holds(a, 1));
}

TEST_CASE("the end of an object waits for no more than what leaves together", "[spill]") {
    fixture f;
    f.engine.set_limit(SIZE_MAX);
    std::vector<handle> all;
    for (int i = 0; i != 200; ++i) all.push_back(f.put(4_KiB, i));
    std::jthread ends;
    std::atomic<bool> ended{false};
    f.home.in_write = [&] {
        if (f.home.writes != 1) return true;
        ends = std::jthread([&] {
            all.pop_back(); // not among the 64 that leave now
            ended = true;
        });
        support::until([&] { return ended.load(); });
        return true;
    };
    static_cast<void>(f.inputs.spill(SIZE_MAX));
    ends.join();
    CHECK(f.home.writes == 199);
    all.clear();
    f.engine.set_limit(64_KiB);
}

TEST_CASE_METHOD(fixture, "a request that waits is granted once the home of a store has recovered, or has room",
                 "[spill][waiting]") {
    std::vector<handle> all;
    account query{engine, name{"query"}}, other{disk, name{"other"}};
    for (int i = 0; i != 16; ++i) all.push_back(put(4'096));
    const auto wait = [&](auto is_well_again) {
        std::thread waits{[&] { query.charge_for(8'192, allot::forever); }};
        support::until([&] { return engine.stats().waiting != 0; });
        is_well_again();
        waits.join(); // nobody else has memory to give
        CHECK(query.used() == 8'192);
    };
    SECTION("the disk was full, and only time says that it is not") {
        home.is_full = true;
        wait([&] { home.is_full = false; });
    }
    SECTION("the limit of the home's account is raised") {
        disk.set_limit(0);
        wait([&] { disk.set_limit(1_MiB); });
    }
    SECTION("the home's account gets room") {
        disk.set_limit(1_MiB);
        other.charge(1_MiB);
        wait([&] { other.refund(1_MiB); });
    }
    query.refund(8'192);
}
