// What heaplets ask of a slots policy, held against a naive model. A new policy joins by its name in `policies`.
#include <support/catch.hpp>

#include <allot/heap/heaplet.hpp>
#include <allot/slots/bitmap.hpp>
#include <allot/slots/delay_release.hpp>
#include <allot/slots/linked.hpp>
#include <allot/slots/scanning.hpp>
#include <allot/sys/poison.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <tuple>
#include <vector>

namespace {

using policies =
    std::tuple<allot::slots::linked, allot::slots::bitmap, allot::slots::scanning, allot::slots::delay_release>;

// Those that look for free slots may stop early, but not without one.
template <class Slots> constexpr bool searches = requires(typename Slots::in_page& slots) { slots.scanned(); };

struct aligned_free {
    void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{4096}); }
};

// A page of memory cut into slots, outside of any heap; every slot starts with its user, whose row is full of marks
// and whose count word says one holder.
template <class Slots> class bench_page {
  public:
    bench_page(std::size_t page_bytes, std::size_t row_bytes, std::size_t align, std::size_t header)
        : memory_(new(std::align_val_t{4096}) std::byte[page_bytes]),
          cut(allot::detail::compute_geometry(
              page_bytes, 192, std::max(row_bytes, Slots::min_row_bytes), align, header, [=](std::size_t n) {
                  const std::size_t stride =
                      allot::detail::align_up(std::max(row_bytes, Slots::min_row_bytes) + header, align);
                  return allot::detail::align_up(Slots::out_of_band_bytes(n, stride, header), std::size_t{8});
              })) {
        std::memset(base(), 0xff, page_bytes);
        slots.reset(base() + 192, cut);
        if (header >= 4)
            for (std::uint32_t i = 0; i < cut.capacity; ++i) set_count(row(i), 1);
        if constexpr (searches<Slots>) slots.set_high_water_mark(cut.capacity);
    }
    std::byte* base() const { return memory_.get(); }
    std::byte* row(std::uint32_t i) const { return base() + cut.offset_of(i); }
    // As releasing and claiming a row does.
    void set_count(std::byte* row, std::uint32_t n) const {
        if (cut.header >= 4) std::memcpy(row - 4, &n, 4);
    }
    std::uint32_t index(const std::byte* row) const { return cut.index_of(static_cast<std::size_t>(row - base())); }

  private:
    std::unique_ptr<std::byte[], aligned_free> memory_;

  public:
    allot::detail::slot_geometry cut;
    typename Slots::in_page slots;
};

// Random puts and claims; the model is a flag a slot.
template <class Slots> void trace(bench_page<Slots>& page, unsigned seed, int steps) {
    std::mt19937 random(seed);
    const std::uint32_t n = page.cut.capacity;
    std::vector<bool> given(n, false);
    std::vector<std::uint32_t> out(n); // slots with their user
    for (std::uint32_t i = 0; i < n; ++i) out[i] = i;
    std::uint32_t count = 0;
    std::vector<std::byte*> rows;
    bool good = true;
    for (int step = 0; step < steps; ++step) {
        const std::size_t most = 1 + random() % 64;
        if (random() % 2 != 0 && !out.empty()) {
            rows.clear();
            for (std::size_t i = 0; i < most && !out.empty(); ++i) {
                std::swap(out[random() % out.size()], out.back());
                given[out.back()] = true;
                rows.push_back(page.row(out.back()));
                page.set_count(rows.back(), 0);
                out.pop_back();
            }
            if (random() % 2 != 0) page.slots.put(page.base(), page.cut, rows.data(), rows.size());
            else page.slots.put_locked(page.base(), page.cut, rows.data(), rows.size());
            count += static_cast<std::uint32_t>(rows.size());
        } else {
            rows.assign(most, nullptr);
            const std::size_t got = page.slots.claim(page.base(), page.cut, rows.data(), most);
            good = good && got <= most && (got == most || got == count || (searches<Slots> && got != 0));
            for (std::size_t i = 0; i < got; ++i) {
                const std::uint32_t at = page.index(rows[i]);
                good = good && at < n && page.row(at) == rows[i] && given[at];
                if (!good) break;
                given[at] = false;
                page.set_count(rows[i], 1);
                const std::size_t used = std::min<std::size_t>(page.cut.stride - page.cut.header, 16);
                allot::detail::sys::unpoison(rows[i], used); // as the start of a row does
                std::memset(rows[i], 0xff, used);
                out.push_back(at);
                --count;
            }
        }
        if (!good) break;
        if (step % 16 == 0 || n < 64) good = page.slots.valid(page.base(), page.cut, count);
    }
    CHECK(good);
    CHECK(page.slots.valid(page.base(), page.cut, count));
}

} // namespace

TEMPLATE_LIST_TEST_CASE("slots: a heaplet's policy is in its category", "[slots]", policies) {
    STATIC_REQUIRE(allot::category::slots::takes<TestType>);
    STATIC_REQUIRE(TestType::min_row_bytes >= 1);
    for (const std::size_t header : {0u, 4u, 8u})
        for (const std::size_t stride : {8u, 16u, 20u, 24u, 64u, 4096u}) {
            CHECK(TestType::out_of_band_bytes(0, stride, header) == 0);
            for (std::size_t n = 1; n < 300000; n = n * 3 / 2 + 1) {
                CHECK(TestType::out_of_band_bytes(n, stride, header) >=
                      TestType::out_of_band_bytes(n - 1, stride, header));
                // out of band at most 1.6 % of the slots, and four words; marks without a header: a byte
                const std::size_t marks = searches<TestType> && header == 0 ? n + 8 : 0;
                CHECK(TestType::out_of_band_bytes(n, stride, header) <= n * stride * 16 / 1000 + 32 + marks);
            }
        }
}

TEMPLATE_LIST_TEST_CASE("slots: an untouched page has none to claim", "[slots]", policies) {
    bench_page<TestType> page(65536, 64, 8, 8);
    std::byte* out[8] = {};
    CHECK(page.slots.claim(page.base(), page.cut, out, 8) == 0);
    CHECK(page.slots.valid(page.base(), page.cut, 0));
    CHECK_FALSE(page.slots.valid(page.base(), page.cut, 1));
}

TEMPLATE_LIST_TEST_CASE("slots: each slot put is claimed once, in every geometry", "[slots]", policies) {
    std::size_t geometries = 0;
    for (const std::size_t page_bytes : {65536u, 262144u, 1048576u})
        for (const std::size_t row : {1u, 4u, 8u, 12u, 24u, 60u, 64u, 100u, 504u, 1000u, 4000u, 20000u, 60000u})
            for (const std::size_t align : {4u, 8u, 64u})
                for (const std::size_t header : {0u, 4u, 8u}) {
                    if (page_bytes > 65536 && row < 24 && (align != 8 || header != 8)) continue; // many slots
                    bench_page<TestType> page(page_bytes, row, align, header);
                    if (page.cut.capacity == 0) continue;
                    ++geometries;
                    std::vector<std::byte*> all(page.cut.capacity);
                    for (std::uint32_t i = 0; i < page.cut.capacity; ++i) all[i] = page.row(i);
                    std::shuffle(all.begin(), all.end(), std::mt19937(7));
                    const std::size_t half = all.size() / 2;
                    if (half != 0) page.slots.put(page.base(), page.cut, all.data(), half);
                    page.slots.put_locked(page.base(), page.cut, all.data() + half, all.size() - half);
                    REQUIRE(page.slots.valid(page.base(), page.cut, page.cut.capacity));
                    std::vector<bool> seen(page.cut.capacity, false);
                    std::byte* out[33];
                    std::size_t n = 0;
                    bool good = true;
                    while (const std::size_t got = page.slots.claim(page.base(), page.cut, out, 33)) {
                        for (std::size_t i = 0; i < got; ++i, ++n) {
                            const std::uint32_t at = page.index(out[i]);
                            good = good && at < page.cut.capacity && !seen[at] && page.row(at) == out[i];
                            if (good) seen[at] = true;
                        }
                        if (!good) break;
                    }
                    INFO("page " << page_bytes << " row " << row << " align " << align << " header " << header);
                    REQUIRE(good);
                    REQUIRE(n == page.cut.capacity);
                    REQUIRE(page.slots.valid(page.base(), page.cut, 0));
                }
    CHECK(geometries > 150);
}

TEMPLATE_LIST_TEST_CASE("slots: random traces against the model", "[slots]", policies) {
    for (unsigned seed = 1; seed <= 24; ++seed) {
        const std::size_t row[] = {4, 8, 20, 64, 200, 1000, 9000, 30000};
        const std::size_t align[] = {4, 8, 16};
        INFO("seed " << seed);
        bench_page<TestType> page(65536, row[seed % 8], align[seed % 3], seed % 3 * 4);
        trace(page, seed, 2000);
    }
}

TEMPLATE_LIST_TEST_CASE("slots: a page that is reset forgets what was put", "[slots]", policies) {
    bench_page<TestType> page(65536, 32, 8, 8);
    std::byte* rows[] = {page.row(0), page.row(5), page.row(70)};
    page.slots.put(page.base(), page.cut, rows, 2);
    page.slots.put_locked(page.base(), page.cut, rows + 2, 1);
    page.slots.reset(page.base() + 192, page.cut);
    std::byte* out[8];
    CHECK(page.slots.claim(page.base(), page.cut, out, 8) == 0);
}

TEMPLATE_LIST_TEST_CASE("slots: many put while one claims", "[slots][threads]", policies) {
    constexpr int threads = 3;
    constexpr std::uint32_t rounds = ALLOT_TSAN ? 300 : 3000;
    bench_page<TestType> page(65536, 40, 8, 8);
    const std::uint32_t n = page.cut.capacity;
    // 0: with the claimer, which hands it to a putter; a slot claimed twice shows by its mark.
    std::vector<std::atomic<int>> owner(n);
    std::vector<std::vector<std::byte*>> hands(threads);
    std::atomic<bool> good{true};
    std::uint32_t claimed = 0;
    std::vector<std::byte*> mine;
    for (std::uint32_t i = 0; i < n; ++i) mine.push_back(page.row(i));
    for (std::uint32_t round = 0; round < rounds / 50; ++round) {
        for (auto& hand : hands) hand.clear();
        for (std::size_t i = 0; i < mine.size(); ++i) {
            owner[page.index(mine[i])] = 1;
            hands[i % threads].push_back(mine[i]);
        }
        mine.clear();
        std::vector<std::thread> all;
        std::atomic<int> putting{threads};
        for (int t = 0; t < threads; ++t)
            all.emplace_back([&, t] {
                auto& hand = hands[static_cast<std::size_t>(t)];
                std::mt19937 random(static_cast<unsigned>(t) + round);
                for (std::size_t i = 0; i < hand.size();) {
                    const std::size_t k = std::min<std::size_t>(1 + random() % 9, hand.size() - i);
                    for (std::size_t j = 0; j < k; ++j) owner[page.index(hand[i + j])] = 0;
                    page.slots.put(page.base(), page.cut, hand.data() + i, k);
                    i += k;
                }
                --putting;
            });
        std::byte* out[16];
        for (bool last = false; !last;) {
            last = putting == 0;
            if (!last && mine.size() > 32) { // the claimer puts, too
                for (std::size_t i = 0; i != 16; ++i) owner[page.index(mine[mine.size() - 16 + i])] = 0;
                page.slots.put_locked(page.base(), page.cut, mine.data() + mine.size() - 16, 16);
                mine.resize(mine.size() - 16);
                claimed -= 16;
            }
            while (const std::size_t got = page.slots.claim(page.base(), page.cut, out, 16)) {
                for (std::size_t i = 0; i < got; ++i) {
                    if (owner[page.index(out[i])].exchange(2) != 0) good = false;
                    mine.push_back(out[i]);
                }
                claimed += static_cast<std::uint32_t>(got);
            }
        }
        for (auto& t : all) t.join();
        if (mine.size() != n) good = false;
        if (!good) break;
    }
    CHECK(good);
    CHECK(claimed == n * (rounds / 50));
    CHECK(page.slots.valid(page.base(), page.cut, 0));
}

TEMPLATE_LIST_TEST_CASE("slots: a policy that sees it knows which rows were given back", "[slots]", policies) {
    if constexpr (requires(typename TestType::in_page& slots, bench_page<TestType>& page) {
                      slots.is_free(page.base(), page.cut, page.row(0));
                  })
        for (const std::size_t header : {0u, 4u, 8u}) {
            bench_page<TestType> page(65536, 24, 8, header);
            std::byte* rows[] = {page.row(0), page.row(5), page.row(70)};
            page.slots.put(page.base(), page.cut, rows, 3);
            for (std::uint32_t i = 0; i < page.cut.capacity; ++i)
                CHECK(page.slots.is_free(page.base(), page.cut, page.row(i)) == (i == 0 || i == 5 || i == 70));
            std::byte* out[3];
            REQUIRE(page.slots.claim(page.base(), page.cut, out, 3) == 3);
            for (std::byte* row : out) CHECK_FALSE(page.slots.is_free(page.base(), page.cut, row));
        }
}
