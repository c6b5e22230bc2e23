// The calls as malloc(), calloc(), realloc() and free(): over row managers, chunk arenas and charged blocks.
#include <support/catch.hpp>

#include <allot/adapt/bytes.hpp>
#include <allot/buffer/charged_blocks.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/fit/best.hpp>
#include <allot/row_manager.hpp>
#include <allot/use/containers.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

using namespace allot::literals;
namespace adapt = allot::adapt;

namespace {

struct counted_rows : allot::policies<> {};
struct blocks_set : allot::policies<allot::fit::best> {}; // keeps blocks of whole pages

template <class Set> struct rows_of {
    allot::row_manager<Set> source{allot::limit{64_MiB}};
    std::size_t live() const { return source.live_rows(); }
};
struct blocks_of {
    allot::chunk_arena<blocks_set> source{allot::limit{64_MiB}, allot::chunk_bytes{8_MiB}};
    std::size_t live() const { return source.stats().live; }
};
struct charged_of {
    allot::chunk_arena<blocks_set> pool{allot::limit{64_MiB}, allot::chunk_bytes{8_MiB}};
    allot::account by{allot::name{"by"}};
    allot::charged_blocks<allot::chunk_arena<blocks_set>> source{pool, by};
    std::size_t live() const { return by.used(); }
};

bool is_zero(const void* p, std::size_t bytes) {
    const auto* const at = static_cast<const unsigned char*>(p);
    return std::all_of(at, at + bytes, [](unsigned char c) { return c == 0; });
}

} // namespace

TEST_CASE("what has no bytes to give is refused at compile time", "[adapt]") {
    STATIC_REQUIRE(adapt::byte_source<allot::row_manager<counted_rows>>);
    STATIC_REQUIRE(adapt::byte_source<allot::chunk_arena<blocks_set>>);
    STATIC_REQUIRE(adapt::byte_source<allot::charged_blocks<allot::chunk_arena<blocks_set>>>);
    STATIC_REQUIRE_FALSE(adapt::byte_source<allot::account>);
    STATIC_REQUIRE_FALSE(allot::detail::chargeable_blocks<allot::row_manager<counted_rows>>);
}

TEMPLATE_TEST_CASE("bytes are resized as by realloc()", "[adapt]", rows_of<counted_rows>,
                   rows_of<allot::use::containers>, blocks_of, charged_of) {
    TestType of;
    for (const std::size_t align : {std::size_t{8}, std::size_t{16}, std::size_t{512}, std::size_t{4096}}) {
        auto* p = static_cast<unsigned char*>(adapt::try_resize(of.source, nullptr, 0, 10, align));
        REQUIRE(p != nullptr);
        std::size_t had = 10;
        std::memset(p, 1, had);
        for (const std::size_t to :
             {std::size_t{11}, std::size_t{1000}, 3_MiB, 9_MiB, 2_MiB, std::size_t{70}, std::size_t{0}}) {
            auto* const now =
                static_cast<unsigned char*>(adapt::try_resize(of.source, p, std::min(had, to), to, align));
            REQUIRE(now != nullptr);
            CHECK(reinterpret_cast<std::uintptr_t>(now) % align == 0);
            CHECK(std::all_of(now, now + std::min(had, to), [](unsigned char c) { return c == 1; }));
            std::memset(now, 1, to);
            p = now, had = to;
        }
        adapt::release(of.source, p);
    }
    adapt::release(of.source, static_cast<void*>(nullptr));
    CHECK(of.live() == 0);
}

TEMPLATE_TEST_CASE("a request that cannot be served says why, and changes nothing", "[adapt]", rows_of<counted_rows>,
                   blocks_of, charged_of) {
    TestType of;
    allot::charge_status why;
    auto* const p = static_cast<char*>(adapt::try_allocate(of.source, 100, 16, &why));
    REQUIRE(p != nullptr);
    std::strcpy(p, "kept");
    const std::size_t live = of.live();
    for (const std::size_t bytes : {65_MiB, std::size_t{1} << 31, std::size_t(PTRDIFF_MAX), SIZE_MAX}) {
        CHECK(adapt::try_allocate(of.source, bytes, 16, &why) == nullptr);
        CHECK_FALSE(why.charged());
        CHECK(adapt::try_allocate_zeroed(of.source, bytes, 16, &why) == nullptr);
        CHECK(adapt::try_resize(of.source, p, 5, bytes, 16, &why) == nullptr);
        CHECK_FALSE(why.charged());
        CHECK(std::strcmp(p, "kept") == 0);
    }
    for (const std::size_t align : {std::size_t{0}, std::size_t{24}, std::size_t{1} << 30}) {
        CHECK(adapt::try_allocate(of.source, 10, align, &why) == nullptr);
        CHECK(why.outcome == allot::charge_outcome::misused);
    }
    CHECK(of.live() == live);
    adapt::release(of.source, p);
    CHECK(of.live() == 0);
}

TEMPLATE_TEST_CASE("zeroed bytes are zero, of a second use too", "[adapt]", rows_of<counted_rows>,
                   rows_of<allot::use::containers>, blocks_of, charged_of) {
    TestType of;
    for (const std::size_t align : {std::size_t{8}, std::size_t{64}})
        for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{5000}, 20_KiB - 3,
                                        64_KiB, 1_MiB, 3_MiB - 77})
            for (int use = 0; use != 3; ++use) {
                void* const p = adapt::try_allocate_zeroed(of.source, bytes, align);
                REQUIRE(p != nullptr);
                CHECK(is_zero(p, bytes));
                std::memset(p, 0xff, bytes);
                adapt::release(of.source, p);
            }
    CHECK(of.live() == 0);
}

TEMPLATE_TEST_CASE("zeros that the system has just provided are not written", "[adapt]", rows_of<counted_rows>,
                   blocks_of, charged_of) {
    TestType of;
    void* const p = adapt::try_allocate_zeroed(of.source, 48_MiB, 8);
    REQUIRE(p != nullptr);
    if constexpr (requires { of.source.blocks(); }) CHECK(of.source.blocks().arena().resident() < 8_MiB);
    else CHECK(of.source.arena().resident() < 8_MiB);
    CHECK(is_zero(p, 48_MiB));
    adapt::release(of.source, p);
}
