// The list of waiters alone: which of them try, in which order. No threads, one account.
#include <support/catch.hpp>

#include <allot/account/account.hpp>
#include <allot/account/wait_list.hpp>

#include <cstddef>
#include <string>

using allot::detail::wait_list;
using allot::detail::waiter;

namespace {

struct waiters {
    allot::account level{allot::name{"level"}};
    wait_list list;
    std::size_t free = 0;
    waiter w[3];

    // Sleep, the first for many bytes.
    waiters() {
        for (waiter& one : w) {
            one.bytes = &one == w ? 100 : 10;
            add(one);
            list.sleep(one);
        }
    }
    void add(waiter& one) {
        one.by = one.at = &level.node();
        list.add(one);
    }
    waiter* choose() {
        return list.wake([this](waiter& one, std::size_t promised) { return one.bytes + promised <= free; });
    }
    // Those that are woken, by number, the last one first; they begin to try.
    std::string wake() {
        std::string numbers;
        for (const waiter* n = choose(); n != nullptr; n = n->next_woken) numbers += static_cast<char>('0' + (n - w));
        return numbers;
    }
    void announce(const waiter* from = nullptr) { list.announce(level.node(), from); }
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
    all.add(late);
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
    all.free = 120; // 100 of them are promised
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
    all.free = 10;
    CHECK(all.wake() == "1");
    waiter late;
    late.bytes = 50;
    all.add(late);
    all.list.sleep(late);
    CHECK(all.wake().empty());
    all.announce(&all.w[1]);
    CHECK(all.choose() == nullptr); // one tries
    all.free = 0;
    all.list.sleep(all.w[1]);
    CHECK(all.choose() == &late);
    all.list.sleep(late);
    CHECK(all.wake().empty());
}
