// What a row manager asks of a size policy and of a size list. A new one joins by its name in `policies` or `lists`.
#include <support/catch.hpp>
#include <support/sets_home.hpp>

#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

using namespace allot::literals;

namespace {

struct one_size {
    static constexpr std::array<std::uint32_t, 1> sizes{40};
};
struct max_sizes {
    static constexpr std::array<std::uint32_t, 64> sizes = [] {
        std::array<std::uint32_t, 64> all{};
        for (std::uint32_t i = 0; i < 64; ++i) all[i] = 8 + 4 * i;
        return all;
    }();
    static constexpr auto above = allot::size::tail::eighths;
};

using lists = std::tuple<allot::size::list::roxie, allot::size::list::thor, allot::size::list::fine,
                         allot::size::list::even, one_size, max_sizes>;
using policies =
    std::tuple<allot::size::bucketed<>, allot::size::bucketed<allot::size::list::fine>, allot::size::bucketed<one_size>,
               allot::size::packed, allot::size::exact, allot::size::in_spans>;

template <class Policy> struct of_size : allot::policies<Policy, allot::count::none, allot::guard::none> {};

} // namespace

TEMPLATE_LIST_TEST_CASE("size: every request finds the smallest class that holds it", "[size]", lists) {
    for (const std::size_t usable : {65000u, 100000u, 1048000u, 16777000u}) {
        const allot::detail::size_classes<TestType> classes(usable);
        REQUIRE(classes.valid());
        REQUIRE(classes.largest() <= usable);
        REQUIRE(classes.largest() + 8 > usable);
        for (std::size_t i = 0; i < classes.count(); ++i)
            for (const std::size_t n : {classes.slot_bytes(i), classes.slot_bytes(i) - 3}) {
                std::size_t smallest = 0; // the naive way
                while (classes.slot_bytes(smallest) < n) ++smallest;
                if (classes.index_for(n) != smallest) FAIL("class of " << n << " in " << usable);
            }
        std::size_t smallest = 0;
        for (std::size_t n = 1; n <= classes.largest(); n += n < 5000 ? 1 : n / 50) {
            while (classes.slot_bytes(smallest) < n) ++smallest;
            if (classes.index_for(n) != smallest) FAIL("class of " << n << " in " << usable);
        }
    }
}

TEST_CASE("size: fine wastes at most an eighth, or what no slot size can avoid", "[size]") {
    constexpr std::size_t usable = 1048000;
    const allot::detail::size_classes<allot::size::list::fine> classes(usable);
    for (std::size_t n = 64; n <= 262144; ++n) {
        const std::size_t slot = classes.slot_bytes(classes.index_for(n));
        if (slot * 8 > n * 9 + 63 && usable / slot != (usable - 15 * 8) / n) FAIL(n << " takes " << slot);
    }
}

TEMPLATE_LIST_TEST_CASE("size: a heap of one size rounds by the policy's step, or to a class", "[size]", policies) {
    STATIC_REQUIRE(allot::category::size::takes<TestType>);
    sets::home<of_size<TestType>> home;
    for (std::size_t n = 1; n < 4000; n = n * 5 / 4 + 1) {
        auto heap = home.rows.heap(n, allot::untyped);
        void* const p = heap.allocate();
        const std::size_t capacity = home.rows.capacity(p);
        INFO(n << " bytes have " << capacity);
        REQUIRE(capacity >= n);
        if (!TestType::rounds) REQUIRE(capacity <= allot::detail::align_up(n < 4 ? 4 : n, TestType::step));
        else {
            void* const other = home.rows.allocate(n);
            REQUIRE(capacity <= home.rows.capacity(other));
            home.rows.release(other);
        }
        REQUIRE(reinterpret_cast<std::uintptr_t>(p) % (TestType::step < 8 ? 4 : 8) == 0);
        heap.release(p);
    }
    std::vector<void*> all;
    for (std::size_t n = 0; n < 9000; n += 61) all.push_back(home.rows.allocate(n));
    for (std::size_t i = 0; i < all.size(); ++i) REQUIRE(home.rows.capacity(all[i]) >= i * 61);
    for (void* p : all) home.rows.release(p);
}
