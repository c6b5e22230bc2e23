#include <support/catch.hpp>

#include <allot/buffers.hpp>

#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

using allot::account;
using allot::buffer;
using allot::buffer_memory;
using allot::bytes_vector;
using allot::limit;
using allot::name;
using allot::value_vector;
using namespace allot::literals;

namespace {

struct fixture {
    allot::heap_memory heap;
    buffer_memory memory{heap};
    account query{name{"query"}, limit{16_MiB}};
    account scan{query, name{"scan"}}, join{query, name{"join"}}, sort{query, name{"sort"}};
    ~fixture() {
        CHECK(query.used() == 0);
        CHECK(query.verify());
    }
};

template <class T>
void same(const value_vector<T>& v, const std::vector<std::optional<T>>& model, std::size_t from, std::size_t n) {
    REQUIRE(v.size() == n);
    std::size_t nulls = 0;
    for (std::size_t i = 0; i != n; ++i) {
        nulls += !model[from + i].has_value();
        if (v[i] != model[from + i]) FAIL("value " << i << " of a slice from " << from);
    }
    if (v.null_count() != nulls) FAIL(v.null_count() << " nulls, not " << nulls << " from " << from << ", " << n);
}
void same(const bytes_vector& v, const std::vector<std::optional<std::string>>& model, std::size_t from,
          std::size_t n) {
    REQUIRE(v.size() == n);
    std::size_t nulls = 0;
    for (std::size_t i = 0; i != n; ++i) {
        nulls += !model[from + i].has_value();
        if (v.is_valid(i) != model[from + i].has_value() || v.get(i) != model[from + i].value_or(""))
            FAIL("value " << i << " of a slice from " << from);
    }
    if (v.null_count() != nulls) FAIL(v.null_count() << " nulls, not " << nulls);
}

} // namespace

TEST_CASE_METHOD(fixture, "every slice of a vector, and every slice of those", "[vectors]") {
    constexpr std::size_t n = 150; // more than two words of bits
    std::mt19937 random(7);
    auto v = value_vector<std::int16_t>::allocate(memory, scan, n);
    std::vector<std::optional<std::int16_t>> model(n);
    CHECK(v.null_count() == n);
    for (std::size_t i = 0; i != n; ++i)
        if (random() % 3 != 0) v.set(i, *(model[i] = static_cast<std::int16_t>(random())));
    for (std::size_t i = 0; i < n; i += 17) v.set_null(i), model[i].reset();
    for (std::size_t from = 0; from <= n; ++from)
        for (std::size_t count = 0; from + count <= n; ++count) {
            auto s = v.slice(from, count);
            same(s, model, from, count);
            if (count > 40 && count % 5 == 0) same(s.slice(from % 29, 9), model, from + from % 29, 9);
        }
    // written through a slice, read in the whole: neighbours stay
    auto s = v.slice(13, 70);
    s.set(0, 1), s.set_null(1), s.set(69, 3);
    model[13] = 1, model[14].reset(), model[82] = 3;
    same(v, model, 0, n);
}

TEST_CASE_METHOD(fixture, "every slice of a vector of strings", "[vectors]") {
    constexpr std::size_t n = 70;
    std::mt19937 random(8);
    auto v = bytes_vector::allocate(memory, scan, n, 1000);
    std::vector<std::optional<std::string>> model;
    for (std::size_t i = 0; i != n; ++i) {
        if (random() % 4 == 0) {
            CHECK(v.append_null());
            model.emplace_back();
        } else {
            model.emplace_back(std::string(random() % 12, static_cast<char>('a' + i % 26)));
            CHECK(v.append(*model.back()));
        }
    }
    CHECK_FALSE(v.append(""));
    CHECK_FALSE(v.append_null());
    for (std::size_t from = 0; from <= n; ++from)
        for (std::size_t count = 0; from + count <= n; ++count) {
            auto s = v.slice(from, count);
            same(s, model, from, count);
            if (count > 30 && count % 5 == 0) same(s.slice(from % 19, 9), model, from + from % 19, 9);
        }
    auto s = v.slice(5, 3);
    CHECK(s.data().size() ==
          (model[5].value_or("") + model[6].value_or("") + model[7].value_or("")).size()); // its own alone
    CHECK_FALSE(s.append("x"));
}

TEST_CASE_METHOD(fixture, "a value that has no room changes nothing", "[vectors]") {
    auto v = bytes_vector::allocate(memory, scan, 10, 5);
    CHECK(v.append("abc"));
    CHECK_FALSE(v.append("def"));
    CHECK(v.size() == 1);
    CHECK(v.append("de"));
    CHECK_FALSE(v.append("x"));
    CHECK(v.append(""));
    CHECK(v.get(1) == "de");
    CHECK(v[2] == "");
    auto none = bytes_vector::allocate(memory, scan, 0, 0);
    CHECK_FALSE(none.append(""));
    CHECK(none.null_count() == 0);
    auto only_nulls = bytes_vector::allocate(memory, scan, 2, 0);
    CHECK(only_nulls.append(""));
    CHECK(only_nulls.append_null());
    auto kept = only_nulls.retain(join);
    CHECK(kept[0] == "");
    CHECK_FALSE(kept[1]);
}

TEST_CASE_METHOD(fixture, "one operator scans, a second keeps a slice, a third gets the charge", "[vectors]") {
    auto v = value_vector<double>::allocate(memory, scan, 1000);
    auto w = bytes_vector::allocate(memory, scan, 1000, 4096);
    for (std::size_t i = 0; i != 1000; ++i) {
        if (i % 2 == 0) v.set(i, static_cast<double>(i));
        CHECK(w.append(std::to_string(i)));
    }
    const std::size_t all = scan.used();
    CHECK(scan.stats().buffers == 2); // a block each
    auto kept = v.slice(11, 100).retain(join);
    auto names = w.slice(11, 100).retain(join);
    CHECK(kept.holder() == &join);
    CHECK(join.used() == 0);
    const std::size_t peak = query.peak();
    auto r = std::move(v).transfer(sort);
    auto q = std::move(w).transfer(sort);
    CHECK(r.fitted());
    CHECK(q.fitted());
    CHECK(v.empty());
    CHECK(w.empty());
    CHECK(scan.used() == 0);
    CHECK(scan.stats().buffers == 0);
    CHECK(sort.used() == all);
    CHECK(query.peak() == peak);
    CHECK(q.view.append_null() == false); // full
    r.view = {}, q.view = {};
    CHECK(join.used() == all);
    CHECK(kept[1] == 12.0);
    CHECK_FALSE(kept[0]);
    CHECK(names[99] == "110");
    auto back = std::move(kept).transfer(join);
    CHECK(back.view.size() == 100);
    account shut{query, name{"shut"}};
    shut.close();
    auto no = std::move(back.view).transfer(shut);
    CHECK(no.view.empty());
    CHECK_FALSE(no.status);
    CHECK(back.view.size() == 100); // as it was
    sort.set_limit(0);
    CHECK_FALSE(std::move(names).transfer(sort).fitted());
}

namespace {

// Closes an account as soon as a charge has come to it.
struct closer : allot::account_listener {
    account* victim = nullptr;
    void transferred(const account&, const account& to, std::size_t, const allot::charge_status&) noexcept override {
        if (&to == victim) victim->close_when_drained([](account&, void*) noexcept {});
    }
};
value_vector<double> numbers_in_two_blocks(const buffer_memory& memory, account& by) {
    buffer bits = memory.allocate(by, 2);
    bits.set<std::uint16_t>(0, 0);
    value_vector<double> v{memory.allocate(by, 80), 10, std::move(bits)};
    v.set(3, 2.5);
    return v;
}
bytes_vector strings_in_two_blocks(const buffer_memory& memory, account& by) {
    buffer offsets = memory.allocate(by, 12), data = memory.allocate(by, 5);
    offsets.set<std::uint32_t>(0, 0), offsets.set<std::uint32_t>(4, 2), offsets.set<std::uint32_t>(8, 5);
    std::memcpy(data.data(), "abcde", 5);
    return {std::move(offsets), std::move(data), 2};
}

} // namespace

TEST_CASE_METHOD(fixture, "an account closes in the midst of a vector's transfer", "[vectors]") {
    closer ears;
    query.add(ears);
    account brief{query, name{"brief"}};
    ears.victim = &brief;
    SECTION("numbers of two blocks: the second stays, and the first comes back") {
        auto v = numbers_in_two_blocks(memory, scan);
        const std::size_t all = scan.used();
        auto r = std::move(v).transfer(brief);
        CHECK(r.status.outcome == allot::charge_outcome::closed);
        CHECK(r.view.empty());
        CHECK(v.size() == 10);
        CHECK(v.holder() == &scan);
        CHECK(v[3] == 2.5);
        CHECK(scan.used() == all);
    }
    SECTION("strings of two blocks") {
        auto v = strings_in_two_blocks(memory, scan);
        const std::size_t all = scan.used();
        auto r = std::move(v).transfer(brief);
        CHECK(r.status.outcome == allot::charge_outcome::closed);
        CHECK(r.view.empty());
        CHECK(v.size() == 2);
        CHECK(v.holder() == &scan);
        CHECK(v[1] == "cde");
        CHECK(scan.used() == all);
    }
    SECTION("all in one block: it went before") {
        auto v = value_vector<double>::allocate(memory, scan, 10);
        auto r = std::move(v).transfer(brief);
        CHECK(r.fitted());
        CHECK(r.view.holder() == &brief);
        CHECK(v.empty());
        CHECK(scan.used() == 0);
    }
    CHECK(query.remove(ears));
}

TEST_CASE_METHOD(fixture, "a vector of no values over a buffer that has bytes", "[vectors]") {
    value_vector<double> v{memory.allocate(scan, 80), 0};
    const std::size_t all = scan.used();
    auto kept = v.retain(join);
    CHECK(kept.holder() == &join);
    auto r = std::move(v).transfer(sort);
    CHECK(r.fitted());
    CHECK(r.view.holder() == &sort);
    CHECK(v.holder() == nullptr);
    CHECK(sort.used() == all);
    account shut{query, name{"shut"}};
    shut.close();
    auto no = std::move(r.view).transfer(shut);
    CHECK(no.status.outcome == allot::charge_outcome::closed);
    CHECK(r.view.holder() == &sort); // as it was
}

TEST_CASE_METHOD(fixture, "a vector that was moved from is empty", "[vectors]") {
    bytes_vector names = bytes_vector::allocate(memory, scan, 20, 100);
    for (const char* const text : {"a", "bc", "def", "g", "hi", "j", "k", "l", "m", "n"}) CHECK(names.append(text));
    const auto is_empty = [](const auto& v) {
        return v.empty() && v.size() == 0 && v.null_count() == 0 && v.holder() == nullptr && v.first_bit() == 0;
    };
    value_vector<int> whole = value_vector<int>::allocate(memory, scan, 20);
    whole.set(3, 7);
    value_vector<int> v = whole.slice(3, 9), w = std::move(v);
    CHECK(is_empty(v));
    CHECK(w.size() == 9);
    CHECK(w.first_bit() == 3);
    CHECK(w[0] == 7);
    v = std::move(w);
    CHECK(is_empty(w));
    CHECK(v[0] == 7);
    bytes_vector s = names.slice(1, 9), t = std::move(s);
    CHECK(is_empty(s));
    CHECK(s.base() == 0);
    CHECK(t[1] == "def");
    s = std::move(t);
    CHECK(is_empty(t));
    CHECK(t.base() == 0);
    CHECK(s[0] == "bc");
    bytes_vector all = std::move(names);
    CHECK_FALSE(names.append("x"));
    CHECK_FALSE(names.append_null());
    CHECK(all.append("x"));
    // a transfer to its own account gives it up, too
    auto same_numbers = std::move(v).transfer(scan);
    auto same_names = std::move(all).transfer(scan);
    CHECK(is_empty(v));
    CHECK(is_empty(all));
    CHECK(same_numbers.view[0] == 7);
    CHECK(same_names.view.append("y"));
}

TEST_CASE_METHOD(fixture, "two views of a vector do not append to the same place", "[vectors]") {
    bytes_vector v = bytes_vector::allocate(memory, scan, 3, 100);
    CHECK(v.append("a"));
    bytes_vector w = v.retain(join), x = v.retain(scan);
    CHECK_FALSE(w.append("b"));
    CHECK_FALSE(x.append_null());
    CHECK(v.append("c"));
    CHECK(v[0] == "a");
    CHECK(v[1] == "c");
    CHECK(w.size() == 1);
    CHECK(w[0] == "a");
    auto r = std::move(v).transfer(sort); // the room goes along
    CHECK(r.fitted());
    CHECK(r.view.append("d"));
    CHECK_FALSE(r.view.append("e"));
    CHECK(r.view[2] == "d");
    CHECK(std::move(w).transfer(sort).view.append("f") == false);
}

TEST_CASE_METHOD(fixture, "a vector in what was reserved", "[vectors]") {
    const std::size_t first = value_vector<std::uint32_t>::bytes_for(77);
    CHECK(first == 312 + 10);
    const std::size_t sum = allot::detail::align_up(first, 8) + bytes_vector::bytes_for(9, 50);
    auto sure = scan.reserve_for(memory.capacity_for(sum), 0_ms);
    CHECK(sure);
    buffer whole = memory.allocate(scan, sum);
    sure.release();
    auto v = value_vector<std::uint32_t>::cut(whole.slice(0, first), 77);
    auto w = bytes_vector::cut(whole.slice(allot::detail::align_up(first, 8), bytes_vector::bytes_for(9, 50)), 9, 50);
    for (unsigned i = 0; i != 77; ++i) v.set(i, i);
    for (unsigned i = 0; i != 9; ++i) CHECK(w.append("abcde"));
    CHECK(v.null_count() == 0);
    CHECK(*v[76] == 76);
    CHECK(w[8] == "abcde");
    whole.release();
    CHECK(scan.used() == v.values().block_bytes());
    CHECK_FALSE(value_vector<double>::try_allocate(memory, scan, SIZE_MAX / 3));
    CHECK_FALSE(bytes_vector::try_allocate(memory, scan, SIZE_MAX / 3, 1));
    CHECK_FALSE(bytes_vector::try_allocate(memory, scan, 1, std::size_t{1} << 33));
    CHECK(value_vector<double>::allocate(memory, scan, 0).empty());
}

TEST_CASE_METHOD(fixture, "vectors over buffers of others", "[vectors]") {
    buffer values = memory.allocate(scan, 80), bits = memory.allocate(scan, 3);
    for (unsigned i = 0; i != 10; ++i) values.set<std::uint64_t>(8 * i, i * i);
    bits.set<std::uint8_t>(0, 0), bits.set<std::uint8_t>(1, 0b1110'0000), bits.set<std::uint8_t>(2, 0b0000'0101);
    value_vector<std::uint64_t> v{values.slice(), 10, std::move(bits), 12};
    CHECK(v.first_bit() == 4);
    CHECK(v.null_count() == 5);
    CHECK_FALSE(v[0]);
    CHECK(v[1] == 1u);
    CHECK(v[6] == 36u);
    CHECK_FALSE(v[7]);
    value_vector<std::uint64_t> all{values.slice(), 10};
    CHECK(all.null_count() == 0);
    CHECK(all[9] == 81u);
    CHECK_FALSE(all.set_null(3)); // it has no bits
    CHECK(all.slice(2, 3)[0] == 4u);
    buffer offsets = memory.allocate(scan, 12), data = memory.allocate(scan, 6);
    offsets.set<std::uint32_t>(0, 1), offsets.set<std::uint32_t>(4, 4), offsets.set<std::uint32_t>(8, 6);
    std::memcpy(data.data(), "xabcde", 6);
    bytes_vector w{offsets.slice(), data.slice(), 2};
    CHECK(w[0] == "abc");
    CHECK(w[1] == "de");
    CHECK(w.slice(1, 1)[0] == "de");
#if !ALLOT_CHECKED // which tells, see tests/death
    CHECK(value_vector<std::uint64_t>{values.slice(), 11}.empty());
    CHECK(value_vector<std::uint64_t>{values.slice(), 10, memory.allocate(scan, 2), 7}.empty());
    CHECK(bytes_vector{offsets.slice(), data.slice(0, 5), 2}.empty());
    CHECK(bytes_vector{offsets.slice(), data.slice(), 3}.empty());
    offsets.set<std::uint32_t>(4, 7);
    CHECK(bytes_vector{offsets.slice(), data.slice(), 2}.empty());
    CHECK(all.slice(5, 6).empty());
    CHECK(w.slice(3, 0).empty());
    CHECK_FALSE(values.slice(80, 1));
    CHECK_FALSE(values.slice(SIZE_MAX, 2));
#endif
}

TEST_CASE("bits counted from any bit on", "[vectors]") {
    std::mt19937 random(3);
    std::vector<std::byte> bits(40);
    for (auto& b : bits) b = static_cast<std::byte>(random());
    for (std::size_t first = 0; first != 80; ++first)
        for (std::size_t n = 0; first + n <= 320; ++n) {
            std::size_t count = 0;
            for (std::size_t i = 0; i != n; ++i) count += allot::detail::bit_at(bits.data(), first + i);
            if (allot::detail::count_bits(bits.data(), first, n) != count) FAIL(first << " " << n);
        }
    CHECK(allot::detail::bytes_of_bits(7, 1) == 1);
    CHECK(allot::detail::bytes_of_bits(7, 2) == 2);
    CHECK(allot::detail::bytes_of_bits(8, 8) == 1);
}
