// What allocators ask of a fit, whatever it finds first. A new policy joins by its name in `policies`.
#include <support/catch.hpp>
#include <support/failing_metadata.hpp>
#include <support/stream_tag.hpp>

#include <allot/heap/best_fit.hpp>

#include <cstdint>
#include <map>
#include <random>
#include <tuple>
#include <vector>

namespace {

using policies = std::tuple<allot::fit::best>;

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

TEMPLATE_LIST_TEST_CASE("runs of a fit never overlap, and nothing is lost", "[fit]", policies) {
    using runs = typename TestType::template runs<stream_tag>;
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

TEMPLATE_LIST_TEST_CASE("a fit answers what is absurd, and what fails changes nothing", "[fit]", policies) {
    failing_metadata::state memory;
    using runs = typename TestType::template runs<allot::no_tag, failing_metadata>;
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
        CHECK_FALSE(fit.prepare());
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
