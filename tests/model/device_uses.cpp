// The map of uses against one that keeps every byte by itself: any ranges, split and made one again, over regions that
// come and go. The first hazard of each use must be the same, and so must whether the memory may be used.
#include <support/catch.hpp>

#include <allot/device/simulator/uses.hpp>

#include <algorithm>
#include <optional>
#include <random>

namespace device = allot::device;
namespace sim = allot::device::detail::sim;
using device::hazard_kind;
using sim::intent;

namespace {

constexpr sim::address first = 1000;
constexpr std::size_t bytes = 256, actors = 4;

struct byte {
    bool there = false, right = true;
    enum { whole, live, freed } is = whole;
    sim::use write;
    std::vector<sim::use> reads;
};

struct found {
    hazard_kind kind;
    sim::address from;
    friend bool operator==(const found&, const found&) = default;
};

// What a use of one byte tells, and what it leaves behind.
std::optional<hazard_kind> use_byte(byte& b, intent what, const sim::use& now, const sim::vector_clock& clock) {
    if (!b.there) return hazard_kind::not_allocated;
    std::optional<hazard_kind> reported;
    const auto unordered = [&](const sim::use& u) { return !clock.knows(u.who, u.when); };
    if (!b.right) reported = hazard_kind::no_access;
    else if (b.is == byte::freed && what == intent::free) reported = hazard_kind::freed_twice;
    else if (b.is == byte::freed && what != intent::allocate) reported = hazard_kind::used_after_free;
    else if (b.is == byte::live && what == intent::allocate) reported = hazard_kind::handed_out_twice;
    else if (unordered(b.write)) reported = hazard_kind::not_ordered;
    else if (what != intent::read)
        for (const sim::use& u : b.reads)
            if (unordered(u)) reported = hazard_kind::not_ordered;
    if (what == intent::read) b.reads.push_back(now);
    else {
        b.write = now;
        b.reads.clear();
        if (what == intent::allocate) b.is = byte::live;
        if (what == intent::free) b.is = byte::freed;
    }
    return reported;
}

} // namespace

TEST_CASE("uses of any ranges are followed as if byte by byte", "[device]") {
    for (unsigned seed = 1; seed != 61; ++seed) {
        INFO("seed " << seed);
        std::mt19937 random(seed);
        sim::use_map map;
        std::vector<byte> model(bytes);
        sim::region regions[3] = {
            {first, 64}, {first + 64, 80}, {first + 176, 80}}; // two side by side, a gap, one more
        const auto begin_region = [&](const sim::region& r) {
            map.insert(r, {"begin", 0, sim::host});
            for (std::size_t i = 0; i != r.bytes; ++i) {
                model[r.begin - first + i] = {};
                model[r.begin - first + i].there = true;
                model[r.begin - first + i].right = r.writers == 0; // in this test: a region without a right
            }
        };
        for (const sim::region& r : regions) begin_region(r);
        sim::vector_clock clocks[actors];
        unsigned wrong = 0, hazards = 0;
        for (unsigned step = 0; step != 3000; ++step) {
            const auto who = static_cast<sim::actor>(random() % actors);
            if (random() % 4 != 0) clocks[who].join(clocks[random() % actors]);
            if (random() % 50 == 0) { // a region goes, and comes back
                sim::region& r = regions[random() % 3];
                map.erase(r.begin, r.begin + r.bytes, [](sim::address, sim::address, const sim::use&) {});
                for (std::size_t i = 0; i != r.bytes; ++i) model[r.begin - first + i] = {};
                if (random() % 4 != 0) {
                    r.writers = random() % 8 == 0;
                    begin_region(r);
                } else {
                    r.bytes = r.begin == first ? 1 + random() % 64 : 1 + random() % 80;
                    begin_region(r);
                }
            }
            const std::size_t from = random() % bytes,
                              to = std::min(bytes, from + 1 + random() % (random() % 8 != 0 ? 8 : 120));
            const auto what = static_cast<intent>(random() % 16 < 13 ? random() % 2 : 2 + random() % 2);
            const sim::use now{"use", clocks[who].tick(who), who};
            std::optional<found> expected, reported;
            bool usable = true;
            for (std::size_t i = from; i != to; ++i) {
                const auto kind = use_byte(model[i], what, now, clocks[who]);
                if (kind && !expected) expected = found{*kind, first + i};
                usable = usable && kind != hazard_kind::not_allocated && kind != hazard_kind::no_access;
            }
            const bool got = map.access(
                first + from, first + to, what, now, clocks[who], [](const sim::region& r) { return r.writers == 0; },
                [&](hazard_kind kind, sim::address at, sim::address, const sim::use&) { reported = found{kind, at}; });
            wrong += reported != expected || got != usable;
            hazards += expected.has_value();
        }
        CHECK(wrong == 0);
        CHECK(hazards > 500);
        CHECK(hazards < 2800);
    }
}
