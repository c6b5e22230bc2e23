// What allocators ask of a fit, whatever it finds first. A new policy joins by its name in `policies`, and in `tagged`
// where it keeps whose stream freed a run.
#include <support/catch.hpp>
#include <support/failing_metadata.hpp>
#include <support/stream_tag.hpp>

#include <allot/fit/best.hpp>
#include <allot/fit/buddy.hpp>
#include <allot/fit/runs.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <tuple>
#include <vector>

namespace {

using tagged = std::tuple<allot::fit::best>;
using policies = std::tuple<allot::fit::best, allot::fit::buddy, allot::fit::runs>;

constexpr std::uintptr_t base = 0x7100'0000'0000;
constexpr std::size_t unit = 256, range = 1 << 20;

// Runs of two segments of which no two overlap, held against their fit.
template <class Runs> class holder {
  public:
    explicit holder(Runs& fit) : fit_(fit) {}

    void keep(std::uintptr_t address, std::size_t bytes, std::size_t asked, std::size_t align) {
        REQUIRE(bytes >= asked);
        REQUIRE(bytes % unit == 0);
        REQUIRE(address % align == 0);
        REQUIRE(address % unit == 0);
        REQUIRE((address >= base && address + bytes <= base + 3 * range));
        REQUIRE((address + bytes <= base + range || address >= base + 2 * range)); // in one range, the two are apart
        const auto next = held_.lower_bound(address);
        REQUIRE((next == held_.end() || next->first >= address + bytes));
        REQUIRE((next == held_.begin() || std::prev(next)->first + std::prev(next)->second <= address));
        held_[address] = bytes;
        live_ += bytes;
    }
    void give(std::uintptr_t address, std::uint32_t stream, std::uint64_t now) {
        REQUIRE(fit_.release(address, {stream, now}) == held_.at(address));
        live_ -= held_.at(address);
        held_.erase(address);
    }
    void agree() const {
        REQUIRE(fit_.valid());
        REQUIRE(fit_.live_bytes() == live_);
        REQUIRE(fit_.live_runs() == held_.size());
        REQUIRE(fit_.bytes() == fit_.live_bytes() + fit_.free_bytes());
    }
    std::uintptr_t some(std::mt19937& random) const {
        auto p = held_.lower_bound(base + random() % (3 * range));
        return p == held_.end() ? held_.begin()->first : p->first;
    }
    bool empty() const { return held_.empty(); }

  private:
    Runs& fit_;
    std::map<std::uintptr_t, std::size_t> held_;
    std::size_t live_ = 0;
};

} // namespace

TEMPLATE_LIST_TEST_CASE("runs of a fit never overlap, and nothing is lost", "[fit]", tagged) {
    using runs = typename TestType::template of<stream_tag>;
    runs fit{unit};
    for (const std::uint32_t key : {0U, 1U, 2U}) REQUIRE(fit.open(key));
    REQUIRE(fit.add(base, range, 0));
    REQUIRE(fit.add(base + 2 * range, range, 1));
    holder<runs> held{fit};
    std::mt19937 random{7};
    std::uint64_t now = 0;
    for (int step = 0; step < 20000; ++step) {
        const std::size_t bytes = random() % (std::size_t{1} << random() % 17);
        const std::size_t align = std::size_t{1} << (random() % 4 != 0 ? 8 : random() % 15);
        const auto stream = static_cast<std::uint32_t>(random() % 3);
        if (held.empty() || random() % 100 < (step / 2000 % 2 == 0 ? 60U : 40U)) {
            auto r = fit.allocate(bytes, align, stream);
            if (r) REQUIRE(r.tag.stream == stream);
            if (!r) r = fit.allocate_any(bytes, align);
            if (r) held.keep(r.address, r.bytes, bytes, align);
            else REQUIRE(fit.largest().bytes < bytes + align); // fails only if nothing has room for any address
        } else {
            held.give(held.some(random), stream, ++now);
        }
        if (step % 500 == 0) held.agree();
    }
    while (!held.empty()) held.give(held.some(random), 1, ++now);
    held.agree();
    REQUIRE(fit.gather({1, ++now}, [](const stream_tag&) { return true; }));
    CHECK(fit.free_runs(1) == 2); // each range is whole again
    CHECK(fit.largest().bytes == range);
    CHECK(fit.valid());
}

// What a fit may round to: a request fails only where no free run has room for twice that.
constexpr std::size_t grain = 8 << 10;

TEMPLATE_LIST_TEST_CASE("blocks of a fit never overlap, and become whole again", "[fit]", policies) {
    using runs = typename TestType::template of<>;
    runs fit{unit};
    REQUIRE(fit.add(base, range, 0));
    REQUIRE(fit.add(base + 2 * range, range, 1));
    std::map<std::uintptr_t, std::size_t> held;
    std::size_t live = 0;
    std::mt19937 random{11};
    const auto give = [&](std::uintptr_t address) {
        REQUIRE(fit.bytes_of(address) == held.at(address));
        REQUIRE(fit.release(address) == held.at(address));
        REQUIRE(fit.bytes_of(address) == 0);
        live -= held.at(address);
        held.erase(address);
    };
    const auto some = [&] {
        const auto p = held.lower_bound(base + random() % (3 * range));
        return p == held.end() ? held.begin()->first : p->first;
    };
    for (int step = 0; step < 20000; ++step) {
        const std::size_t bytes = random() % (std::size_t{1} << random() % 18);
        const std::size_t align = std::size_t{1} << (random() % 4 != 0 ? 8 : random() % 15);
        const std::size_t choice = random() % 100, allocate = step / 2000 % 2 == 0 ? 50U : 35U;
        if (held.empty() || choice < allocate) {
            const auto r = fit.allocate(bytes, align);
            if (!r) {
                REQUIRE(fit.largest().bytes < 2 * std::max({bytes, align, grain}));
                continue;
            }
            REQUIRE((r.bytes >= bytes && r.bytes >= 1 && r.address % align == 0 && r.address % unit == 0));
            REQUIRE((r.address >= base && r.address + r.bytes <= base + 3 * range));
            REQUIRE((r.address + r.bytes <= base + range || r.address >= base + 2 * range));
            const auto next = held.lower_bound(r.address);
            REQUIRE((next == held.end() || next->first >= r.address + r.bytes));
            REQUIRE((next == held.begin() || std::prev(next)->first + std::prev(next)->second <= r.address));
            held[r.address] = r.bytes;
            live += r.bytes;
        } else if (choice < 85) {
            give(some());
        } else { // larger or smaller in place
            const std::uintptr_t at = some();
            const std::size_t was = held.at(at);
            const bool good = bytes > was ? fit.grow(at, bytes) : fit.shrink(at, bytes);
            const std::size_t now = fit.bytes_of(at);
            REQUIRE(now >= (good ? bytes : was));
            REQUIRE((good || now == was));
            held[at] = now;
            live += now - was;
            const auto next = held.upper_bound(at);
            REQUIRE((next == held.end() || next->first >= at + now));
        }
        REQUIRE(fit.live_bytes() == live);
        if (step % 500 == 0) {
            REQUIRE(fit.valid());
            REQUIRE(fit.live_runs() == held.size());
            std::size_t seen = 0, all = 0;
            fit.visit([&](const auto& r, bool is_live, std::uint32_t) {
                all += r.bytes;
                if (is_live) {
                    REQUIRE(held.at(r.address) == r.bytes);
                    ++seen;
                }
                return true;
            });
            REQUIRE(seen == held.size());
            REQUIRE(all == fit.bytes());
        }
        for (const std::uintptr_t wrong : {some() + unit / 2, base + range + unit}) // inside one, and in no range
            if (!held.contains(wrong)) REQUIRE(fit.release(wrong) == 0);
    }
    while (!held.empty()) give(some());
    CHECK(fit.live_bytes() == 0);
    CHECK(fit.largest().bytes == range);
    CHECK(fit.valid());
    CHECK(fit.remove({fit.largest().address, range}, fit.largest().address, range));
    CHECK(fit.remove({fit.largest().address, range}, fit.largest().address, range));
    CHECK(fit.bytes() == 0);
    CHECK(fit.valid());
}

TEMPLATE_LIST_TEST_CASE("the same requests find the same addresses, and full is full", "[fit]", policies) {
    using runs = typename TestType::template of<>;
    std::vector<std::uintptr_t> first;
    for (int time = 0; time != 2; ++time) {
        runs fit{unit};
        REQUIRE(fit.add(base, range, 0));
        std::vector<std::uintptr_t> all;
        while (const auto r = fit.allocate(1000, 1)) all.push_back(r.address);
        CHECK(all.size() == range / 1024); // nothing but rounding is lost
        CHECK(fit.free_bytes() == 0);
        if (time == 0) first = all;
        CHECK(all == first);
        for (const std::uintptr_t a : all) REQUIRE(fit.release(a) == 1024);
        CHECK(fit.largest().bytes == range);
    }
}

TEMPLATE_LIST_TEST_CASE("a fit answers what is absurd, and what fails changes nothing", "[fit]", policies) {
    failing_metadata::state memory;
    using runs = typename TestType::template of<allot::detail::no_tag, failing_metadata>;
    {
        runs fit{unit, {&memory}};
        CHECK_FALSE(fit.allocate(1, 1));
        CHECK(fit.release(base) == 0);
        CHECK_FALSE(fit.add(0, range, 0));
        REQUIRE(fit.add(base, range, 0));
        CHECK_FALSE(fit.allocate(~std::size_t{0}, 1));
        CHECK_FALSE(fit.allocate(1, 3));
        CHECK_FALSE(fit.allocate(range + 1, 1));
        const auto none = fit.allocate(0, 1), other = fit.allocate(0, 1);
        CHECK((none && other && none.address != other.address));
        memory.left = 0;
        std::vector<std::uintptr_t> all;
        while (const auto r = fit.allocate(1, 1)) all.push_back(r.address);
        CHECK((!fit.prepare() || fit.free_bytes() == 0)); // refused for want of metadata, or full
        CHECK(fit.valid());
        for (const std::uintptr_t address : all) REQUIRE(fit.release(address) != 0); // needs no metadata
        CHECK(fit.release(none.address) != 0);
        CHECK(fit.release(none.address) == 0);
        CHECK(fit.release(other.address) != 0);
        CHECK(fit.largest().bytes == range);
        CHECK(fit.remove(fit.largest(), base, range));
        CHECK(fit.bytes() == 0);
        CHECK(fit.valid());
    }
    CHECK(memory.held == 0);
}
