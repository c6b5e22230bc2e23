// Who is charged: every sequence of a few operations by three accounts, and long random ones, beside a model that is a
// list; and two accounts that let go and take at once, step by step.
#include <support/catch.hpp>
#include <support/rescue.hpp>

#include <allot/buffers.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <random>
#include <utility>
#include <vector>

using allot::account;
using allot::buffer;
using allot::buffer_memory;
using allot::limit;
using allot::name;

namespace {

// What docs/buffers.md says, with nothing but a list: accounts in order of arrival, each with a number of views.
struct model_block {
    struct entry {
        int who;
        unsigned views;
    };
    std::vector<entry> held;
    int charged = -1;

    entry* of(int who) {
        const auto at = std::find_if(held.begin(), held.end(), [&](const entry& e) { return e.who == who; });
        return at != held.end() ? &*at : nullptr;
    }
    void add(int who) {
        if (entry* e = of(who)) ++e->views;
        else held.push_back({who, 1});
    }
    void drop(int who) {
        entry* e = of(who);
        if (--e->views != 0) return;
        held.erase(held.begin() + (e - held.data()));
        if (charged == who) charged = held.empty() ? -1 : held.front().who;
    }
    void charge(int from, int to) {
        if (charged == from) charged = to;
    }
};

struct three {
    allot::heap_memory heap;
    buffer_memory memory{heap};
    account root{name{"root"}, limit{1 << 20}};
    account query{root, name{"query"}};
    account x{query, name{"x"}}, y{query, name{"y"}}, z{root, name{"z"}};
    std::array<account*, 3> all{&x, &y, &z};

    std::vector<std::pair<buffer, int>> views;
    model_block model;
    const char* wrong = nullptr;

    void start() { views.clear(), views.emplace_back(memory.allocate(x, 64), 0), model = {{{0, 1}}, 0}; }
    // 0: slice, 1..3: retain, 4..6: transfer as an lvalue, 7..9: as an rvalue, 10: release
    static constexpr unsigned operations = 11;
    bool may(std::size_t view, unsigned op) const { return view < views.size() && (op != 10 || views.size() > 1); }
    void run(std::size_t at, unsigned op) {
        const int who = views[at].second;
        if (op == 0) views.emplace_back(views[at].first.slice(), who), model.add(who);
        else if (op <= 3) {
            const int to = static_cast<int>(op) - 1;
            views.emplace_back(views[at].first.retain(*all[static_cast<unsigned>(to)]), to);
            model.add(to);
        } else if (op <= 6) {
            const int to = static_cast<int>(op) - 4;
            auto r = views[at].first.transfer(*all[static_cast<unsigned>(to)]);
            if (!r.fitted()) wrong = "it fits";
            views.emplace_back(std::move(r.view), to);
            model.add(to);
            model.charge(who, to);
        } else if (op <= 9) {
            const int to = static_cast<int>(op) - 7;
            auto r = std::move(views[at].first).transfer(*all[static_cast<unsigned>(to)]);
            views[at] = {std::move(r.view), to};
            if (to != who) model.add(to), model.charge(who, to), model.drop(who);
        } else {
            views.erase(views.begin() + static_cast<std::ptrdiff_t>(at));
            model.drop(who);
        }
        check();
    }
    void check() {
        for (int i = 0; i != 3; ++i) {
            const account& a = *all[static_cast<unsigned>(i)];
            if (a.used() != (model.charged == i ? 64 : 0)) wrong = "another account is charged";
            if (a.stats().buffers != (model.of(i) != nullptr)) wrong = "ledgers";
        }
        for (const auto& [view, who] : views) {
            if (view.holder() != all[static_cast<unsigned>(who)] || !view.valid()) wrong = "a view";
            if (view.charged() != all[static_cast<unsigned>(model.charged)]) wrong = "charged()";
        }
        if (root.peak() > 64 * max_blocks || root.used() > 64 || query.used() > 64) wrong = "charged twice above";
    }
    std::size_t max_blocks = 1;
};

} // namespace

TEST_CASE("who is charged, after every short sequence of operations", "[buffer][owners]") {
    constexpr std::size_t longest = ALLOT_ASAN ? 3 : 4;
    three t;
    std::size_t sequences = 0;
    const auto deeper = [&](auto& self, std::vector<std::pair<std::size_t, unsigned>>& so_far) -> void {
        if (so_far.size() == longest) return;
        for (std::size_t view = 0; view != 1 + so_far.size(); ++view)
            for (unsigned op = 0; op != three::operations; ++op) {
                t.start();
                for (const auto& [v, o] : so_far) t.run(v, o);
                if (!t.may(view, op)) continue;
                t.run(view, op);
                ++sequences;
                if (t.wrong != nullptr) {
                    for (const auto& [v, o] : so_far) std::printf("view %zu operation %u; ", v, o);
                    FAIL(t.wrong << " after view " << view << " operation " << op);
                }
                so_far.emplace_back(view, op);
                self(self, so_far);
                so_far.pop_back();
            }
    };
    std::vector<std::pair<std::size_t, unsigned>> none;
    deeper(deeper, none);
    CHECK(sequences > (ALLOT_ASAN ? 2'000 : 100'000));
    t.views.clear();
    CHECK(t.root.used() == 0);
    CHECK(t.root.peak() == 64);
}

TEST_CASE("who is charged, along random traces", "[buffer][owners]") {
    for (unsigned seed = 1; seed != 40; ++seed) {
        three t;
        std::mt19937 random(seed);
        t.start();
        for (int i = 0; i != 500; ++i) {
            const std::size_t view = random() % t.views.size();
            const unsigned op = t.views.size() > 12 ? 10 : static_cast<unsigned>(random() % three::operations);
            if (t.may(view, op)) t.run(view, op);
            if (t.wrong != nullptr) FAIL(t.wrong << ", seed " << seed << ", step " << i);
        }
        t.views.clear();
        CHECK(t.root.used() == 0);
        CHECK(t.root.verify());
    }
}

// ---- a listener that lets go, takes and transfers while the charge moves
// ----------------------------------------------------

TEST_CASE("the heir may let go in the call that reports it", "[buffer][owners]") {
    struct dropper : allot::account_listener {
        buffer* victim = nullptr;
        std::size_t behind = 0; // charged when it was let go: the block waits for the end of the call
        void transferred(const account&, const account& to, std::size_t,
                         const allot::charge_status&) noexcept override {
            if (victim == nullptr) return;
            std::exchange(victim, nullptr)->release();
            behind = to.used();
        }
    };
    for (const bool third : {false, true}) { // the view itself that is transferred
        three t;
        t.start();
        buffer moving = std::move(t.views[0].first), other;
        if (third) other = moving.retain(t.z);
        dropper ears;
        t.root.add(ears);
        ears.victim = &moving;
        auto r = std::move(moving).transfer(t.y);
        CHECK(r.fitted());
        CHECK(static_cast<bool>(r.view) == third); // where another has one y's is a view of its own, made before
        CHECK_FALSE(moving);
        r.view.release();
        CHECK(ears.behind == 64);
        CHECK(t.x.used() == 0);
        CHECK(t.y.used() == 0);
        CHECK(t.y.stats().buffers == 0);
        CHECK(t.z.used() == (third ? 64 : 0));
        other.release();
        CHECK(t.root.used() == 0);
        CHECK(t.root.remove(ears));
    }
    for (const bool third : {false, true}) {
        three t;
        t.start();
        buffer first = std::move(t.views[0].first), heir = first.retain(t.y), last;
        if (third) last = first.retain(t.z);
        dropper ears;
        t.root.add(ears);
        ears.victim = &heir;
        first.release(); // to y, which lets go inside: to z, or the end
        CHECK(ears.behind == 64);
        CHECK(t.x.used() == 0);
        CHECK(t.y.used() == 0);
        CHECK(t.z.used() == (third ? 64 : 0));
        CHECK(t.y.stats().buffers == 0);
        CHECK((!third || last.valid()));
        last.release();
        CHECK(t.root.used() == 0);
        CHECK(t.root.remove(ears));
    }
}

TEST_CASE("a call about a block's charge may take and slice it, but not move it again", "[buffer][owners]") {
    struct mover : allot::account_listener {
        buffer* view = nullptr;
        account* to = nullptr;
        allot::transfer_result got;
        buffer kept;
        void transferred(const account&, const account&, std::size_t, const allot::charge_status&) noexcept override {
            if (view == nullptr) return;
            buffer& it = *std::exchange(view, nullptr);
            kept = it.slice(1, 2);
            got = std::move(it).transfer(*to);
        }
    };
    three t;
    t.start();
    buffer x = std::move(t.views[0].first), y = x.retain(t.y);
    mover ears;
    t.root.add(ears);
    ears.view = &y, ears.to = &t.z;
    auto r = std::move(x).transfer(t.y);
    CHECK(ears.got.status.outcome == allot::charge_outcome::misused);
    CHECK(ears.got.view.holder() == &t.z);
    CHECK(r.view.charged() == &t.y);
    CHECK(t.y.used() == 64);
    CHECK(ears.got.view.valid());
    CHECK(t.root.remove(ears));
}

// A view that another account is charged for keeps its own account as a charge does.
TEST_CASE("an account that closes waits for its views, whichever account is charged for them", "[buffer][owners]") {
    const support::rescue ends{"an account ended with the lock of a block held"};
    struct owner {
        std::unique_ptr<account> who;
        int ended = 0;
        bool close() {
            return who->close_when_drained(
                [](account&, void* self) noexcept {
                    ++static_cast<owner*>(self)->ended;
                    static_cast<owner*>(self)->who.reset();
                },
                this);
        }
    };
    allot::heap_memory heap;
    buffer_memory memory{heap};
    account root{name{"root"}, limit{1 << 20}};
    account scan{root, name{"scan"}};
    const auto join = [&] { return std::make_unique<account>(root, name{"join"}); };
    buffer b = memory.allocate(scan, 100);
    SECTION("two of its views go") {
        owner o{join()};
        buffer theirs = b.retain(*o.who), more = theirs.slice(1, 2);
        CHECK_FALSE(o.close());
        theirs.release();
        CHECK(o.ended == 0);
        more.release();
        CHECK(o.ended == 1);
    }
    SECTION("its view is relabelled") {
        owner o{join()};
        buffer theirs = b.retain(*o.who);
        CHECK_FALSE(o.close());
        account sort{root, name{"sort"}};
        auto [mine, how] = std::move(theirs).transfer(sort);
        CHECK(o.ended == 1);
        CHECK(b.charged() == &scan);
        mine.release();
    }
    SECTION("it is charged, and another has a view: who inherits lets it end") {
        owner o{join()};
        auto [theirs, how] = b.transfer(*o.who);
        CHECK(b.charged() == o.who.get());
        CHECK_FALSE(o.close());
        theirs.release();
        CHECK(o.ended == 1);
        CHECK(b.charged() == &scan);
    }
    SECTION("it is charged, and its only view is relabelled") {
        owner o{join()};
        auto [theirs, how] = std::move(b).transfer(*o.who);
        CHECK_FALSE(o.close());
        b = std::move(theirs).transfer(scan).view;
        CHECK(o.ended == 1);
        CHECK(b.charged() == &scan);
    }
    SECTION("it is charged for the last view") {
        owner o{join()};
        auto [theirs, how] = std::move(b).transfer(*o.who);
        CHECK_FALSE(o.close());
        theirs.release();
        CHECK(o.ended == 1);
    }
    SECTION("it has a reservation") {
        owner o{join()};
        auto r = o.who->reserve_for(0, allot::time_span{0});
        CHECK_FALSE(o.close());
        r.release();
        CHECK(o.ended == 1);
    }
    SECTION("what ends may let go of the same block") { // from inside the release, without its lock
        struct holder : owner {
            buffer view;
        } o;
        o.who = join();
        o.view = b.slice();
        buffer theirs = b.retain(*o.who);
        CHECK_FALSE(o.who->close_when_drained(
            [](account&, void* self) noexcept {
                static_cast<holder*>(self)->view.release();
                ++static_cast<holder*>(self)->ended;
            },
            &o));
        account sort{root, name{"sort"}};
        b.release();
        auto mine = std::move(theirs).transfer(sort).view;
        CHECK(o.ended == 1);
        CHECK(mine.charged() == &sort);
        CHECK(mine.valid());
    }
    b.release();
    CHECK(root.used() == 0);
    CHECK(root.verify());
}

TEST_CASE("an account that takes a view of a closed one inherits like any other", "[buffer][owners]") {
    allot::heap_memory heap;
    const buffer_memory memory{heap};
    account root{name{"root"}}, a{root, name{"a"}}, b{root, name{"b"}}, c{root, name{"c"}}, d{root, name{"d"}};
    buffer x = memory.allocate(a, 64), y = x.retain(b), z = x.retain(c);
    b.close_when_drained([](account&, void*) noexcept {});
    x.release();
    CHECK(c.used() == 64); // b was closing
    auto w = std::move(y).transfer(d);
    CHECK(w.view.holder() == &d);
    z.release();
    CHECK(c.used() == 0);
    CHECK(d.used() == 64);
    w.view.release();
    CHECK(root.used() == 0);
}

TEST_CASE("the heir of an account that was closed with its charge is charged anew", "[buffer][owners]") {
    const allot::leak_sink quiet{[](void*, std::string_view) noexcept {}, nullptr};
    allot::heap_memory heap;
    const buffer_memory memory{heap};
    account root{name{"root"}};
    account q{root, name{"q"}, quiet}, b{root, name{"b"}}, c{root, name{"c"}};
    {
        buffer first = memory.allocate(q, 1000), theirs = first.retain(c);
        CHECK_FALSE(q.close());
        CHECK(root.used() == 0);
        first.release();
        CHECK(theirs.charged() == &c);
        CHECK(c.used() == 1024);
        CHECK(root.verify());
    }
    account late{root, name{"late"}, quiet};
    buffer given = memory.allocate(late, 500);
    CHECK_FALSE(late.close());
    const auto moved = std::move(given).transfer(b);
    CHECK(moved.view.charged() == &b);
    CHECK(b.used() == 512);
    account last{root, name{"last"}, quiet};
    buffer alone = memory.allocate(last, 500);
    CHECK_FALSE(last.close());
    alone.release(); // its end has told it
    CHECK(root.used() == 512);
    CHECK(root.verify());
}

TEST_CASE("foreign memory of 0 bytes is nobody's", "[buffer][owners]") {
    account root{name{"root"}};
    int released = 0;
    allot::charge_status why;
    const buffer none = buffer::of_foreign(
        root, &released, 0, [](void* n, std::byte*, std::size_t) noexcept { ++*static_cast<int*>(n); }, &released, true,
        &why);
    CHECK_FALSE(none);
    CHECK(why.fitted());
    CHECK(root.stats().buffers == 0);
    CHECK(released == 0);
}
