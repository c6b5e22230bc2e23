// Rows of arrays in a store: they leave with their types, seals and objects, and come back in order.
#include <support/catch.hpp>
#include <support/hooked_home.hpp>
#include <support/tasks.hpp>

#include <allot/adapt/bytes.hpp>
#include <allot/core/row_encoding.hpp>
#include <allot/ledger/pool.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/oom/arbiter.hpp>
#include <allot/oom/retry.hpp>
#include <allot/oom/state_machine.hpp>
#include <allot/reclaim/chain.hpp>
#include <allot/row/moving/row_array.hpp>
#include <allot/row_manager.hpp>
#include <allot/spill/spill_memory.hpp>
#include <allot/spill/stored_rows.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;

namespace {

struct plain : allot::policies<allot::ledger::tree, allot::spill::chain> {};
struct pooled : allot::policies<allot::ledger::pool, allot::spill::chain, allot::heap::shared> {};
struct packed : allot::policies<allot::ledger::tree, allot::spill::chain, allot::size::packed, allot::guard::canary> {};
struct aside : allot::policies<allot::ledger::tree, allot::spill::chain, allot::count::links_out_of_band> {};
struct uncounted : allot::policies<allot::ledger::tree, allot::spill::chain, allot::count::none, allot::oom::null> {};
struct wiped : allot::policies<allot::ledger::tree, allot::spill::chain, allot::slots::scanning,
                               allot::guard::all<allot::guard::zero, allot::guard::quarantine<4>>> {};
using sets = std::tuple<plain, pooled, packed, aside, uncounted, wiped>;

template <class Set> struct homes {
    using array = allot::row_array<Set>;
    using stored = allot::stored<array>;

    account near{name{"near"}, limit{8_MiB}}, far{name{"far"}};
    allot::row_manager<Set> rows{near, name{"sort"}, allot::page_bytes{64_KiB}};
    support::hooked_home there{far, true, 7};
    allot::store inputs{near, there};

    ~homes() {
        CHECK(inputs.stats().entries == 0);
        CHECK((far.used() == 0 && there.records == 0));
        CHECK(rows.live_rows() == 0);
        CHECK(rows.valid());
    }
    void* filled(std::size_t n, unsigned with, const allot::row_type& type = allot::untyped) {
        void* const row = rows.allocate(n, type);
        if (row != nullptr) std::memset(row, static_cast<int>(with % 251), allot::capacity(row));
        return row;
    }
};
// Of row i.
std::size_t bytes_of(std::size_t i) { return i % 97 == 96 ? 100'000 : 8 + i * 31 % 700; }
bool holds(const void* row, std::size_t n, unsigned with) {
    const auto* const at = static_cast<const unsigned char*>(row);
    for (std::size_t i = 0; i != n; ++i)
        if (at[i] != with % 251) return false;
    return allot::capacity(row) >= n;
}
// Whether the array has rows from .. of `filled`.
template <class Set> bool holds(const allot::row_array<Set>& array, std::size_t from, std::size_t n) {
    std::size_t i = from;
    for (void* const row : array.read()) {
        if (!holds(row, bytes_of(i), static_cast<unsigned>(i))) return false;
        ++i;
    }
    return i == from + n;
}
template <class Set> void fill(homes<Set>& h, allot::row_array<Set>& array, std::size_t n) {
    for (std::size_t i = 0; i != n; ++i) array.push_back(h.filled(bytes_of(i), static_cast<unsigned>(i)));
}
template <class Set> typename homes<Set>::stored put(homes<Set>& h, std::size_t n) {
    allot::row_array<Set> array{h.rows};
    fill(h, array, n);
    auto stored = h.inputs.put(std::move(array));
    CHECK((array.empty() && array.capacity() == 0));
    return stored;
}

} // namespace

TEMPLATE_LIST_TEST_CASE("rows leave where memory is short, and come back in order", "[spill][rows]", sets) {
    homes<TestType> h;
    for (const std::size_t n : {0u, 1u, 2u, 1000u}) {
        INFO(n);
        auto run = put(h, n);
        CHECK(run.bytes() >= 8 * n);
        for (int round = 0; round != 3; ++round) {
            const std::size_t kept = run.bytes();
            if (n != 0 && round == 1) {
                void* const all = h.rows.allocate(6_MiB); // asks the store
                REQUIRE(all != nullptr);
                CHECK((n < 1000 || run.is_away()));
                h.rows.release(all);
            } else {
                CHECK(run.spill() == (n != 0));
            }
            if (run.is_away()) CHECK(h.rows.live_rows() == 0);
            CHECK(holds(*run.pin(), 0, n));
            CHECK(run.bytes() == kept);
        }
    }
}

TEST_CASE("a store of rows frees what the request needs", "[spill][rows]") {
    homes<plain> h;
    auto run = put(h, 1000), other = put(h, 1000);
    const std::size_t used = h.near.used();
    CHECK(h.inputs.stats().in_memory <= used);
    CHECK(h.near.try_charge(8_MiB - 64_KiB * 4));
    CHECK((run.is_away() && other.is_away()));
    CHECK_FALSE(run.try_pin());
    CHECK_THROWS_AS(run.pin(), allot::memory_error);
    CHECK(h.rows.live_rows() == 0); // nothing is left of it
    h.near.refund(8_MiB - 64_KiB * 4);
    CHECK((holds(*run.pin(), 0, 1000) && holds(*other.try_pin(), 0, 1000)));
}

TEST_CASE("null and constants stay in their places", "[spill][rows]") {
    homes<plain> h;
    static const char constant[] = "constant";
    homes<plain>::array array{h.rows};
    array.push_back(static_cast<void*>(nullptr));
    array.push_back(h.filled(20, 1));
    array.push_back(const_cast<char*>(constant));
    array.push_back(const_cast<char*>(constant + 1));
    auto run = h.inputs.put(std::move(array));
    CHECK(run.spill());
    const auto pin = run.pin();
    const auto view = pin->read();
    REQUIRE(view.rows().size() == 4);
    CHECK((view.rows()[0] == nullptr && view.rows()[2] == constant && view.rows()[3] == constant + 1));
    CHECK(holds(view.rows()[1], 20, 1));
}

TEST_CASE("rows that were taken from the front of the array do not come back", "[spill][rows]") {
    homes<plain> h;
    homes<plain>::array array{h.rows};
    fill(h, array, 100);
    {
        auto hold = array.lock();
        for (void* const row : hold.rows().first(30)) h.rows.release(row);
        hold.take_front(30);
    }
    auto run = h.inputs.put(std::move(array));
    CHECK(holds(*run.pin(), 30, 70));
    CHECK(run.spill());
    CHECK(holds(*run.pin(), 30, 70));
    fill(h, array, 10); // it is used again
    CHECK(holds(array, 0, 10));
}

namespace {

const allot::row_type coded{"coded", nullptr, 0, allot::row_check::crc32c};
const allot::row_type aligned{"aligned", nullptr, 256};

// An object with memory of its own.
struct text_row {
    static inline int alive = 0;
    explicit text_row(std::string s) : text(std::move(s)) { ++alive; }
    explicit text_row(allot::row_reader& from) : text(from.left(), ' ') {
        static_cast<void>(from.get(text.data(), text.size()));
        ++alive;
    }
    text_row(const text_row&) = delete;
    text_row& operator=(const text_row&) = delete;
    ~text_row() { --alive; }
    void encode(allot::row_writer& to) const noexcept { to.put(text.data(), text.size()); }
    std::string text;
};
static_assert(allot::detail::encoded_row<text_row> && !allot::detail::encoded_row<int>);

// A row that has a row.
struct parent_row {
    static inline allot::row_manager<plain>* of = nullptr;
    explicit parent_row(std::uint64_t n) : child(of->make<std::uint64_t>(n)) {}
    explicit parent_row(allot::row_reader& from) {
        std::uint64_t n = 0;
        static_cast<void>(from.get(&n, sizeof n));
        void* const row = from.may_wait() ? of->allocate(sizeof n) : of->try_allocate(sizeof n);
        if (row == nullptr) throw allot::out_of_memory{};
        child = allot::row_ptr<std::uint64_t>::adopt(::new (row) std::uint64_t(n));
    }
    void encode(allot::row_writer& to) const noexcept { to.put(child.get(), sizeof *child); }
    allot::row_ptr<std::uint64_t> child;
};

template <class T> T& at(void* row) { return *static_cast<T*>(row); }
std::string text_of(std::size_t i) { return std::string(i * 37 % 5000, static_cast<char>('a' + i % 26)); }

} // namespace

TEMPLATE_TEST_CASE("rows keep their types, alignment and seals", "[spill][rows]", plain, pooled, packed, aside) {
    homes<TestType> h;
    auto heap = h.rows.heap(allot::as<allot::heap::unique>, 53, coded);
    {
        allot::row_array<TestType> array{h.rows};
        for (unsigned i = 0; i != 200; ++i) {
            void* const row = i % 4 == 0   ? h.filled(i == 100 ? 200'000 : 50 + i, i, coded)
                              : i % 4 == 1 ? h.filled(40 + i, i, aligned)
                              : i % 4 == 2 ? heap.allocate()
                                           : h.filled(i, i);
            if (i % 4 == 2) std::memset(row, static_cast<int>(i), allot::capacity(row));
            if (i % 8 < 4) allot::seal(row);
            array.push_back(row);
        }
        auto run = h.inputs.put(std::move(array));
        for (int round = 0; round != 2; ++round) {
            CHECK(run.spill());
            const auto pin = run.pin();
            unsigned i = 0;
            for (void* const row : pin->read()) {
                CHECK(holds(row, i % 4 == 0 ? 50 + i : i % 4 == 1 ? 40 + i : i % 4 == 2 ? 53 : i, i));
                CHECK(allot::check(row));
                if (i % 4 == 1) CHECK(reinterpret_cast<std::uintptr_t>(row) % 256 == 0);
                if (i % 8 == 0 && round == 1) { // sealed: a change is found
                    auto* const byte = static_cast<unsigned char*>(row) + 7;
                    allot::detail::seen_row<TestType> seen{h.rows};
                    seen.see(row);
                    CHECK((seen.sealed && seen.type == &coded));
                    static_cast<void>(byte);
                }
                ++i;
            }
            CHECK(i == 200);
        }
    }
}

TEMPLATE_LIST_TEST_CASE("bytes keep their alignment where they leave, come back and are compacted", "[spill][rows]",
                        sets) {
    homes<TestType> h;
    const auto align_of = [](std::size_t i) { return std::size_t{8} << i % 10; };
    std::vector<void*> others;
    allot::row_array<TestType> array{h.rows};
    for (std::size_t i = 0; i != 400; ++i) {
        array.push_back(allot::adapt::try_allocate(h.rows, 30 + i % 40 * 50, align_of(i)));
        others.push_back(allot::adapt::try_allocate(h.rows, 30 + i % 40 * 50, align_of(i)));
    }
    const auto is_aligned = [&](auto& rows) {
        std::size_t i = 0, wrong = 0;
        for (void* const row : rows.read()) wrong += reinterpret_cast<std::uintptr_t>(row) % align_of(i++) != 0;
        return i == 400 && wrong == 0;
    };
    for (void* const row : others) h.rows.release(row);
    {
        const auto hold = array.lock();
        CHECK(h.rows.compact(hold.rows()).moved != 0);
    }
    CHECK(is_aligned(array));
    auto run = h.inputs.put(std::move(array));
    for (int round = 0; round != 2; ++round) {
        CHECK(run.spill());
        CHECK(is_aligned(*run.pin()));
    }
}

TEST_CASE("objects leave encoded: their destructors run, and they are made again", "[spill][rows]") {
    homes<plain> h;
    text_row::alive = 0;
    {
        homes<plain>::array array{h.rows};
        for (std::size_t i = 0; i != 300; ++i)
            if (i % 3 == 2) array.push_back(h.filled(bytes_of(i), static_cast<unsigned>(i)));
            else array.push_back(h.rows.make<text_row>(text_of(i)));
        auto run = h.inputs.put(std::move(array));
        CHECK(text_row::alive == 200);
        for (int round = 0; round != 2; ++round) {
            CHECK(run.spill());
            CHECK((text_row::alive == 0 && h.rows.live_rows() == 0));
            const auto pin = run.pin();
            std::size_t i = 0;
            for (void* const row : pin->read()) {
                if (i % 3 == 2) CHECK(holds(row, bytes_of(i), static_cast<unsigned>(i)));
                else CHECK(at<text_row>(row).text == text_of(i));
                ++i;
            }
            CHECK((i == 300 && text_row::alive == 200));
        }
        CHECK(run.spill());
    }
    CHECK(text_row::alive == 0);
    {
        homes<plain>::array array{h.rows};
        array.push_back(h.rows.make<text_row>(""));
        auto run = h.inputs.put(std::move(array));
        CHECK(run.spill());
        CHECK(at<text_row>(*run.pin()->read().begin()).text.empty());
    }
    CHECK(text_row::alive == 0);
}

TEST_CASE("rows that have rows make them again", "[spill][rows]") {
    homes<plain> h;
    parent_row::of = &h.rows;
    homes<plain>::array array{h.rows};
    for (std::uint64_t i = 0; i != 100; ++i) array.push_back(h.rows.make<parent_row>(i));
    auto run = h.inputs.put(std::move(array));
    CHECK(h.rows.live_rows() == 201);
    CHECK(run.spill());
    CHECK(h.rows.live_rows() == 0);
    const auto pin = run.pin();
    std::uint64_t i = 0;
    for (void* const row : pin->read()) CHECK(*at<parent_row>(row).child == i++);
    CHECK(h.rows.live_rows() == 201);
}

TEST_CASE("halves of rows share what is kept, down to one row", "[spill][rows]") {
    homes<plain> h;
    homes<plain>::array array{h.rows};
    for (std::size_t i = 0; i != 50; ++i)
        if (i % 3 == 1) array.push_back(h.rows.make<text_row>(text_of(i)));
        else array.push_back(h.filled(bytes_of(i), static_cast<unsigned>(i)));
    const auto is = [](const auto& stored, std::size_t from, std::size_t n) {
        const auto pin = stored.pin();
        std::size_t i = from;
        for (void* const row : pin->read()) {
            if (i % 3 == 1 ? at<text_row>(row).text != text_of(i) : !holds(row, bytes_of(i), static_cast<unsigned>(i)))
                return false;
            ++i;
        }
        return i == from + n;
    };
    auto whole = h.inputs.put(std::move(array));
    CHECK(whole.halves(26).empty());
    h.there.fail_read = 0;
    try {
        whole.halves(20);
        FAIL("the words were read");
    } catch (const allot::spill_error& e) {
        CHECK(std::string(e.what()).starts_with("allot: store: failed: read hooked"));
    }
    std::vector<homes<plain>::stored> parts = whole.halves(20);
    REQUIRE(parts.size() == 2);
    CHECK((h.rows.live_rows() == 0 && h.there.writes == 1));
    CHECK((is(parts[0], 0, 20) && is(parts[1], 20, 30) && is(whole, 0, 50)));
    for (bool cut = true; std::exchange(cut, false);) {
        std::vector<homes<plain>::stored> next;
        for (auto& p : parts) {
            auto two = p.halves();
            cut = cut || !two.empty();
            if (two.empty()) next.push_back(std::move(p));
            for (auto& half : two) next.push_back(std::move(half));
        }
        parts = std::move(next);
    }
    REQUIRE(parts.size() == 50);
    CHECK(h.there.writes == 1);
    for (std::size_t i = 0; i != 50; ++i) CHECK(is(parts[i], i, 1));
    whole = {};
    for (std::size_t i = 0; i != 50; ++i) CHECK((parts[i].spill() && is(parts[i], i, 1)));
}

TEST_CASE("halves of rows that their home does not keep are written as wholes of their own", "[spill][rows]") {
    account near{name{"near"}}, far{name{"far"}};
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    allot::row_manager<plain> rows{near};
    allot::spill_memory there{memory, far};
    allot::store inputs{near, there};
    allot::row_array<plain> array{rows};
    for (std::size_t i = 0; i != 101; ++i) {
        void* const row = rows.allocate(bytes_of(i));
        std::memset(row, static_cast<int>(i % 251), allot::capacity(row));
        array.push_back(row);
    }
    auto whole = inputs.put(std::move(array));
    auto parts = whole.halves(10);
    REQUIRE(parts.size() == 2);
    CHECK((holds(*parts[0].pin(), 0, 50) && holds(*parts[1].pin(), 50, 51)));
    CHECK(parts[1].spill());
    auto quarters = parts[1].halves();
    REQUIRE(quarters.size() == 2);
    CHECK((holds(*quarters[0].pin(), 50, 25) && holds(*quarters[1].pin(), 75, 26)));
    CHECK(holds(*whole.pin(), 0, 101));
}

TEST_CASE("rows are appended to the consumer's array", "[spill][rows]") {
    homes<plain> h;
    homes<plain>::array mine{h.rows};
    for (const bool away : {false, true}) {
        auto run = put(h, 100);
        if (away) CHECK(run.spill());
        std::move(run).take_into(mine);
        CHECK_FALSE(run);
    }
    CHECK((mine.size() == 200 && h.rows.live_rows() == 201));
    std::size_t i = 0;
    for (void* const row : mine.read()) CHECK((holds(row, bytes_of(i % 100), static_cast<unsigned>(i % 100)) && ++i));
    auto run = put(h, 10);
    {
        const auto other = run.pin();
        if (ALLOT_CHECKED == 0) CHECK_THROWS_AS(std::move(run).take_into(mine), allot::out_of_memory);
    }
    CHECK((run && mine.size() == 200));
    homes<plain>::array many{h.rows}, more{h.rows};
    for (int n = 0; n != 50'000; ++n) many.push_back(static_cast<void*>(nullptr));
    auto long_run = h.inputs.put(std::move(many));
    h.rows.trim();
    h.near.set_limit(h.near.used());
    CHECK_THROWS_AS(std::move(long_run).take_into(more), allot::memory_error); // there is no memory for slots
    CHECK((long_run && more.empty() && long_run.pin()->size() == 50'000));
    h.near.set_limit(8_MiB);
    std::move(long_run).take_into(more);
    CHECK(more.size() == 50'000);
}

TEST_CASE("rows that cannot leave are refused, and their array is unchanged", "[spill][rows]") {
    if (ALLOT_CHECKED != 0) return; // reported there, by abort
    homes<plain> h;
    homes<pooled> others;
    struct ends {
        ~ends() {}
    };
    homes<plain>::array array{h.rows};
    fill(h, array, 10);
    const auto refused = [&](void* row, const char* text) {
        array.push_back(row);
        try {
            static_cast<void>(h.inputs.put(std::move(array)));
        } catch (const allot::out_of_memory& e) {
            CHECK_THAT(std::string(e.what()), ContainsSubstring(text));
            CHECK(e.why().outcome == allot::charge_outcome::misused);
            return array.size() == 11;
        }
        return false;
    };
    const auto pop = [&] {
        auto hold = array.lock();
        std::swap(hold.begin()[0], hold.begin()[10]);
        void* const row = hold.begin()[0];
        hold.take_front(1);
        return row;
    };
    void* const shared = h.filled(20, 1);
    h.rows.link(shared);
    CHECK(refused(shared, "other links"));
    h.rows.release(pop());
    h.rows.release(shared);
    CHECK(refused(h.rows.make<ends>().detach(), "ends"));
    h.rows.release(pop());
    void* const foreign = others.rows.allocate(8);
    CHECK(refused(foreign, "arena"));
    others.rows.release(pop());
    CHECK(h.inputs.stats().entries == 0);
}

TEST_CASE("a home that fails loses no row", "[spill][rows]") {
    homes<plain> h;
    auto run = put(h, 300);
    const auto failing = [&](std::atomic<std::size_t>& what) {
        allot::home_status why;
        what = 0;
        CHECK_FALSE(run.spill(&why));
        CHECK_FALSE(why);
        CHECK((!run.is_away() && h.far.used() == 0));
    };
    failing(h.there.fail_write);
    failing(h.there.refuse_write);
    CHECK(run.spill());
    for (std::size_t n = 0; n != 2; ++n) {
        h.there.fail_read = n; // the words, the bytes
        CHECK_THROWS_AS(run.pin(), allot::spill_error);
        CHECK((run.is_away() && h.rows.live_rows() == 0));
    }
    h.there.fail_read = 0;
    CHECK_THROWS_AS(run.halves(), allot::spill_error);
    CHECK(holds(*run.pin(), 0, 300));
    CHECK(run.spill());
    CHECK(run.halves().size() == 2);

    const auto other = put(h, 300);
    h.there.in_write = [] { return false; };
    try {
        static_cast<void>(h.rows.allocate(7_MiB + 900_KiB));
        FAIL("allocated");
    } catch (const allot::out_of_memory& e) { // which names the cause
        CHECK_THAT(e.what(), ContainsSubstring("; store cannot write to far"));
    }
}

TEST_CASE("objects whose encoding cannot be read, or decoded, are not made", "[spill][rows]") {
    homes<plain> h;
    parent_row::of = &h.rows;
    text_row::alive = 0;
    homes<plain>::array array{h.rows};
    for (std::size_t i = 0; i != 50; ++i) array.push_back(h.rows.make<text_row>(text_of(i)));
    for (std::uint64_t i = 0; i != 50; ++i) array.push_back(h.rows.make<parent_row>(i));
    auto run = h.inputs.put(std::move(array));
    CHECK(run.spill());
    for (h.there.reads = 0;;) {
        h.there.fail_read = h.there.reads.load();
        h.there.reads = 0;
        const auto pin = run.try_pin();
        const bool failed = h.there.fail_read == support::hooked_home::never;
        if (!failed) break;
        REQUIRE(!pin);
        CHECK((text_row::alive == 0 && h.rows.live_rows() == 0));
    }
    h.there.fail_read = support::hooked_home::never;
    CHECK(text_row::alive == 50);
}

TEST_CASE("a decode that makes no row names its type; without a wait it may have had no memory", "[spill][rows]") {
    static bool makes = true;
    static constexpr allot::row_type stubborn{
        .name = "stubborn",
        .destroy = [](void*) noexcept {},
        .encode = [](const void*, allot::row_writer& to) noexcept { to.put("x", 1); },
        .decode = [](void*, allot::row_reader&) { return makes; }};
    homes<plain> h;
    homes<plain>::array array{h.rows};
    void* const row = h.rows.allocate(16, stubborn);
    allot::finalize(row);
    array.push_back(row);
    auto run = h.inputs.put(std::move(array));
    CHECK(run.spill());
    makes = false;
    allot::home_status why;
    CHECK(
        (!run.try_pin(&why) && why.how == allot::home_status::outcome::refused && std::string(why.file) == "stubborn"));
    CHECK((!run.pin_for(1_ms, &why) && why.how == allot::home_status::outcome::failed));
    try {
        static_cast<void>(run.pin());
        FAIL("it was made");
    } catch (const allot::spill_error& e) {
        CHECK(std::string(e.what()) == "allot: store: failed: decode stubborn");
    }
    makes = true;
    CHECK((run.is_away() && run.pin()));
}

TEST_CASE("rows that get other links in the store, or whose encoding changes, stay", "[spill][rows]") {
    struct fickle {
        static std::size_t& length() {
            static std::size_t n = 8;
            return n;
        }
        fickle() = default;
        explicit fickle(allot::row_reader&) {}
        void encode(allot::row_writer& to) const noexcept {
            const char bytes[16]{};
            to.put(bytes, length());
        }
        std::uint64_t number = 7;
    };
    static int calls = 0, swaps_from = 1000; // of both rows
    struct swapping {
        explicit swapping(std::size_t n) : length(n) {}
        explicit swapping(allot::row_reader& from) : length(from.left()) {}
        void encode(allot::row_writer& to) const noexcept {
            const char bytes[16]{};
            to.put(bytes, calls++ >= swaps_from ? 20 - length : length);
        }
        std::size_t length;
    };
    homes<plain> h;
    homes<plain>::array array{h.rows};
    array.push_back(h.rows.make<fickle>());
    void* const first = *array.read().begin();
    auto run = h.inputs.put(std::move(array));
    for (const std::size_t length : {4u, 16u}) {
        fickle::length() = length;
        allot::home_status why;
        CHECK_FALSE(run.spill(&why));
        CHECK((why.how == allot::home_status::outcome::failed && h.far.used() == 0 && !run.is_away()));
    }
    for (const std::size_t rows : {1u, 2u}) {
        homes<plain>::array some{h.rows};
        for (std::size_t i = 0; i != rows; ++i) some.push_back(h.rows.make<swapping>(i == 0 ? 4U : 16U));
        auto swapped = h.inputs.put(std::move(some));
        for (const int from :
             {static_cast<int>(rows),
              static_cast<int>(rows) + 1}) { // the words have said so; those that count the first one's bytes, too
            calls = 0, swaps_from = from;
            allot::home_status why;
            CHECK((!swapped.spill(&why) && std::string(why.call) == "an encoding of another length"));
            CHECK(!swapped.is_away());
        }
        swaps_from = 1'000'000;
        CHECK((swapped.spill() && swapped.pin()));
    }
    fickle::length() = 8;
    h.rows.link(first);
    allot::home_status why;
    CHECK_FALSE(run.spill(&why));
    CHECK((std::string(why.call) == "a row with other links" && h.far.used() == 0));
    h.rows.release(first);
    CHECK(run.spill());
    CHECK(at<fickle>(*run.pin()->read().begin()).number == 7);
    CHECK((run.halves(std::size_t{1} << 31).empty() && run.halves(SIZE_MAX).empty()));
}

TEST_CASE("where memory ends in the middle, no row is left", "[spill][rows]") {
    homes<plain> h;
    parent_row::of = &h.rows;
    text_row::alive = 0;
    homes<plain>::array array{h.rows};
    for (std::size_t i = 0; i != 2000; ++i)
        if (i % 4 == 0) array.push_back(h.rows.make<text_row>(text_of(i)));
        else if (i % 4 == 1) array.push_back(h.rows.make<parent_row>(i));
        else array.push_back(h.filled(bytes_of(i), static_cast<unsigned>(i)));
    auto run = h.inputs.put(std::move(array));
    CHECK(run.spill());
    h.rows.trim();
    std::size_t limit = h.near.used(), refused = 0;
    for (;; limit += 32_KiB) {
        h.near.set_limit(limit);
        allot::home_status why;
        if (const auto pin = run.try_pin(&why)) break;
        CHECK(why.how == allot::home_status::outcome::refused);
        CHECK((run.is_away() && text_row::alive == 0 && h.rows.live_rows() == 0));
        CHECK_THROWS_AS(run.pin(), allot::memory_error);
        CHECK((run.is_away() && text_row::alive == 0 && h.rows.live_rows() == 0));
        ++refused;
    }
    CHECK((refused > 20 && text_row::alive == 500));
    h.near.set_limit(8_MiB);
}

namespace {

struct judged : allot::policies<allot::ledger::tree, allot::spill::chain, allot::oom::state_machine> {};

} // namespace

TEST_CASE("rows of tasks that need all memory leave between attempts, and come back", "[spill][rows]") {
    const support::rescue ends{"rows that wait for ever"};
    allot::oom::arbiter tasks;
    account near{name{"near"}, limit{8_MiB}, tasks}, far{name{"far"}};
    allot::row_manager<judged> rows{near, allot::page_bytes{64_KiB}};
    support::hooked_home there{far, false, 4096};
    allot::store inputs{near, there};
    using stored = allot::stored<allot::row_array<judged>>;
    std::atomic<int> wrong{0};
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t != 3; ++t)
        threads.emplace_back([&, t] {
            allot::oom::task query{tasks, "query"};
            const allot::oom::task_thread here{query};
            const auto fill = [&] {
                allot::row_array<judged> array{rows};
                for (std::size_t i = 0; i != 200 + t; ++i) {
                    void* const row = rows.allocate(bytes_of(i));
                    std::memset(row, static_cast<int>(i % 251), allot::capacity(row));
                    auto held = allot::row_ptr<std::byte>::adopt(static_cast<std::byte*>(row));
                    array.push_back(std::move(held));
                }
                return inputs.put(std::move(array));
            };
            std::vector<stored> runs;
            for (int i = 0; i != 3; ++i) runs.push_back(allot::oom::with_retry_no_split(fill));
            const auto no_split = [](const stored&) { return std::vector<stored>(); };
            allot::oom::with_retry(runs, no_split, [&](stored& run) {
                const auto pin = run.pin();
                const allot::row_ptr<std::byte> result =
                    allot::row_ptr<std::byte>::adopt(static_cast<std::byte*>(rows.allocate(3_MiB)));
                wrong += !holds(*pin, 0, 200 + t);
            });
        });
    threads.clear();
    CHECK(wrong == 0);
    CHECK((rows.live_rows() == 0 && far.used() == 0));
}

namespace {

// Refuses the n-th request for pages, and twelve behind it, as it is made again.
struct refuses_nth final : allot::detail::injector {
    explicit refuses_nth(std::uint64_t n) : nth(n) {}
    bool refuses(const account&, std::size_t) noexcept override { return ++seen >= nth && seen < nth + 12; }
    const std::uint64_t nth;
    std::uint64_t seen = 0;
};

} // namespace

TEST_CASE("rows lose nothing while each page request fails once", "[spill][rows]") {
    std::uint64_t n = 1, refused = 0;
    for (;; ++n) {
        allot::oom::arbiter tasks;
        account near{name{"near"}, limit{8_MiB}, tasks}, far{name{"far"}};
        refuses_nth fault{n};
        text_row::alive = 0;
        {
            allot::row_manager<plain> rows{near, allot::page_bytes{64_KiB}};
            support::hooked_home there{far, false, 4096};
            allot::store inputs{near, there};
            allot::row_array<plain> array{rows};
            for (std::size_t i = 0; i != 120; ++i) {
                void* const row = rows.allocate(bytes_of(i));
                std::memset(row, static_cast<int>(i % 251), allot::capacity(row));
                array.push_back(row);
            }
            for (std::size_t i = 0; i != 10; ++i) array.push_back(rows.make<text_row>(text_of(i)));
            auto run = inputs.put(std::move(array));
            CHECK((run.spill() && text_row::alive == 0 && rows.live_rows() == 0));
            rows.trim();
            allot::detail::add(near.node(), fault);
            while (true) {
                try {
                    const auto pin = refused % 3 == 0   ? run.pin()
                                     : refused % 3 == 1 ? run.try_pin()
                                                        : run.pin_for(1_ms);
                    if (pin) break;
                } catch (const allot::memory_error&) {
                }
                ++refused;
                CHECK((run.is_away() && text_row::alive == 0 && rows.live_rows() == 0));
            }
            CHECK(text_row::alive == 10);
            allot::detail::remove(near.node(), fault);
        }
        CHECK(near.used() == 0);
        if (fault.seen < n) break;
        REQUIRE(n < 500);
    }
    CHECK((n > 20 && refused > 20));
}

TEST_CASE("threads pin rows while others are short of memory", "[spill][rows]") {
    homes<plain> h;
    std::vector<homes<plain>::stored> all;
    for (int i = 0; i != 4; ++i) all.push_back(put(h, 500));
    std::atomic<int> wrong{0};
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t != 3; ++t)
        threads.emplace_back([&, t] {
            for (std::size_t i = 0; i != 60; ++i) {
                auto& run = all[(i + t) % all.size()];
                if (i % 8 == 7) static_cast<void>(run.spill());
                else if (const auto pin = run.try_pin()) wrong += !holds(*pin, 0, 500);
                if (i % 5 == t) {
                    void* const row = h.rows.try_allocate(5_MiB);
                    if (row != nullptr) h.rows.release(row);
                }
            }
        });
    threads.clear();
    CHECK(wrong == 0);
    for (auto& run : all) CHECK(holds(*run.pin(), 0, 500));
}
