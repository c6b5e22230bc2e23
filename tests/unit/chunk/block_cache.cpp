// A cache of blocks: what it holds, what gives way.
#include <support/catch.hpp>

#include <allot/chunk/block_cache.hpp>
#include <allot/chunk/block_size_classes.hpp>

#include <cstddef>

namespace {

using classes = allot::detail::block_size_classes<64, 4>;

std::byte* block(std::size_t n) { return reinterpret_cast<std::byte*>(0x7000'0000'0000 + n * 4096); }

allot::detail::cache_config plan_of(std::size_t chunk) {
    allot::detail::cache_config plan;
    plan.make(classes{}, chunk, chunk / 4);
    return plan;
}

} // namespace

TEST_CASE("the last block in is the first out, and a full class gives its oldest half", "[chunks]") {
    const auto plan = plan_of(std::size_t{4} << 20);
    allot::detail::block_cache<false> cache;
    REQUIRE(cache.open(plan));
    const unsigned c = classes::class_of(5000);
    const std::size_t bytes = classes::bytes_of(c);
    REQUIRE(plan.limit[c] == 12); // of 5120 bytes in 64 KiB
    std::size_t n = 0;
    while (cache.push(c, bytes, block(n))) ++n;
    CHECK(n == plan.limit[c]);
    CHECK(cache.bytes_now() == n * bytes);
    std::byte* out[64];
    CHECK(cache.make_room<classes>(c, out, 64) == 6);
    CHECK(out[0] == block(0));
    CHECK(out[5] == block(5));
    CHECK(cache.pop(c, bytes) == block(11));
    CHECK(cache.blocks_of(c) == 5);
    CHECK(cache.take_largest<classes>(out, 64) == 5);
    CHECK(cache.bytes_now() == 0);
    CHECK(cache.pop(c, bytes) == nullptr);
}

TEST_CASE("where the bytes are short the largest blocks give way, and more than an eighth is in no bin", "[chunks]") {
    const std::size_t chunk = std::size_t{4} << 20;
    const auto plan = plan_of(chunk);
    allot::detail::block_cache<false> cache;
    REQUIRE(cache.open(plan));
    CHECK(plan.limit[classes::class_of(chunk / 32)] == 1);
    CHECK(plan.limit[classes::class_of(chunk / 32 + 1)] == 0);
    std::size_t n = 0, refused = 0;
    for (unsigned c = 0; classes::bytes_of(c) <= chunk / 32; ++c)
        for (std::uint32_t i = 0; i != plan.limit[c]; ++i) refused += !cache.push(c, classes::bytes_of(c), block(n++));
    REQUIRE(refused != 0);
    CHECK(cache.bytes_now() <= plan.budget);
    std::byte* out[64];
    const unsigned last = classes::class_of(chunk / 32);
    REQUIRE(cache.blocks_of(last) == 0);
    const auto gone = cache.make_room<classes>(last, out, 64);
    CHECK(gone != 0);
    CHECK(cache.blocks_of(0) == 64); // the small ones stay
    CHECK(cache.bytes_now() <= plan.budget / 4 * 3);
}

TEST_CASE("of blocks that are too large for the bins the last one is kept", "[chunks]") {
    const std::size_t chunk = std::size_t{4} << 20;
    const auto plan = plan_of(chunk);
    const unsigned quarter = classes::class_of(chunk / 4), eighth = classes::class_of(chunk / 8);
    CHECK_FALSE(plan.keeps_last(classes::class_of(chunk / 32)));
    CHECK(plan.keeps_last(classes::class_of(chunk / 32 + 1)));
    CHECK(plan.keeps_last(quarter));
    CHECK_FALSE(plan.keeps_last(quarter + 1));
    allot::detail::block_cache<false> cache;
    REQUIRE(cache.open(plan));
    CHECK(cache.take_last() == nullptr);
    CHECK_FALSE(cache.push(quarter, chunk / 4, block(1)));
    CHECK(cache.keep_last(quarter, block(1)) == nullptr);
    CHECK(cache.keep_last(eighth, block(2)) == block(1));
    CHECK(cache.blocks_of(eighth) == 1);
    CHECK(cache.blocks_of(quarter) == 0);
    CHECK(cache.pop(quarter, chunk / 4) == nullptr);
    CHECK(cache.pop(eighth, chunk / 8) == block(2));
    CHECK(cache.blocks_of(eighth) == 0);
    CHECK(cache.take_last() == nullptr);
}
