// What users of a chunk arena rely on, for every fit, over every kind of pages, with caches of the arena or of threads.
// A new fit joins by a line in `sets`.
#include <support/catch.hpp>
#include <support/chunk_sets.hpp>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

using namespace allot::literals;

namespace {

template <class Set> using made = home<Set>;

// Blocks that somebody has, held against their arena.
template <class Arena> class holder {
  public:
    holder(Arena& arena, bool touch) : arena_(arena), touch_(touch) {}

    void keep(const allot::block& b, std::size_t asked, std::size_t align) {
        const auto at = reinterpret_cast<std::uintptr_t>(b.address);
        REQUIRE(b.bytes >= asked);
        REQUIRE((at % align == 0 && at % 64 == 0));
        REQUIRE(arena_.contains(b.address));
        REQUIRE(arena_.capacity(b.address) == b.bytes);
        apart(at, b.bytes);
        held_[at] = {b.bytes, asked, ++mark_};
        live_ += b.bytes;
        write(at, b.bytes, mark_);
    }
    void give(std::uintptr_t at, bool sized) {
        const entry e = held_.at(at);
        unharmed(at, e);
        auto* const p = reinterpret_cast<void*>(at);
        if (sized) arena_.deallocate({p, e.asked});
        else arena_.deallocate(p);
        live_ -= e.bytes;
        held_.erase(at);
    }
    void resize(std::uintptr_t at, std::size_t bytes) {
        entry e = held_.at(at);
        const allot::block b = arena_.resize(reinterpret_cast<void*>(at), bytes);
        if (b) {
            REQUIRE((b.address == reinterpret_cast<void*>(at) && b.bytes >= bytes));
            live_ += b.bytes - e.bytes;
            e.bytes = e.asked = b.bytes;
        }
        REQUIRE(arena_.capacity(reinterpret_cast<void*>(at)) == e.bytes);
        if (touch_) REQUIRE(*reinterpret_cast<unsigned char*>(at) == e.mark);
        held_.erase(at);
        apart(at, e.bytes);
        e.mark = ++mark_;
        held_[at] = e;
        write(at, e.bytes, e.mark);
    }
    void agree() const {
        const auto f = arena_.stats();
        REQUIRE(arena_.valid());
        REQUIRE(f.live == live_);
        REQUIRE(f.live_blocks == held_.size());
        REQUIRE(f.live + f.cached + f.free + f.idle == f.charged);
    }
    std::uintptr_t some(std::mt19937& random) const {
        auto p = held_.begin();
        std::advance(p, static_cast<long>(random() % held_.size()));
        return p->first;
    }
    std::size_t size() const { return held_.size(); }
    std::size_t live() const { return live_; }

  private:
    struct entry {
        std::size_t bytes, asked;
        unsigned char mark;
    };
    void apart(std::uintptr_t at, std::size_t bytes) const {
        const auto next = held_.lower_bound(at);
        REQUIRE((next == held_.end() || next->first >= at + bytes));
        REQUIRE((next == held_.begin() || std::prev(next)->first + std::prev(next)->second.bytes <= at));
    }
    void write(std::uintptr_t at, std::size_t bytes, unsigned char mark) const {
        if (!touch_) return;
        auto* const p = reinterpret_cast<unsigned char*>(at);
        std::memset(p, mark, std::min<std::size_t>(bytes, 128));
        p[bytes / 2] = p[bytes - 1] = mark;
    }
    void unharmed(std::uintptr_t at, const entry& e) const {
        if (!touch_) return;
        const auto* const p = reinterpret_cast<unsigned char*>(at);
        REQUIRE(p[0] == e.mark);
        REQUIRE(p[e.bytes / 2] == e.mark);
        REQUIRE(p[e.bytes - 1] == e.mark);
    }
    Arena& arena_;
    const bool touch_;
    std::map<std::uintptr_t, entry> held_;
    std::size_t live_ = 0;
    unsigned char mark_ = 0;
};

} // namespace

TEMPLATE_LIST_TEST_CASE("blocks never overlap, keep their bytes, and nothing is lost", "[chunks]", chunk_sets) {
    made<TestType> home{64_MiB};
    auto& blocks = *home;
    holder held{blocks, home.host};
    std::mt19937 random{23};
    for (int step = 0; step < 12000; ++step) {
        const std::size_t bytes =
            random() % 100 == 0 ? random() % (8 << 20) : random() % (std::size_t{1} << random() % 19);
        const std::size_t align = std::size_t{1} << (random() % 4 != 0 ? random() % 7 : random() % 17);
        const std::size_t choice = random() % 100, allocate = step / 3000 % 2 == 0 ? 50U : 40U;
        if (held.size() == 0 || choice < allocate) {
            if (const allot::block b = blocks.try_allocate(bytes, align)) held.keep(b, bytes, align);
            else REQUIRE(held.live() > 8_MiB); // short of memory, not for nothing
        } else if (choice < 90) {
            held.give(held.some(random), false);
        } else {
            held.resize(held.some(random), bytes);
        }
        if (step % 1000 == 0) held.agree();
        if (step % 2500 == 0) blocks.trim();
    }
    held.agree();
    while (held.size() != 0) held.give(held.some(random), false);
    CHECK(blocks.stats().live == 0);
    blocks.trim();
    CHECK(blocks.stats().charged == blocks.stats().idle); // under retain::never
    CHECK(blocks.arena().stats().taken == 0);
    CHECK(blocks.valid());
}

TEMPLATE_LIST_TEST_CASE("given its bytes, a block is deallocated all the same", "[chunks]", chunk_sets) {
    made<TestType> home{64_MiB};
    auto& blocks = *home;
    for (int round = 0; round != 3; ++round) {
        std::vector<std::pair<allot::block, std::size_t>> all;
        for (std::size_t n = 1; n < 3_MiB; n += n / 3 + 1) all.emplace_back(blocks.try_allocate(n), n);
        for (std::size_t i = 0; i != all.size(); ++i) {
            REQUIRE(all[i].first);
            blocks.deallocate({all[i].first.address, i % 2 == 0 ? all[i].second : all[i].first.bytes});
        }
        CHECK(blocks.stats().live == 0);
        CHECK(blocks.valid());
    }
    blocks.deallocate(nullptr);
    blocks.deallocate(nullptr, 10);
}

TEMPLATE_LIST_TEST_CASE("every size up to a chunk and beyond has the capacity of its class", "[chunks]", chunk_sets) {
    made<TestType> home{64_MiB};
    auto& blocks = *home;
    constexpr bool twos = std::is_same_v<
        typename allot::detail::resolved<TestType, allot::product::chunk_arena>::template answer<allot::category::fit>,
        allot::fit::buddy>;
    const std::size_t chunk = blocks.chunk_bytes(), page = blocks.arena().page_bytes();
    std::size_t last = 0;
    for (std::size_t n = 0; n <= chunk + page; n += n < 4096 ? 1 : n < 70'000 ? 127 : page / 64 + 1) {
        const allot::block b = blocks.try_allocate(n);
        REQUIRE((b && b.bytes >= n && b.bytes >= last));
        last = b.bytes;
        if (n > 256 && n <= chunk)
            REQUIRE(static_cast<double>(b.bytes - n) < (twos ? 0.5 : 0.2) * static_cast<double>(b.bytes));
        if (n > chunk) REQUIRE(b.bytes == allot::detail::align_up(n, page));
        blocks.deallocate(b.address);
    }
}

TEMPLATE_LIST_TEST_CASE("the limit is hard, a refusal harms nobody, and pooled memory starves no large request",
                        "[chunks]", chunk_sets) {
    made<TestType> home{32_MiB};
    auto& blocks = *home;
    const auto held = [&] { return blocks.stats().charged; };
    std::vector<allot::block> all;
    while (const allot::block b = blocks.try_allocate(10'000)) {
        all.push_back(b);
        REQUIRE((!home.charges || held() <= 32_MiB));
    }
    CHECK(all.size() * 10'240 > 32_MiB / 10 * 6); // powers of two waste most: 16 KiB
    const std::size_t full = held(), live = blocks.stats().live;
    CHECK_FALSE(blocks.try_allocate(20_MiB));
    CHECK_FALSE(blocks.try_allocate(~std::size_t{0} / 4));
    CHECK(held() <= full);
    CHECK(blocks.stats().live == live);
    CHECK(blocks.stats().refused == 3);
    for (const allot::block& b : all) blocks.deallocate(b.address); // now the pool has it all
    const allot::block large = blocks.try_allocate(24_MiB);
    CHECK(large);
    CHECK(large.bytes == 24_MiB);
    CHECK_FALSE(blocks.try_allocate(16_MiB));
    blocks.deallocate(large.address);
    const allot::block again = blocks.try_allocate(10'000);
    CHECK(again);
    blocks.deallocate(again.address);
    CHECK(blocks.valid());
}

TEMPLATE_LIST_TEST_CASE("what is no block changes nothing", "[chunks]", chunk_sets) {
    if constexpr (ALLOT_CHECKED == 0) {
        made<TestType> home{32_MiB};
        auto& blocks = *home;
        const allot::block a = blocks.try_allocate(5000), large = blocks.try_allocate(12_MiB);
        static int elsewhere = 0;
        auto* const p = static_cast<std::byte*>(a.address);
        for (void* const wrong : {static_cast<void*>(&elsewhere), static_cast<void*>(p + 1), static_cast<void*>(p + 64),
                                  static_cast<void*>(static_cast<std::byte*>(large.address) + 64),
                                  static_cast<void*>(blocks.arena().end() - 64)}) {
            blocks.deallocate(wrong);
            CHECK(blocks.capacity(wrong) == 0);
            CHECK_FALSE(blocks.resize(wrong, 1));
        }
        CHECK(blocks.stats().live_blocks == 2);
        blocks.deallocate(a.address);
        blocks.deallocate(a.address);
        CHECK(blocks.stats().live_blocks == 1);
        const allot::block b = blocks.try_allocate(5000), c = blocks.try_allocate(5000);
        CHECK(b.address != c.address);
        CHECK_FALSE(blocks.try_allocate(10, 3));
        CHECK_FALSE(blocks.try_allocate(10, 32_MiB));
        for (void* const q : {b.address, c.address, large.address}) blocks.deallocate(q);
        CHECK(blocks.valid());
        CHECK(blocks.stats().live_blocks == 0);
    }
}
