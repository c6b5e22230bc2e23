// Tenants of a level that is no account: which are asked for memory that rests, and which no longer.
#include <support/catch.hpp>

#include <allot/account/tenant.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

using allot::detail::tenants;

namespace {

struct object {
    std::size_t has = 0, calls = 0;
    std::size_t trim_idle() noexcept {
        ++calls;
        return has == 0 ? 0 : has--;
    }
};
// Any object as a tenant.
template <class Object> struct tenant_of final : allot::tenant {
    explicit tenant_of(Object& o) noexcept : tenant("object"), of(o) {}
    std::size_t held() const noexcept override { return 0; }
    std::size_t return_idle(std::size_t, bool) noexcept override { return of.trim_idle(); }
    std::size_t return_resting() noexcept override { return of.trim_idle(); }
    Object& of;
};
using entry = tenant_of<object>;

void ask_all(tenants& all) {
    all.for_each([](allot::tenant& t) { (void)t.return_idle(SIZE_MAX, true); });
}

} // namespace

TEST_CASE("others are called in turn, until one returns memory", "[reclaim][retain]") {
    tenants all;
    object o[3];
    entry e[3]{entry{o[0]}, entry{o[1]}, entry{o[2]}};
    CHECK(all.return_resting_of_others(e[0], 8) == 0); // the list is empty
    for (entry& one : e) all.add(one);
    CHECK(all.return_resting_of_others(e[0], 8) == 0);
    CHECK(o[0].calls == 0);
    CHECK(o[1].calls == 1);
    CHECK(o[2].calls == 1);
    for (int i = 0; i < 4; ++i) (void)all.return_resting_of_others(e[0], 1);
    CHECK(o[1].calls == 3);
    CHECK(o[2].calls == 3);
    o[1].has = o[2].has = 2;
    for (int i = 0; i < 4; ++i) CHECK(all.return_resting_of_others(e[0], 8) != 0);
    CHECK(o[1].has + o[2].has == 0);
    all.remove(e[2]);
    const std::size_t before = o[2].calls;
    for (int i = 0; i < 4; ++i) (void)all.return_resting_of_others(e[0], 8);
    CHECK(o[2].calls == before);
    all.remove(e[1]);
    CHECK(all.return_resting_of_others(e[0], 8) == 0);
    CHECK(o[0].calls == 0);
    all.remove(e[0]);
}

TEST_CASE("a round calls each once, whether it returns memory or not", "[reclaim][retain]") {
    tenants all;
    CHECK(all.empty());
    ask_all(all);
    object o[3];
    entry e[3]{entry{o[0]}, entry{o[1]}, entry{o[2]}};
    for (entry& one : e) all.add(one);
    CHECK_FALSE(all.empty());
    o[1].has = 2;
    for (std::size_t round = 1; round != 3; ++round) {
        ask_all(all);
        for (const object& one : o) CHECK(one.calls == round);
    }
    for (entry& one : e) all.remove(one);
    CHECK(all.empty());
}

TEST_CASE("a tenant that leaves waits for a call of it", "[reclaim][retain]") {
    struct slow_object {
        std::atomic<bool> called{false}, leaves{false}, alive{true}, late{false};
        std::size_t trim_idle() noexcept {
            called = true;
            while (!leaves) std::this_thread::yield();
            std::this_thread::sleep_for(std::chrono::milliseconds{20});
            late = !alive;
            return 0;
        }
    };
    tenants all;
    slow_object slow, own;
    tenant_of<slow_object> e{slow}, me{own};
    all.add(e);
    std::thread requests{[&] { (void)all.return_resting_of_others(me, 1); }};
    while (!slow.called) std::this_thread::yield();
    slow.leaves = true;
    all.remove(e);
    slow.alive = false;
    requests.join();
    CHECK_FALSE(slow.late);
    CHECK(all.return_resting_of_others(me, 8) == 0);
}

TEST_CASE("tenants come and leave beside requests", "[reclaim][retain]") {
    struct short_object {
        std::atomic<bool> alive{true};
        std::size_t trim_idle() noexcept { return alive.load() ? 0 : 1; }
    };
    tenants all;
    std::atomic<bool> ends{false};
    std::atomic<std::size_t> late{0};
    const auto comes_and_leaves = [&] {
        for (int i = 0; i < 2000; ++i) {
            short_object o;
            tenant_of<short_object> e{o};
            all.add(e);
            late += all.return_resting_of_others(e, 2);
            all.remove(e);
            o.alive = false;
        }
    };
    std::thread requests{[&] {
        short_object own;
        tenant_of<short_object> e{own};
        while (!ends) late += all.return_resting_of_others(e, 8), ask_all(all);
    }};
    std::thread other{comes_and_leaves};
    comes_and_leaves();
    other.join();
    ends = true;
    requests.join();
    CHECK(late == 0);
}

TEST_CASE("a tenant rests if it holds as much as at the last look", "[reclaim][retain]") {
    struct holder final : allot::tenant {
        holder() : tenant("holder") {}
        std::size_t held() const noexcept override { return holds; }
        std::size_t return_idle(std::size_t bytes, bool waits) noexcept override { return waits ? 0 : bytes; }
        std::size_t holds = 0;
    } t;
    CHECK(t.return_resting() == 0); // it holds nothing
    t.holds = 64;
    CHECK(t.return_resting() == 0);
    CHECK(t.return_resting() == 64);
    t.holds = 32;
    CHECK(t.return_resting() == 0);
}
