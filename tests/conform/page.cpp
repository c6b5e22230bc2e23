// What arenas ask of a page policy, seen through an arena. A new policy joins by its set in `sets_of_pages`.
#include <support/catch.hpp>

#include <allot/core/units.hpp>
#include <allot/page/arena.hpp>
#include <allot/page/borrowed.hpp>
#include <allot/page/huge_pages.hpp>
#include <allot/page/mapped.hpp>

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <vector>

using namespace allot::literals;

namespace {

struct mapped : allot::policies<> {};
struct mapped_kept : allot::policies<allot::retain::never> {};
struct mapped_options : allot::policies<allot::page::mapped<allot::page::mapped_options{
                            .page = 128_KiB, .reserve = 32_MiB, .dont_dump = true, .transparent_huge = false}>> {};
struct huge : allot::policies<allot::page::huge_pages<>> {};
struct borrowed : allot::policies<allot::page::borrowed> {};
using sets_of_pages = std::tuple<mapped, mapped_kept, mapped_options, huge, borrowed>;

template <class Set> class place {
    using policy = typename allot::detail::resolved<Set, allot::product::arena>::template answer<allot::category::page>;
    static constexpr std::size_t lent_bytes = 9_MiB;
    std::unique_ptr<std::byte[]> bytes_;

  public:
    static constexpr bool lent = requires { policy::lent; };
    std::optional<allot::arena<Set>> arena;

    explicit place(std::size_t limit) {
        STATIC_REQUIRE(allot::category::page::takes<policy>);
        const allot::page_bytes page{64_KiB};
        if constexpr (lent) {
            bytes_ = std::make_unique<std::byte[]>(lent_bytes);
            arena.emplace(allot::limit{limit}, page, std::span<std::byte>(bytes_.get(), lent_bytes),
                          allot::name{"place"});
        } else arena.emplace(allot::limit{limit}, page, allot::reserve_bytes{16_MiB}, allot::name{"place"});
    }
};

struct run {
    std::byte* first;
    std::size_t pages;
    unsigned char mark;
};

} // namespace

TEMPLATE_LIST_TEST_CASE("page: pages are aligned, in the arena, found by address, and usable", "[page]",
                        sets_of_pages) {
    place<TestType> here(8_MiB);
    auto& arena = *here.arena;
    CHECK(arena.page_bytes() == 64_KiB);
    CHECK(std::string(arena.name()) == "place");
    CHECK(std::string(arena.page_kind()).size() > 4);
    std::byte* const one = arena.take();
    std::byte* const two = arena.take(5);
    REQUIRE(one != nullptr);
    REQUIRE(two != nullptr);
    for (std::byte* p : {one, two}) {
        CHECK(reinterpret_cast<std::uintptr_t>(p) % 64_KiB == 0);
        CHECK(arena.contains(p));
        CHECK(arena.is_taken(p));
        CHECK(allot::detail::arena_at(p + 100) == &arena);
    }
    std::memset(one, 1, 64_KiB);
    std::memset(two, 2, 5 * 64_KiB);
    CHECK(arena.stats().taken == 6 * 64_KiB);
    CHECK(arena.resident() >= 6 * 64_KiB);
    arena.give(two + 64_KiB, 4);
    arena.give(two, 1);
    arena.give(one, 1);
    CHECK(arena.stats().taken == 0);
    CHECK(arena.valid());
    CHECK_FALSE(arena.contains(nullptr));
}

TEMPLATE_LIST_TEST_CASE("page: random traces of pages and runs against the model", "[page]", sets_of_pages) {
    for (unsigned seed = 1; seed <= 6; ++seed) {
        INFO("seed " << seed);
        place<TestType> here(6_MiB);
        auto& arena = *here.arena;
        const std::size_t most = arena.limit() / 64_KiB;
        std::mt19937 random(seed);
        std::vector<run> runs;
        std::size_t taken = 0, peak = 0;
        bool good = most > 80;
        for (unsigned step = 0; step < 2500 && good; ++step) {
            const unsigned choice = random() % 16;
            if (choice < 8) {
                const std::size_t n = choice < 5 ? 1 : 1 + random() % 12;
                if (std::byte* const p = arena.take(n)) {
                    good = taken + n <= most;
                    runs.push_back({p, n, static_cast<unsigned char>(step)});
                    for (std::size_t i = 0; i < n; ++i) p[i << 16] = p[(i << 16) + 65535] = std::byte{runs.back().mark};
                    taken += n;
                    peak = taken > peak ? taken : peak;
                } else good = n > 1 || taken == most;
            } else if (choice < 14 && !runs.empty()) {
                std::swap(runs[random() % runs.size()], runs.back());
                run& r = runs.back();
                for (std::size_t i = 0; i < r.pages; ++i)
                    good = good && r.first[i << 16] == std::byte{r.mark} &&
                           r.first[(i << 16) + 65535] == std::byte{r.mark};
                const std::size_t n = 1 + random() % r.pages; // a part of it
                arena.give(r.first, n);
                taken -= n;
                r.first += n << 16;
                r.pages -= n;
                if (r.pages == 0) runs.pop_back();
            } else if (choice == 14 && !runs.empty()) {
                run& r = runs[random() % runs.size()];
                if (arena.grow_up(r.first, r.pages, r.pages + 1)) {
                    r.first[r.pages << 16] = r.first[(r.pages << 16) + 65535] = std::byte{r.mark};
                    ++r.pages;
                    ++taken;
                    good = taken <= most;
                    peak = taken > peak ? taken : peak;
                }
            } else if (choice == 15) arena.trim();
            good = good && arena.stats().taken == taken * 64_KiB;
            if (step % 64 == 0) good = good && arena.valid();
        }
        CHECK(good);
        CHECK(arena.stats().peak_taken == peak * 64_KiB);
        for (const run& r : runs) arena.give(r.first, r.pages);
        CHECK(arena.stats().taken == 0);
        CHECK(arena.valid());
    }
}

TEMPLATE_LIST_TEST_CASE("page: a refused request leaves everything as before", "[page]", sets_of_pages) {
    place<TestType> here(4_MiB);
    auto& arena = *here.arena;
    std::vector<std::byte*> all;
    while (std::byte* const p = arena.take()) all.push_back(p);
    CHECK(all.size() * 64_KiB == arena.limit());
    const auto before = arena.stats();
    CHECK(arena.take() == nullptr);
    CHECK(arena.take(3) == nullptr);
    CHECK(arena.take(std::size_t{1} << 50) == nullptr);
    CHECK_FALSE(arena.grow_up(all[0], 1, 100));
    CHECK(arena.stats().taken == before.taken);
    CHECK(arena.stats().peak_taken == before.peak_taken);
    for (std::byte* p : all) arena.give(p, 1);
    const std::size_t trimmed = arena.trim();
    using retain =
        typename allot::detail::resolved<TestType, allot::product::arena>::template answer<allot::category::retain>;
    if (place<TestType>::lent || std::is_same_v<retain, allot::retain::never>) CHECK(trimmed == 0);
    CHECK(arena.trim() == 0);
    CHECK(arena.take(8) != nullptr);
}
