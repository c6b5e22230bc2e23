// The list of waiters alone: which of them try, in which order. No threads, no accounts.
#include <support/catch.hpp>

#include <allot/account/wait_list.hpp>

#include <cstddef>
#include <string>

using allot::detail::wait_list;
using allot::detail::waiter;

namespace {

struct levels {
    std::size_t free = 0;
    bool fits(waiter& w, std::size_t promised) const { return w.bytes + promised <= free; }
    static bool is_below(const void* by, const void* at) { return at == nullptr || by == at; }
};

struct waiters {
    wait_list list;
    levels all;
    waiter w[3];

    // Sleep, the first for many bytes.
    waiters() {
        for (waiter& one : w) {
            one.bytes = &one == w ? 100 : 10;
            list.add(one);
            list.sleep(one);
        }
    }
    // Those that are woken, by number, the last one first; they begin to try.
    std::string wake() {
        std::string numbers;
        for (const waiter* n = list.wake(all); n != nullptr; n = n->next_woken)
            numbers += static_cast<char>('0' + (n - w));
        return numbers;
    }
    void announce(const waiter* from = nullptr) { list.announce(this, all, from); }
    std::string sleep(int n) { return list.sleep(w[n]), wake(); }
};

} // namespace

TEST_CASE("what is announced is tried for by one waiter after the other, once", "[reclaim][waiting]") {
    waiters all;
    CHECK(all.wake().empty());
    all.announce();
    CHECK(all.wake() == "0");
    CHECK(all.wake().empty());
    CHECK(all.sleep(0) == "1"); // though the first got nothing
    CHECK(all.sleep(1) == "2");
    CHECK(all.sleep(2).empty());
}

TEST_CASE("what is announced during a try is tried for behind it", "[reclaim][waiting]") {
    waiters all;
    all.announce();
    CHECK(all.wake() == "0");
    all.announce();
    CHECK(all.sleep(0) == "0");
    CHECK(all.sleep(0) == "1");
    CHECK(all.sleep(1) == "2");
    CHECK(all.sleep(2).empty());
}

TEST_CASE("one that begins to wait tries for what was announced since", "[reclaim][waiting]") {
    waiters all;
    waiter late;
    all.list.add(late);
    all.announce();
    CHECK(all.wake().empty()); // one tries
    late.bytes = 10;
    all.list.sleep(late);
    CHECK(all.wake() == "0");
    all.list.remove(all.w[0]);
    CHECK(all.wake() == "1"); // its end
}

TEST_CASE("one that fits does not wait for a try that was announced", "[reclaim][waiting]") {
    waiters all;
    all.announce();
    CHECK(all.wake() == "0");
    all.all.free = 120; // 100 of them are promised
    CHECK(all.wake() == "21");
}

TEST_CASE("what a try gives back wakes neither itself nor those that slept meanwhile", "[reclaim][waiting]") {
    waiters all;
    all.announce();
    CHECK(all.wake() == "0");
    all.announce(all.w);
    CHECK(all.sleep(0) == "1"); // by the first announcement
    all.announce(&all.w[1]);
    CHECK(all.sleep(1) == "2");
    CHECK(all.sleep(2).empty());
}

TEST_CASE("what a try gives back is tried for by one that tried meanwhile", "[reclaim][waiting]") {
    waiters all;
    all.all.free = 10;
    CHECK(all.wake() == "1");
    waiter late;
    late.bytes = 50;
    all.list.add(late);
    all.list.sleep(late);
    CHECK(all.wake().empty());
    all.announce(&all.w[1]);
    CHECK(all.list.wake(all.all) == nullptr); // one tries
    all.all.free = 0;
    all.list.sleep(all.w[1]);
    CHECK(all.list.wake(all.all) == &late);
    all.list.sleep(late);
    CHECK(all.wake().empty());
}
