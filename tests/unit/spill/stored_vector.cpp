// Value vectors in a store: values, nulls and slices come back as they left; halves share what is kept.
#include <support/catch.hpp>
#include <support/hooked_home.hpp>
#include <support/tasks.hpp>

#include <allot/buffers.hpp>
#include <allot/spill/spill_memory.hpp>
#include <allot/spill/stored_vector.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;
using allot::value_vector;
template <class V> using stored_vector = allot::stored<value_vector<V>>;

namespace {

struct homes {
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    account near{name{"near"}, limit{64_KiB}}, far{name{"far"}, limit{256_KiB}};
    allot::spill_memory there{memory, far};
    allot::store inputs{near, there};

    ~homes() {
        CHECK(near.used() == inputs.stats().in_memory);
        CHECK(inputs.stats().entries == 0);
        CHECK((near.used() == 0 && far.used() == 0));
        CHECK(near.stats().buffers == 0);
    }
    // Every third value is null.
    template <class V> value_vector<V> filled(std::size_t n) {
        value_vector<V> v = value_vector<V>::allocate(memory, near, n);
        for (std::size_t i = 0; i != n; ++i)
            if (i % 3 != 0) v.set(i, static_cast<V>(i));
        return v;
    }
};
// Whether it holds values from, from + 1, ... of filled().
template <class V> bool holds(const value_vector<V>& v, std::size_t from, std::size_t n) {
    if (v.size() != n) return false;
    for (std::size_t i = 0; i != n; ++i)
        if (v[i] != ((from + i) % 3 != 0 ? std::optional<V>{static_cast<V>(from + i)} : std::nullopt)) return false;
    return true;
}
template <class V> bool holds(const stored_vector<V>& s, std::size_t from, std::size_t n) {
    return holds<V>(*s.pin(), from, n);
}

} // namespace

TEMPLATE_TEST_CASE("a vector leaves where memory is short, and comes back with its nulls", "[spill][vector]",
                   std::int8_t, std::uint16_t, float, std::int64_t) {
    homes h;
    for (const std::size_t n : {1u, 2u, 7u, 8u, 9u, 63u, 64u, 1001u}) {
        stored_vector<TestType> v = h.inputs.put(h.filled<TestType>(n));
        CHECK((!v.is_away() && v.bytes() == n * sizeof(TestType) + (n + 7) / 8));
        for (int round = 0; round != 2; ++round) {
            {
                const support::charged all{h.near, 64_KiB};
                CHECK(v.is_away());
                CHECK(h.far.used() >= v.bytes());
            }
            const auto pin = v.pin();
            static_assert(std::is_same_v<decltype(*pin), const value_vector<TestType>&>);
            CHECK(holds<TestType>(*pin, 0, n));
            CHECK((pin->null_count() == (n + 2) / 3 && pin->first_bit() == 0 && h.far.used() == 0));
        }
    }
}

TEST_CASE("a slice of a vector whose other views have ended keeps its first bit", "[spill][vector]") {
    homes h;
    for (const std::size_t from : {0u, 1u, 7u, 8u, 13u}) {
        stored_vector<int> v = h.inputs.put([&] { return h.filled<int>(100).slice(from, 37); }());
        CHECK(v.spill());
        CHECK(h.near.used() == 0);
        CHECK(v.pin()->first_bit() == from % 8);
        CHECK(holds(v, from, 37));
        std::vector<stored_vector<int>> parts = v.halves(5);
        REQUIRE(parts.size() == 2);
        CHECK((holds(parts[0], from, 15) && holds(parts[1], from + 15, 22)));
    }
}

TEST_CASE("a vector without validity, and one over two blocks, come back as they are", "[spill][vector]") {
    homes h;
    const auto raw = [&](std::size_t bytes) { return h.memory.allocate(h.near, bytes); };
    stored_vector<int> all = h.inputs.put([&] {
        value_vector<int> v{raw(4 * 50 + 3), 50}; // more bytes than values
        for (std::size_t i = 0; i != 50; ++i) v.set(i, static_cast<int>(i));
        return v;
    }());
    CHECK(all.bytes() == 200);
    CHECK(all.spill());
    for (stored_vector<int>& part : all.halves()) {
        const auto pin = part.pin();
        CHECK((!pin->validity() && pin->null_count() == 0 && pin->size() == 25));
        CHECK((pin->get(24) == 24 || pin->get(24) == 49));
    }
    stored_vector<int> two = h.inputs.put([&] {
        value_vector<int> v{raw(4 * 50), 50, raw(8), 5};
        for (std::size_t i = 0; i != 50; ++i) i % 3 != 0 ? v.set(i, static_cast<int>(i)) : void(v.set_null(i));
        return v;
    }());
    CHECK(h.near.used() == h.inputs.stats().in_memory);
    CHECK(two.spill());
    CHECK(holds(two, 0, 50));
    CHECK(two.pin()->first_bit() == 5);
}

TEST_CASE("halves of a vector share what is kept, and are wholes of their own once they are written",
          "[spill][vector]") {
    homes h;
    stored_vector<std::uint16_t> whole = h.inputs.put(h.filled<std::uint16_t>(1001));
    CHECK(whole.halves(501).empty());
    std::vector<stored_vector<std::uint16_t>> parts = whole.halves(100);
    REQUIRE(parts.size() == 2);
    CHECK(h.near.used() == 0);
    const std::size_t kept = h.far.used();
    CHECK((whole.is_away() && holds(parts[0], 0, 500) && holds(parts[1], 500, 501)));
    CHECK(parts[1].spill()); // of its own
    CHECK(h.far.used() > kept);
    std::vector<stored_vector<std::uint16_t>> quarters = parts[1].halves(3);
    REQUIRE(quarters.size() == 2);
    CHECK((holds(quarters[0], 500, 249) && holds(quarters[1], 749, 252)));
    for (int i = 0; i != 2; ++i) CHECK(quarters[static_cast<std::size_t>(i)].spill());
    CHECK((holds(quarters[0], 500, 249) && holds(quarters[1], 749, 252)));
    CHECK(holds(whole, 0, 1001));
    parts[0].pin_to_change()->set(0, 7);
    CHECK(parts[0].spill());
    CHECK((parts[0].pin()->get(0) == 7 && !whole.pin()->is_valid(0)));
}

TEST_CASE("halves of halves of a vector that is away, down to one value", "[spill][vector]") {
    homes h;
    std::vector<stored_vector<std::int8_t>> parts;
    parts.push_back(h.inputs.put(h.filled<std::int8_t>(50)));
    for (bool cut = true; cut;) {
        cut = false;
        std::vector<stored_vector<std::int8_t>> next;
        for (stored_vector<std::int8_t>& p : parts) {
            std::vector<stored_vector<std::int8_t>> two = p.halves();
            cut = cut || !two.empty();
            if (two.empty()) next.push_back(std::move(p));
            for (auto& half : two) next.push_back(std::move(half));
        }
        parts = std::move(next);
    }
    REQUIRE(parts.size() == 50);
    for (std::size_t i = 0; i != 50; ++i) CHECK(holds(parts[i], i, 1));
    for (auto& p : parts) CHECK(p.spill());
    for (std::size_t i = 0; i != 50; ++i) CHECK(holds(parts[i], i, 1));
}

TEST_CASE("a vector is taken by one consumer, in its account", "[spill][vector]") {
    homes h;
    account scan{h.near, name{"scan"}}, small{h.near, name{"small"}, limit{100}};
    const auto put = [&] { return h.inputs.put(h.filled<int>(1000)); };
    for (const bool away : {false, true}) {
        stored_vector<int> v = put();
        if (away) CHECK(v.spill());
        CHECK_THROWS_AS(std::move(v).take(small), allot::memory_error);
        CHECK((v && holds(v, 0, 1000)));
        if (away) CHECK(v.spill());
        const value_vector<int> mine = std::move(v).take(scan);
        CHECK((!v && mine.holder() == &scan && scan.used() == h.near.used() && h.far.used() == 0));
        CHECK(holds(mine, 0, 1000));
    }
    const value_vector<int> mine = std::move(put()).take();
    CHECK(mine.holder() == &h.near);
}

TEST_CASE("a vector of a block that others view is not stored", "[spill][vector]") {
    if (ALLOT_CHECKED != 0) return; // reported there, by abort
    homes h;
    value_vector<int> v = h.filled<int>(100);
    const auto refused = [&] {
        try {
            static_cast<void>(h.inputs.put(std::move(v)));
        } catch (const allot::out_of_memory& e) {
            return e.why().outcome == allot::charge_outcome::misused;
        }
        return false;
    };
    {
        const value_vector<int> other = v.slice(0, 1);
        CHECK(refused());
    }
    {
        const allot::buffer other = v.values().slice();
        CHECK(refused());
    }
    account query{h.near, name{"query"}};
    {
        const value_vector<int> other = v.retain(query);
        CHECK(refused());
    }
    CHECK(holds(v, 0, 100)); // as it was
    CHECK(h.inputs.stats().entries == 0);
}

TEST_CASE("an empty vector is stored, and never leaves", "[spill][vector]") {
    homes h;
    stored_vector<int> v = h.inputs.put(value_vector<int>{});
    CHECK((!v.spill() && v.bytes() == 0 && v.pin()->empty() && v.halves().empty()));
    CHECK(std::move(v).take().empty());
}

TEST_CASE("a size that no memory has is refused cleanly", "[spill][vector]") {
    homes h;
    for (const std::size_t n : {std::size_t{1} << 31, SIZE_MAX / 4})
        CHECK_THROWS_AS(h.inputs.put(value_vector<std::int64_t>::allocate(h.memory, h.near, n)), allot::memory_error);
    stored_vector<int> v = h.inputs.put(h.filled<int>(100));
    CHECK(v.halves(std::size_t{1} << 31).empty());
    CHECK(v.halves(SIZE_MAX).empty());
    CHECK(!v.is_away());
}

TEST_CASE("a home that fails loses no vector, nor a half of one", "[spill][vector]") {
    homes h;
    support::hooked_home there{h.far, true, 100};
    allot::store inputs{h.near, there};
    stored_vector<int> v = inputs.put(h.filled<int>(1001));
    there.fail_write = 0;
    CHECK_FALSE(v.spill());
    there.refuse_write = 0;
    CHECK_FALSE(v.spill());
    CHECK((holds(v, 0, 1001) && v.spill()));
    there.fail_read = 0;
    CHECK_THROWS_AS(v.pin(), allot::spill_error);
    std::vector<stored_vector<int>> parts = v.halves();
    REQUIRE(parts.size() == 2);
    for (std::size_t n = 0; n != 2; ++n) { // the values, the validity
        there.fail_read = n;
        CHECK_THROWS_AS(parts[1].pin(), allot::spill_error);
        CHECK((parts[1].is_away() && h.near.used() == 0));
    }
    CHECK((holds(parts[1], 500, 501) && holds(parts[0], 0, 500) && holds(v, 0, 1001)));
    CHECK((there.writes == 3 && v.spill() && parts[1].spill() && there.writes == 3)); // they are at home, too
    CHECK((holds(parts[1], 500, 501) && holds(v, 0, 1001)));
    parts[1].pin_to_change()->set(0, -1);
    CHECK((parts[1].spill() && there.writes == 4 && parts[1].pin()->get(0) == -1));
}

TEST_CASE("threads pin vectors while others are short of memory", "[spill][vector]") {
    homes h;
    std::vector<stored_vector<int>> all;
    for (std::size_t i = 0; i != 4; ++i) all.push_back(h.inputs.put(h.filled<int>(1000 + i)));
    std::atomic<int> wrong{0};
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t != 3; ++t)
        threads.emplace_back([&, t] {
            for (std::size_t i = 0; i != 200; ++i) {
                stored_vector<int>& v = all[(i + t) % all.size()];
                if (i % 8 == 7) static_cast<void>(v.spill());
                else if (const auto pin = v.try_pin(); pin) wrong += (*pin)[1] != 1;
                if (i % 5 == t && h.near.try_charge(60_KiB)) h.near.refund(60_KiB);
            }
        });
    threads.clear();
    CHECK(wrong == 0);
    for (std::size_t i = 0; i != 4; ++i) CHECK(holds(all[i], 0, 1000 + i));
}

TEST_CASE("a half that could not be taken still knows its part of what is kept", "[spill]") {
    homes h;
    account small{h.near, name{"small"}, limit{64}};
    support::hooked_home keeps{h.far};
    {
        allot::store kept{h.near, keeps};
        stored_vector<int> whole = kept.put(h.filled<int>(1000));
        std::vector<stored_vector<int>> halves = whole.halves();
        REQUIRE(halves.size() == 2);
        for (stored_vector<int>& half : halves) {
            const auto in_memory = half.try_pin();
            REQUIRE(in_memory);
        }
        CHECK_THROWS_AS(std::move(halves[1]).take(small), allot::out_of_memory);
        CHECK(halves[1].spill()); // without a write
        CHECK(holds(halves[1], 500, 500));
    }
    CHECK(keeps.records == 0);
}

TEST_CASE("a vector that others have views of stays", "[spill]") {
    if (ALLOT_CHECKED != 0) return; // reported there, by abort
    homes h;
    stored_vector<int> v = h.inputs.put(h.filled<int>(100));
    {
        const value_vector<int> view = v.pin()->slice(0, 10);
        CHECK_FALSE(v.spill());
        CHECK_FALSE(v.is_away());
    }
    static_cast<void>(v.pin());
    CHECK(v.spill());
    CHECK(holds(v, 0, 100));
}
