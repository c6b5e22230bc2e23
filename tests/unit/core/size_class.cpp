#include <support/catch.hpp>

#include <allot/core/size_class.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

using namespace allot;

namespace {

struct odd_sizes {
    static constexpr std::array<std::uint32_t, 5> sizes{12, 20, 28, 100, 3000};
};
struct dense_sizes {
    static constexpr std::array<std::uint32_t, 64> sizes = [] {
        std::array<std::uint32_t, 64> all{};
        for (std::uint32_t i = 0; i != 64; ++i) all[i] = 8 + 4 * i;
        return all;
    }();
    static constexpr auto above = size::tail::eighths;
};

struct none {};
struct empty {
    static constexpr std::array<std::uint32_t, 0> sizes{};
};
struct falling {
    static constexpr std::array<std::uint32_t, 2> sizes{32, 16};
};
struct repeated {
    static constexpr std::array<std::uint32_t, 2> sizes{32, 32};
};
struct uneven {
    static constexpr std::array<std::uint32_t, 2> sizes{16, 18};
};
struct tiny {
    static constexpr std::array<std::uint32_t, 2> sizes{4, 8};
};
struct zero {
    static constexpr std::array<std::uint32_t, 2> sizes{0, 0};
};
struct huge {
    static constexpr std::array<std::uint32_t, 1> sizes{65540};
};
struct too_many {
    static constexpr std::array<std::uint32_t, 65> sizes{8};
};
struct wrong_tail {
    static constexpr std::array<std::uint32_t, 1> sizes{8};
    static constexpr const char* above = "eighths";
};

// The smallest class by looking at all of them.
template <class List> std::size_t by_search(const detail::size_classes<List>& classes, std::size_t n) {
    std::size_t i = 0;
    while (classes.slot_bytes(i) < n) ++i;
    return i;
}

constexpr std::size_t header = 128;

} // namespace

TEST_CASE("the roxie list on a page of 256 KiB is the original's") {
    const std::vector<std::size_t> original{16,    32,    64,    128,   256,   512,   1024,  2048,   4096,
                                            8192,  12288, 16384, 17464, 18712, 20152, 21832, 23816,  26200,
                                            29112, 32752, 37424, 43664, 52400, 65504, 87336, 131008, 262016};
    constexpr detail::size_classes<size::list::roxie> classes{262144 - header};
    REQUIRE(classes.count() == original.size());
    for (std::size_t i = 0; i != original.size(); ++i) CHECK(classes.slot_bytes(i) == original[i]);
}

TEMPLATE_TEST_CASE("every size finds the smallest class that holds it", "", size::list::roxie, size::list::thor,
                   size::list::fine, odd_sizes, dense_sizes) {
    for (unsigned shift = 14; shift <= 20; shift += 2) {
        const detail::size_classes<TestType> classes{(std::size_t{1} << shift) - header};
        REQUIRE(classes.valid());
        std::size_t wrong = 0;
        for (std::size_t n = 0; n <= classes.largest(); n += n < 5000 ? 1 : 37)
            wrong += classes.index_for(n) != by_search(classes, n);
        for (std::size_t i = 0; i != classes.count(); ++i) {
            wrong += classes.index_for(classes.slot_bytes(i)) != i;
            wrong += i + 1 != classes.count() && classes.index_for(classes.slot_bytes(i) + 1) != i + 1;
        }
        CHECK(wrong == 0);
    }
}

TEMPLATE_TEST_CASE("the last class is the whole page, whatever the page", "", size::list::roxie, size::list::thor,
                   size::list::fine, odd_sizes, dense_sizes) {
    for (unsigned shift = 14; shift <= 24; ++shift) {
        const std::size_t usable = (std::size_t{1} << shift) - header;
        const detail::size_classes<TestType> classes{usable};
        CHECK(classes.valid());
        CHECK(classes.count() <= detail::size_table::max_classes);
        CHECK(classes.largest() == usable);
        for (std::size_t by = 2; by <= 15 && usable / by > TestType::sizes.back() + 8;
             ++by) // as many rows fit as the fraction says
            CHECK(classes.slot_bytes(classes.count() - by) == detail::align_down(usable / by, 8));
    }
}

TEST_CASE("the fine list wastes an eighth at most") {
    for (unsigned shift = 14; shift <= 24; ++shift) {
        const std::size_t usable = (std::size_t{1} << shift) - header;
        const detail::size_classes<size::list::fine> classes{usable};
        std::size_t worst = 0; // in thousandths of the request
        for (std::size_t n = 64; n <= usable / 15 && n <= 256 * 1024; n += n < 5000 ? 1 : 61) {
            const std::size_t waste = (classes.slot_bytes(classes.index_for(n)) - n) * 1000 / n;
            worst = waste > worst ? waste : worst;
        }
        CHECK(worst <= 125);
        for (std::size_t n = 16; n <= 128; ++n)
            CHECK(classes.slot_bytes(classes.index_for(n)) == detail::align_up(n, 8));
    }
}

TEST_CASE("the fine list divides pages up to 2 MiB by 31, so that a page has nothing left behind its last large row") {
    for (unsigned shift = 14; shift <= 21; ++shift) {
        const std::size_t usable = (std::size_t{1} << shift) - header;
        const detail::size_classes<size::list::fine> classes{usable};
        for (std::size_t n = usable / 31 < 2048 ? 2049 : usable / 31; n <= usable; n += 97) {
            const std::size_t slot = classes.slot_bytes(classes.index_for(n));
            CHECK(usable / slot == usable / detail::align_up(n, 8)); // as many rows per page as rows of n bytes
        }
    }
}

TEST_CASE("a small page keeps the part of a list that fits") {
    const detail::size_classes<odd_sizes> classes{1000};
    CHECK(classes.valid());
    CHECK(classes.largest() == 1000);
    CHECK(classes.slot_bytes(0) == 12);
    CHECK(classes.index_for(100) == 3);
}

TEST_CASE("the mistakes of a list are distinguished") {
    using size::detail::list_fault;
    STATIC_REQUIRE(size::detail::fault_of<none>() == list_fault::no_sizes);
    STATIC_REQUIRE(size::detail::fault_of<int>() == list_fault::no_sizes);
    STATIC_REQUIRE(size::detail::fault_of<empty>() == list_fault::no_sizes);
    STATIC_REQUIRE(size::detail::fault_of<falling>() == list_fault::not_ascending);
    STATIC_REQUIRE(size::detail::fault_of<repeated>() == list_fault::not_ascending);
    STATIC_REQUIRE(size::detail::fault_of<uneven>() == list_fault::not_a_multiple);
    STATIC_REQUIRE(size::detail::fault_of<tiny>() == list_fault::out_of_range);
    STATIC_REQUIRE(size::detail::fault_of<zero>() == list_fault::out_of_range);
    STATIC_REQUIRE(size::detail::fault_of<huge>() == list_fault::out_of_range);
    STATIC_REQUIRE(size::detail::fault_of<too_many>() == list_fault::too_many);
    STATIC_REQUIRE(size::detail::fault_of<wrong_tail>() == list_fault::above_is_no_tail);
    STATIC_REQUIRE(size::is_list<odd_sizes>);
}

TEMPLATE_TEST_CASE("a class aligned to 16 has slots of the same bytes rounded up to 16", "", size::list::roxie,
                   size::list::thor, size::list::fine, odd_sizes, dense_sizes) {
    for (unsigned shift = 16; shift <= 24; shift += 2) {
        const detail::size_classes<TestType> classes{(std::size_t{1} << shift) - header};
        for (std::size_t i = 0; i != classes.count(); ++i) {
            const std::size_t bytes = detail::align_up(classes.slot_bytes(i), std::size_t{16});
            std::size_t expected = 0;
            while (expected != classes.count() && classes.slot_bytes(expected) != bytes) ++expected;
            CHECK(classes.aligned_to_16(i) == (expected != classes.count() ? expected : detail::size_table::none));
        }
        CHECK(classes.aligned_to_16(detail::size_table::none) == detail::size_table::none);
    }
}
