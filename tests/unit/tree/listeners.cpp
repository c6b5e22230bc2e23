#include <support/catch.hpp>
#include <support/rescue.hpp>

#include <allot/account/account.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

using allot::account;
using allot::account_listener;
using allot::charge_outcome;
using allot::charge_status;
using allot::limit;
using allot::name;

namespace {

// Writes down what it hears.
struct scribe : account_listener {
    std::string heard;
    void after(const account& a, std::size_t n, const charge_status&) noexcept override { note("after", a, n); }
    void released(const account& a, std::size_t n) noexcept override { note("released", a, n); }
    void refused(const account& a, const charge_status& s) noexcept override { note("refused", a, s.requested); }
    void transferred(const account& from, const account& to, std::size_t n, const charge_status&) noexcept override {
        note("from", from, n), note("to", to, n);
    }
    void child_added(const account& a) noexcept override { note("added", a, 0); }
    void child_removed(const account& a) noexcept override { note("removed", a, 0); }
    void note(const char* what, const account& a, std::size_t n) {
        heard += std::string{what} + " " + a.name() + " " + std::to_string(n) + "; ";
    }
    std::string take() { return std::exchange(heard, {}); }
};

} // namespace

TEST_CASE("a listener hears of its account and of all below", "[accounts][listeners]") {
    account root{name{"root"}, limit{100}};
    account query{root, name{"query"}}, other{root, name{"other"}};
    scribe ears;
    query.add(ears);
    {
        account leaf{query, name{"leaf"}, allot::credit_step{64}};
        CHECK(ears.take() == "added leaf 0; ");
        CHECK(leaf.try_charge(10));
        CHECK(leaf.try_charge(10)); // no room ahead: it hears of each
        CHECK(ears.take() == "after leaf 10; after leaf 10; ");
        CHECK_FALSE(leaf.try_charge(81));
        CHECK(ears.take() == "refused leaf 81; ");
        CHECK(leaf.force_charge(85).charged());
        CHECK(ears.take() == "after leaf 85; ");
        leaf.refund(85);
        CHECK(ears.take() == "released leaf 85; ");
        CHECK(account::transfer(leaf, query, 5).fitted());
        CHECK(ears.take() == "from leaf 5; to query 5; "); // once, though it is above both
        CHECK(other.try_charge(5));
        CHECK(account::transfer(query, other, 5).fitted());
        CHECK(ears.take() == "from query 5; to other 5; ");
        leaf.refund(15);
        ears.take();
    }
    CHECK(ears.take() == "removed leaf 0; ");
    other.refund(10);
    CHECK(query.remove(ears));
    CHECK(query.try_charge(1));
    query.refund(1);
    CHECK(ears.take().empty());
}

TEST_CASE("listeners hear of a refusal once, after reclaimers freed too little", "[accounts][listeners]") {
    struct cache final : allot::reclaimer {
        account& from;
        std::size_t gives = 0;
        explicit cache(account& a) : reclaimer("cache"), from(a) {}
        bool reclaim(const allot::shortage&) noexcept override {
            if (gives == 0) return false;
            from.refund(std::exchange(gives, std::size_t{0}));
            return true;
        }
    };
    account root{name{"root"}, limit{100}};
    account leaf{root, name{"leaf"}}, cached{root, name{"cache"}};
    REQUIRE(cached.try_charge(80));
    cache cold{cached};
    scribe ears;
    cached.add(cold);
    root.add(ears);
    cold.gives = 30;
    CHECK(leaf.try_charge(40));
    CHECK(ears.take() == "released cache 30; after leaf 40; ");
    cold.gives = 5;
    CHECK_FALSE(leaf.try_charge(20));
    CHECK(ears.take() == "released cache 5; refused leaf 20; ");
    CHECK(root.stats().refused == 1); // requests that were refused in the end
    root.remove(ears);
    cached.remove(cold);
    leaf.refund(40);
    cached.refund(45);
}

namespace {

// Does in each call what a careless program would.
struct meddler : account_listener {
    account* tree = nullptr;
    account_listener* other = nullptr;
    std::optional<account> made;
    int calls = 0;
    bool removed = true;
    bool stays = false;
    charge_outcome beyond = charge_outcome::fits;
    void after(const account& a, std::size_t, const charge_status&) noexcept override {
        ++calls;
        account& at = const_cast<account&>(a);
        if (at.try_charge(7)) at.refund(7); // is charged, and told to nobody
        beyond = at.charge_for(1000, allot::time_span{1000}).outcome;
        if (!made) made.emplace(*tree, name{"from inside"}, std::nothrow);
        else made.reset();
        if (other != nullptr) tree->add(*other);
        removed = tree->remove(*this); // itself: at once
        if (stays) tree->add(*this);
    }
};

} // namespace

TEST_CASE("a callback that allocates, registers and unregisters gets an answer", "[accounts][listeners]") {
    const support::rescue ends{"a request in a call that waits"};
    account root{name{"root"}, limit{100}};
    account leaf{root, name{"leaf"}};
    meddler from_inside;
    scribe late;
    from_inside.tree = &root;
    from_inside.other = &late;
    root.add(from_inside);
    CHECK(leaf.try_charge(10));
    CHECK(from_inside.calls == 1);
    CHECK(from_inside.beyond == charge_outcome::over_limit);
    CHECK_FALSE(from_inside.removed); // it was running, in this very call
    CHECK(late.take().empty());       // it came while that was told
    CHECK(leaf.try_charge(1));
    CHECK(from_inside.calls == 1);
    CHECK(late.take() == "after leaf 1; ");
    CHECK(root.remove(from_inside)); // already
    from_inside.made.reset();
    root.remove(late);
    leaf.refund(11);
    CHECK(root.verify());
}

TEST_CASE("what a call does in another tree no listener hears of either", "[accounts][listeners]") {
    account root{name{"root"}}, away{name{"away"}};
    struct writer : account_listener {
        account* to = nullptr;
        void after(const account&, std::size_t n, const charge_status&) noexcept override {
            to->force_charge(n);
            to->refund(n);
        }
    } writes;
    writes.to = &away;
    scribe ears;
    root.add(writes), away.add(ears);
    CHECK(root.try_charge(5));
    CHECK(ears.take().empty());
    CHECK(away.used() == 0);
    root.remove(writes), away.remove(ears);
    root.refund(5);
}

namespace {

// Two that remove each other while both are called: nobody waits for anybody.
struct crossed : account_listener {
    account* tree = nullptr;
    crossed* other = nullptr;
    std::atomic<int>* inside = nullptr;
    std::atomic<bool> done{false};
    void after(const account&, std::size_t, const charge_status&) noexcept override {
        ++*inside;
        while (*inside < 2) std::this_thread::yield();
        tree->remove(*other);
        done = true;
    }
};

} // namespace

TEST_CASE("a callback that is taken off and added again in a call stays", "[accounts][listeners]") {
    account root{name{"root"}, limit{100}};
    account leaf{root, name{"leaf"}};
    meddler from_inside;
    from_inside.tree = &root;
    from_inside.stays = true;
    root.add(from_inside);
    CHECK(leaf.try_charge(10));
    CHECK(leaf.try_charge(10));
    CHECK(from_inside.calls == 2);
    CHECK(root.remove(from_inside));
    from_inside.made.reset();
    leaf.refund(20);
}

TEST_CASE("callbacks that unregister each other do not wait for each other", "[accounts][listeners]") {
    account root{name{"root"}};
    account left{root, name{"left"}}, right{root, name{"right"}};
    crossed one, two;
    std::atomic<int> inside{0};
    one.tree = &right, one.other = &two, one.inside = &inside;
    two.tree = &left, two.other = &one, two.inside = &inside;
    left.add(one);
    right.add(two);
    std::thread a{[&] { static_cast<void>(left.try_charge(1)); }}, b{[&] { static_cast<void>(right.try_charge(1)); }};
    a.join(), b.join();
    CHECK(one.done);
    CHECK(two.done);
    left.refund(1), right.refund(1);
    CHECK(left.remove(one));
    CHECK(right.remove(two));
    CHECK(inside == 2);
}

TEST_CASE("remove waits for a call that another thread is in", "[accounts][listeners]") {
    struct slow : account_listener {
        std::atomic<int> state{0};
        void after(const account&, std::size_t, const charge_status&) noexcept override {
            state = 1;
            for (int i = 0; i != 200; ++i) std::this_thread::yield();
            state = 2;
        }
    } ears;
    account root{name{"root"}};
    root.add(ears);
    std::thread charger{[&] { static_cast<void>(root.try_charge(1)); }};
    while (ears.state == 0) std::this_thread::yield();
    CHECK(root.remove(ears));
    CHECK(ears.state == 2);
    charger.join();
    root.refund(1);
}

namespace {

// Stays in its first call until it may go.
struct stays : account_listener {
    std::atomic<bool> inside{false}, goes{false};
    void released(const account&, std::size_t) noexcept override {
        if (inside.exchange(true)) return;
        while (!goes) std::this_thread::yield();
    }
};
void a_moment() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

} // namespace

TEST_CASE("an account is kept while a call about it runs", "[accounts][listeners]") {
    account root{name{"root"}};
    account leaf{root, name{"leaf"}};
    stays ears;
    root.add(ears);
    std::atomic<bool> ended{false};
    SECTION("close() waits for the call") {
        REQUIRE(leaf.try_charge(1));
        std::thread refunds{[&] { leaf.refund(1); }};
        while (!ears.inside) std::this_thread::yield();
        CHECK(leaf.used() == 0); // told behind it
        std::thread closes{[&] { leaf.close(), ended = true; }};
        a_moment();
        CHECK_FALSE(ended);
        ears.goes = true;
        refunds.join(), closes.join();
        CHECK(ended);
    }
    SECTION("the end of a closing account waits for it") {
        REQUIRE(leaf.try_charge(3));
        CHECK_FALSE(leaf.close_when_drained(
            [](account&, void* to) noexcept { *static_cast<std::atomic<bool>*>(to) = true; }, &ended));
        std::thread refunds{[&] { leaf.refund(1); }};
        while (!ears.inside) std::this_thread::yield();
        leaf.refund(2); // the last one
        CHECK_FALSE(ended);
        ears.goes = true;
        refunds.join();
        CHECK(ended);
    }
    CHECK(root.remove(ears));
    CHECK(root.verify());
}

TEST_CASE("a call may close the account that it is about", "[accounts][listeners]") {
    const support::rescue ends{"a close that waits for its own call"};
    struct closer : account_listener {
        account* ends = nullptr;
        void released(const account&, std::size_t) noexcept override { ends->close(); }
    } ears;
    account root{name{"root"}};
    account leaf{root, name{"leaf"}};
    ears.ends = &leaf;
    root.add(ears);
    REQUIRE(leaf.try_charge(1));
    leaf.refund(1);
    CHECK(leaf.has_ended());
    root.remove(ears);
}

TEST_CASE("who charges or transfers inside a call does not wait for what its own thread holds",
          "[accounts][listeners]") {
    struct greedy : allot::account_listener {
        account *charges = nullptr, *from = nullptr;
        allot::charge_outcome charged{}, moved{};
        bool once = false;
        void after(const account&, std::size_t, const allot::charge_status&) noexcept override {
            if (std::exchange(once, true)) return;
            charged = charges->try_charge(50).outcome;                  // but for the 60 that are held, it would fit
            moved = account::try_transfer(*from, *charges, 20).outcome; // its reservation stays
        }
    } listener;
    account root{name{"root"}, limit{100}};
    account sure{root, name{"sure"}}, leaf{root, name{"leaf"}}, other{root, name{"other"}};
    const auto floor = sure.reserve_floor_for(30, allot::time_span{0});
    REQUIRE(sure.try_charge(30));
    REQUIRE(leaf.try_charge(1));
    listener.charges = &other, listener.from = &sure;
    root.add(listener);
    const support::rescue itself{[&] { root.set_limit(1000); }}; // if it waits for itself
    REQUIRE(leaf.try_hold(60));
    CHECK_FALSE(itself.came());
    CHECK(listener.charged == allot::charge_outcome::over_limit);
    CHECK(listener.moved == allot::charge_outcome::over_limit);
    leaf.cancel(60);
    CHECK(other.try_charge(50));
    root.remove(listener);
    other.refund(50), leaf.refund(1), sure.refund(30);
}

TEST_CASE("an account above both ends in a call about a transfer", "[accounts][listeners]") {
    struct closer : allot::account_listener {
        account* ends = nullptr;
        int heard = 0;
        void transferred(const account&, const account&, std::size_t, const allot::charge_status&) noexcept override {
            ++heard;
            if (ends != nullptr) std::exchange(ends, nullptr)->close();
        }
    } first, above;
    account root{name{"root"}};
    account query{root, name{"query"}, allot::leak_sink{[](void*, std::string_view) noexcept {}, nullptr}};
    account from{query, name{"from"}}, to{query, name{"to"}};
    REQUIRE(from.try_charge(10));
    from.add(first), root.add(above);
    first.ends = &query;
    CHECK(account::transfer(from, to, 10));
    CHECK(query.has_ended());
    CHECK(first.heard == 1);
    CHECK(above.heard == 1);
    from.remove(first), root.remove(above);
    to.refund(10);
    CHECK(root.verify());
}

TEST_CASE("one that is added while remove waits for its call is removed as a whole", "[accounts][listeners]") {
    struct : account_listener {
        void after(const account&, std::size_t, const charge_status&) noexcept override {
            inside.store(true);
            while (!may_end.load()) std::this_thread::yield();
        }
        std::atomic<bool> inside{false}, may_end{false};
    } listener;
    account root{name{"root"}};
    account leaf{root, name{"leaf"}, allot::credit_step{1 << 20}};
    root.add(listener);
    std::thread charges([&] { leaf.charge(1); });
    while (!listener.inside.load()) std::this_thread::yield();
    std::thread removes([&] { CHECK_ON_THREAD(root.remove(listener)); });
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
    while (std::chrono::steady_clock::now() < end) root.add(listener), std::this_thread::yield();
    listener.may_end.store(true);
    charges.join(), removes.join();
    CHECK(root.remove(listener));
    leaf.charge(1); // nobody listens, so a leaf has credit again
    CHECK(leaf.stats().credit != 0);
    leaf.refund(2);
}
