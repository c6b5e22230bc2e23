// Tenants of a level that is no account: which are asked for idle memory, and which no longer.
#include <support/catch.hpp>

#include <allot/account/tenant.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

using allot::detail::tenants;

namespace {

// Any call as a tenant.
template <class Call> struct tenant_of final : allot::tenant {
    explicit tenant_of(Call& c) noexcept : tenant("object"), call(c) {}
    std::size_t held() const noexcept override { return 0; }
    std::size_t return_idle(std::size_t, bool) noexcept override { return call(); }
    Call& call;
};

std::size_t ask_all(tenants& all) {
    std::size_t bytes = 0;
    all.for_each([&](allot::tenant& t) { bytes += t.return_idle(SIZE_MAX, true); });
    return bytes;
}

} // namespace

TEST_CASE("a round calls each once, whether it returns memory or not", "[reclaim][retain]") {
    struct object {
        std::size_t has = 0, calls = 0;
        std::size_t operator()() noexcept { return ++calls, has == 0 ? 0 : has--; }
    } o[3];
    tenants all;
    CHECK(all.empty());
    CHECK(ask_all(all) == 0);
    tenant_of<object> e[3]{tenant_of{o[0]}, tenant_of{o[1]}, tenant_of{o[2]}};
    for (auto& one : e) all.add(one);
    CHECK_FALSE(all.empty());
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
    CHECK(all.empty());
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
    tenants all;
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
    tenants all;
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
