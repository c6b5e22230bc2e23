// How far `scanning` looks for a free slot: bounded at any occupancy, whatever the order of release.
#include <support/catch.hpp>

#include <allot/slots/delay_release.hpp>
#include <allot/slots/geometry.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <vector>

namespace {

using scanning = allot::slots::scanning;

// A megabyte of slots, all with their users at first; rows are full of marks.
struct full_page {
    static constexpr std::size_t bytes = std::size_t{1} << 20;
    struct aligned_free {
        void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{4096}); }
    };
    std::unique_ptr<std::byte[], aligned_free> memory{new (std::align_val_t{4096}) std::byte[bytes]};
    allot::detail::slot_geometry cut;
    scanning::in_page slots;

    full_page(std::size_t row, std::size_t header)
        : cut(allot::detail::compute_geometry(bytes, 192, row, 4, header, [=](std::size_t n) {
              return allot::detail::align_up(scanning::out_of_band_bytes(n, 64, header), std::size_t{8});
          })) {
        std::memset(memory.get(), 0xff, bytes);
        slots.reset(memory.get() + 192, cut);
    }
    std::byte* row(std::uint32_t i) { return memory.get() + cut.offset_of(i); }
    // The first n slots get their users.
    void hand_out(std::uint32_t n) {
        for (std::uint32_t i = 0; cut.header >= 4 && i < n; ++i) std::memset(row(i) - 4, 0, 4);
        slots.set_high_water_mark(n);
    }
    void put(std::vector<std::byte*>& rows) { slots.put(memory.get(), cut, rows.data(), rows.size()); }
    std::size_t claim(std::byte** out, std::size_t n) { return slots.claim(memory.get(), cut, out, n); }
};

enum class order { random, lifo, fifo };

std::byte* pick(std::deque<std::byte*>& live, order by, std::mt19937& random) {
    if (by == order::random) std::swap(live[random() % live.size()], live.back());
    std::byte* const row = by == order::fifo ? live.front() : live.back();
    if (by == order::fifo) live.pop_front();
    else live.pop_back();
    return row;
}

} // namespace

TEST_CASE("a claimed slot costs a bounded number of looks at any occupancy, in any order", "[slots]") {
    constexpr unsigned rounds = 300;
    for (const std::size_t header : {0u, 4u, 8u})
        for (const order by : {order::random, order::lifo, order::fifo})
            for (const std::size_t batch : {1u, 16u, 32u})
                for (unsigned percent = 10; percent <= 100; percent += percent < 90 ? 20 : 5) {
                    full_page page(64, header);
                    const std::uint32_t n = page.cut.capacity;
                    page.hand_out(n);
                    std::mt19937 random(percent);
                    std::deque<std::byte*> live;
                    for (std::uint32_t i = 0; i < n; ++i) live.push_back(page.row(i));
                    std::vector<std::byte*> rows;
                    std::uint64_t put = 0, looked = 0, furthest = 0;
                    const auto release = [&](std::size_t count) {
                        rows.clear();
                        while (rows.size() < count) rows.push_back(pick(live, by, random));
                        page.put(rows);
                        put += count;
                    };
                    while (live.size() * 100 > std::size_t{n} * percent) release(1);
                    bool good = true;
                    for (unsigned round = 0; round != rounds; ++round) {
                        release(batch);
                        for (std::size_t got = 0; got < batch;) {
                            std::byte* out[32];
                            const std::size_t some = page.claim(out, batch - got);
                            good = good && some != 0;
                            if (!good) break;
                            live.insert(live.end(), out, out + some);
                            got += some;
                            looked += page.slots.scanned();
                            furthest = std::max<std::uint64_t>(furthest, page.slots.scanned());
                        }
                    }
                    INFO(percent << " % full, header " << header << ", order " << static_cast<int>(by) << ", batch "
                                 << batch << ": " << looked << " looks for " << rounds * batch << " slots, at most "
                                 << furthest << " at once");
                    CHECK(good);
                    CHECK(looked <= scanning::group * put); // each hint was paid for by a release
                    CHECK(furthest <= scanning::scan_limit + 3 * scanning::group);
                    CHECK(looked <= rounds * (scanning::group * batch + 2 * scanning::group));
                    CHECK(page.slots.valid(page.memory.get(), page.cut, static_cast<std::uint32_t>(n - live.size())));
                }
}

TEST_CASE("slots that nobody had are not looked at, whatever lies there", "[slots]") {
    full_page page(64, 4);
    page.hand_out(5); // behind them: bytes that look like marks
    std::vector<std::byte*> rows{page.row(1), page.row(4)};
    page.put(rows);
    CHECK(page.slots.valid(page.memory.get(), page.cut, 2));
    std::byte* out[32];
    REQUIRE(page.claim(out, 32) == 2);
    CHECK(out[1] == page.row(1));
    CHECK(out[0] == page.row(4));
    CHECK(page.slots.scanned() == 5);
    page.hand_out(20);
    rows = {page.row(19)};
    page.put(rows);
    REQUIRE(page.claim(out, 32) == 1);
    CHECK(out[0] == page.row(19));
}

TEST_CASE("a claimed slot bears no mark", "[slots]") {
    full_page page(24, 8);
    page.hand_out(page.cut.capacity);
    std::vector<std::byte*> rows;
    for (std::uint32_t i = 0; i < 100; ++i) rows.push_back(page.row(i * 7));
    page.put(rows);
    for (std::byte* row : rows) {
        std::uint32_t word;
        std::memcpy(&word, row - 4, 4);
        CHECK(word == allot::detail::slot_marks::bit);
    }
    std::byte* out[32];
    for (std::size_t got; (got = page.claim(out, 32)) != 0;)
        for (std::size_t i = 0; i < got; ++i) {
            std::uint32_t word;
            std::memcpy(&word, out[i] - 4, 4);
            CHECK(word == 0);
        }
}

TEST_CASE("a slot given back ahead of a claim that stopped in its group is found once", "[slots]") {
    full_page page(64, 4);
    page.hand_out(16);
    std::vector<std::byte*> rows{page.row(0), page.row(2)};
    page.put(rows);
    std::byte* out[4];
    REQUIRE(page.claim(out, 1) == 1); // stops behind slot 0
    CHECK(out[0] == page.row(0));
    rows = {page.row(0), page.row(9)}; // one behind, one ahead
    page.put(rows);
    CHECK(page.slots.valid(page.memory.get(), page.cut, 3));
    REQUIRE(page.claim(out, 4) == 3);
    CHECK(out[2] == page.row(2)); // the rest of the group comes first
    CHECK(out[1] == page.row(9));
    CHECK(out[0] == page.row(0));
    CHECK(page.claim(out, 4) == 0);
}
