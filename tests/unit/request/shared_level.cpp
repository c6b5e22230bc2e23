// A shared level: which tenants are asked for idle memory, whose caches are shut, and which requests it signals.
#include <support/catch.hpp>

#include <allot/request/shared_level.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>

using allot::detail::shared_level;
using allot::detail::shared_waits;

namespace {

// Any call as a tenant.
template <class Call> struct tenant_of final : allot::tenant {
    explicit tenant_of(Call& c) noexcept : tenant("object"), call(c) {}
    std::size_t held() const noexcept override { return 0; }
    std::size_t return_idle(std::size_t, bool) noexcept override { return call(); }
    Call& call;
};

std::size_t ask_all(shared_level& all) {
    std::size_t bytes = 0;
    all.each_tenant([&](allot::tenant& t) { bytes += t.return_idle(SIZE_MAX, true); });
    return bytes;
}

} // namespace

TEST_CASE("a round calls each once, whether it returns memory or not", "[reclaim][retain]") {
    struct object {
        std::size_t has = 0, calls = 0;
        std::size_t operator()() noexcept { return ++calls, has == 0 ? 0 : has--; }
    } o[3];
    shared_level all{"arena"};
    CHECK_FALSE(all.has_tenants());
    CHECK(ask_all(all) == 0);
    tenant_of<object> e[3]{tenant_of{o[0]}, tenant_of{o[1]}, tenant_of{o[2]}};
    for (auto& one : e) all.add(one);
    CHECK(all.has_tenants());
    o[1].has = 2;
    for (std::size_t round = 1; round != 3; ++round) {
        CHECK(ask_all(all) == 3 - round);
        for (const object& one : o) CHECK(one.calls == round);
    }
    all.remove(e[1]);
    CHECK(ask_all(all) == 0);
    CHECK(o[1].calls == 2);
    CHECK(o[2].calls == 3);
    all.remove(e[0]);
    all.remove(e[2]);
    CHECK_FALSE(all.has_tenants());
}

TEST_CASE("a tenant that leaves waits for a call of it", "[reclaim][retain]") {
    std::atomic<bool> called{false}, leaves{false}, alive{true}, late{false};
    const auto slow = [&] {
        called = true;
        while (!leaves) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
        late = !alive;
        return std::size_t{0};
    };
    shared_level all{"arena"};
    tenant_of e{slow};
    all.add(e);
    std::thread requests{[&] { ask_all(all); }};
    while (!called) std::this_thread::yield();
    leaves = true;
    all.remove(e);
    alive = false;
    requests.join();
    CHECK_FALSE(late);
}

TEST_CASE("tenants come and leave beside requests", "[reclaim][retain]") {
    shared_level all{"arena"};
    std::atomic<bool> ends{false};
    std::atomic<std::size_t> late{0};
    const auto comes_and_leaves = [&] {
        for (int i = 0; i < 2000; ++i) {
            std::atomic<bool> alive{true};
            const auto is_late = [&] { return std::size_t{!alive}; };
            tenant_of e{is_late};
            all.add(e);
            late += ask_all(all);
            all.remove(e);
            alive = false;
        }
    };
    std::thread requests{[&] {
        while (!ends) late += ask_all(all);
    }};
    std::thread other{comes_and_leaves};
    comes_and_leaves();
    other.join();
    ends = true;
    requests.join();
    CHECK(late == 0);
}

TEST_CASE("caches are shut from the first request that is not patient to the end of the last one",
          "[reclaim][levels]") {
    struct cached final : allot::detail::caching_tenant {
        cached() : caching_tenant("object") {}
        std::size_t held() const noexcept override { return 0; }
        std::size_t return_idle(std::size_t, bool) noexcept override { return 0; }
        bool set_shut(bool now) noexcept override { return ++calls, shut = now; }
        bool shut = false;
        int calls = 0;
    } a, b, late;
    shared_level arena{"arena"}, device{"device"};
    arena.add(a);
    arena.add(b);
    allot::detail::sys::parking spot;
    shared_waits patient{spot, false}, first{spot, true}, second{spot, true};
    const auto begin = [&](shared_waits& w) { w.add(arena, &w), w.settle(); };
    const auto end = [&](shared_waits& w) { w.remove([](const shared_level&, shared_level::news) {}), w.settle(); };
    begin(patient);
    CHECK_FALSE(a.shut);
    begin(first);
    CHECK(a.shut);
    CHECK(b.shut);
    begin(second);
    arena.add(late);
    CHECK(late.shut);
    end(first);
    bool rests = false; // another reason
    CHECK(b.settle(rests, [] { return true; }));
    arena.remove(a);
    CHECK_FALSE(a.shut);
    end(second);
    end(patient);
    CHECK_FALSE(late.shut);
    CHECK(b.shut);
    CHECK_FALSE(b.settle(rests, [] { return false; }));
    for (const cached* const each : {&a, &b, &late}) CHECK(each->calls == 2);
    arena.remove(b);
    arena.remove(late);
}

TEST_CASE("a level signals one request of each tree, and another one where that has ended", "[reclaim][levels]") {
    shared_level arena{"arena"}, system{"system"};
    const int trees[2]{};
    allot::detail::sys::parking spots[3];
    std::optional<shared_waits> first{std::in_place, spots[0], true}, second{std::in_place, spots[1], true},
        other{std::in_place, spots[2], true};
    const auto forget = [](const shared_level&, shared_level::news) {};
    const auto has_signal = [&](int i) { return spots[i].wait_until(0) == shared_level::given; };
    CHECK(first->add(arena, &trees[0]));
    CHECK_FALSE(first->add(arena, &trees[0]));
    CHECK(first->add(system, &trees[0]));
    CHECK(second->add(arena, &trees[0]));
    CHECK(other->add(arena, &trees[1]));
    arena.gave();
    arena.gave();
    CHECK(has_signal(0));
    CHECK_FALSE(has_signal(1));
    CHECK(has_signal(2));
    int told = 0;
    const auto is_own = [&](const shared_level& at, shared_level::news got) {
        ++told;
        CHECK(&at == &arena);
        CHECK(got == shared_level::news::own);
    };
    first->take_news(is_own);
    first->take_news(is_own);
    CHECK(told == 1);
    std::thread{[&] { arena.gave(); }}.join();
    first->remove([&](const shared_level&, shared_level::news got) { CHECK(got == shared_level::news::of_others); });
    CHECK(system.is_waited_for() == false);
    arena.gave();
    CHECK(has_signal(1));
    second->remove(forget);
    other->remove(forget);
    CHECK_FALSE(arena.is_waited_for());
    arena.gave();
    CHECK_FALSE(has_signal(1));
}

TEST_CASE("a request waits at no more than four levels", "[reclaim][levels]") {
    shared_level levels[5]{shared_level{"0"}, shared_level{"1"}, shared_level{"2"}, shared_level{"3"},
                           shared_level{"4"}};
    allot::detail::sys::parking spot;
    shared_waits waits{spot, false};
    for (int i = 0; i != 5; ++i) CHECK(waits.add(levels[i], &waits) == (i != 4));
    CHECK_FALSE(waits.has(levels[4]));
    waits.remove([](const shared_level&, shared_level::news) {});
}
