// Packets: rows where they were received, what counts them, who is charged, and what others may have sent.
#include <support/catch.hpp>
#include <support/tasks.hpp>

#include <allot/packet/frames.hpp>
#include <allot/packet/packets.hpp>
#include <allot/row/moving/row_array.hpp>
#include <allot/row_manager.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;
using allot::packet;
using allot::packets;
using allot::row_ptr;

namespace {

struct order {
    std::uint64_t key, value;
};
struct rows_anywhere : allot::policies<allot::count::links_anywhere, allot::ledger::tree> {};

struct fixture {
    account engine{name{"engine"}, limit{1_MiB}}, scan{engine, name{"scan"}}, join{engine, name{"join"}};
    std::optional<packets> in;
    fixture() { in.emplace(engine); }
    ~fixture() {
        CHECK((in->stats().packets == 0 && scan.used() == 0 && join.used() == 0));
        in.reset();
        CHECK((engine.used() == 0 && engine.verify()));
    }
    // `n` rows with these keys and on.
    packet receive(std::uint64_t key, std::size_t n) {
        return in->receive(scan, [&](std::span<std::byte> room) {
            for (std::size_t i = 0; i != n; ++i) {
                const order o{key + i, 7};
                std::memcpy(room.data() + i * sizeof o, &o, sizeof o);
            }
            return n * sizeof(order);
        });
    }
};

} // namespace

TEST_CASE("a row in a packet keeps its packet; the last one returns it", "[packet]") {
    fixture f;
    packet p = f.receive(1, 10);
    CHECK((p.bytes().size() == 160 && p.room().size() == 64_KiB && p.links() == 1 && p.holder() == &f.scan));
    CHECK(f.scan.used() == 64_KiB);
    row_ptr<const order> last = row_ptr<const order>::linked(p.row<order>(144));
    const void* const at = last.get();
    CHECK((last->key == 10 && at >= p.room().data() && at < p.room().data() + p.room().size()));
    CHECK(packet::of(last.get()) == p);
    CHECK(p.links() == 2);
    p = {};
    row_ptr<const order> same = last;
    last.reset();
    CHECK((same->key == 10 && f.scan.used() == 64_KiB && f.in->stats().links == 1));
    CHECK((allot::is_shared(same.get()) && allot::capacity(same.get()) == 0 && allot::check(same.get())));
    same.reset();
    CHECK((f.scan.used() == 0 && f.in->stats().packets == 0 && !packet::of(at)));
    CHECK((!packet::of(nullptr) && !packet::of(&f)));
}

TEST_CASE("what was not received is not shown", "[packet]") {
    fixture f;
    const packet p = f.receive(1, 2);
    CHECK((p.row<order>(16) != nullptr && p.row<order>(17) == nullptr && p.row<order>(24) == nullptr));
    CHECK((p.row<std::uint32_t>(28) != nullptr && p.row<std::uint32_t>(30) == nullptr));
    CHECK((p.get<std::uint64_t>(16) == 2 && p.get<std::uint32_t>(28) == 0 && !p.get<std::uint32_t>(29)));
    CHECK((p.at(31, 0) != nullptr && p.at(32, 0) == nullptr && p.at(32, 1) == nullptr && p.at(33, 0) == nullptr));
    for (const std::size_t huge : {std::size_t{1} << 31, static_cast<std::size_t>(PTRDIFF_MAX), SIZE_MAX}) {
        CHECK((p.at(huge, 1) == nullptr && p.at(0, huge) == nullptr && p.at(huge, huge) == nullptr));
        CHECK((p.row<order>(huge) == nullptr && !p.get<std::uint8_t>(huge) && !p.slice(huge, 1) && !p.slice(1, huge)));
    }
    const packet none;
    CHECK(
        (!none && none.bytes().empty() && none.at(0, 0) == nullptr && !none.get<std::uint8_t>(0) && !none.slice(0, 0)));
    CHECK((none.links() == 0 && none.holder() == nullptr && !none.transfer(f.join) && none.room().empty()));
}

TEST_CASE("what receives may have nothing, fail, or throw", "[packet]") {
    fixture f;
    CHECK((!f.in->receive(f.scan, [](auto) { return 0; }) && !f.in->receive(f.scan, [](auto) { return -1L; })));
    CHECK_THROWS_AS(f.in->receive(f.scan, [](auto) -> int { throw std::runtime_error("closed"); }), std::runtime_error);
    CHECK_THROWS_AS(f.in->receive(f.scan, [](auto room) { return room.size() + 1; }), std::length_error);
    CHECK_THROWS_AS(f.in->receive(f.scan, [](auto) { return SIZE_MAX; }), std::length_error);
    CHECK((f.in->stats().packets == 0 && f.scan.used() == 0));
    const packet whole = f.in->receive(f.scan, [](std::span<std::byte> room) { return room.size(); });
    CHECK((whole.bytes().size() == 64_KiB && whole.row<order>(64_KiB - 16) != nullptr));
    const packet later = f.in->allocate(f.scan); // filled by others
    CHECK((later.bytes().empty() && later.at(0, 1) == nullptr));
    later.set_bytes(1);
    CHECK(later.at(0, 1) != nullptr);
}

TEST_CASE("packets are refused beyond the limit of an account, and of their own", "[packet]") {
    fixture f;
    std::vector<packet> all;
    allot::charge_status why;
    while (packet p = f.in->try_allocate(f.scan, &why)) all.push_back(std::move(p));
    CHECK((why.outcome == allot::charge_outcome::over_limit && why.at == &f.engine && all.size() >= 14));
    try {
        f.in->allocate(f.scan);
        CHECK(false);
    } catch (const allot::out_of_memory& e) {
        CHECK_THAT(e.what(), ContainsSubstring("a packet of 64 KiB for account scan: over the limit"));
    }
    CHECK(!f.in->allocate_for(f.scan, 1_ms, &why));
    all.clear();
    CHECK(f.in->allocate_for(f.scan, 1_ms, &why));
    packets few{f.engine, {.bytes = 100'000, .limit = 300'000, .name = "few"}};
    CHECK(few.packet_bytes() == 100'000);
    for (int i = 0; i != 2; ++i) all.push_back(few.allocate(f.join));
    CHECK((!few.try_allocate(f.join, &why) && !why));
    all.clear();
    packets none{f.engine, {.bytes = 0}};
    CHECK(none.allocate(f.scan).room().size() >= 1);
    for (const std::size_t huge : {std::size_t{1} << 31, std::size_t{1} << 47, static_cast<std::size_t>(PTRDIFF_MAX),
                                   std::size_t{1} << 63, SIZE_MAX - 16_KiB, SIZE_MAX - 100, SIZE_MAX})
        for (const bool has_limit : {true, false}) {
            if (huge == std::size_t{1} << 31 && !has_limit) continue; // which there may be
            account free{name{"free"}};
            account& by = has_limit ? f.engine : free;
            packets large{by, {.bytes = huge}};
            CHECK((!large.try_allocate(by, &why) && !why && why.requested >= std::size_t{1} << 31));
            CHECK((!large.allocate_for(by, 0_ms, &why) && !why));
            CHECK_THROWS_AS(large.allocate(by), allot::out_of_memory);
            CHECK(large.stats().packets == 0);
        }
}

TEST_CASE("another account takes a packet over, with its rows; slices keep the memory", "[packet]") {
    fixture f;
    packet p = f.receive(1, 4);
    row_ptr<const order> row = row_ptr<const order>::linked(p.row<order>(32));
    CHECK((p.try_transfer(f.join) && f.join.used() == 64_KiB && f.scan.used() == 0 && p.holder() == &f.join));
    f.scan.set_limit(10);
    CHECK((!p.try_transfer(f.scan) && p.holder() == &f.join && f.join.used() == 64_KiB));
    CHECK((p.transfer(f.scan).charged() && f.scan.used() == 64_KiB && row->key == 3));
    f.scan.set_limit(SIZE_MAX);
    allot::buffer part = p.slice(16, 16);
    CHECK((p.transfer(f.join) && f.join.used() == 64_KiB)); // the slice is of scan
    p = {}, row.reset();
    CHECK((part.get<std::uint64_t>(0) == 2 && f.in->stats().packets == 0));
    CHECK(f.scan.used() + f.join.used() == 64_KiB);
    part.release();
    CHECK(f.scan.used() + f.join.used() == 0);
}

TEST_CASE("rows of many packets are sorted in place, by a manager whose set counts them anywhere", "[packet]") {
    fixture f;
    std::mt19937_64 random{1};
    {
        allot::row_manager<rows_anywhere> rows{f.engine, name{"rows"}};
        allot::row_array<rows_anywhere> all{rows};
        std::vector<std::pair<const std::byte*, const std::byte*>> where;
        for (int i = 0; i != 5; ++i) {
            const packet p = f.receive(random() % 1000, 100);
            where.emplace_back(p.room().data(), p.room().data() + p.room().size());
            for (std::size_t k = 0; k != 100; ++k) {
                const order* const o = p.row<order>(k * sizeof(order));
                rows.link(o);
                REQUIRE(all.push_back(const_cast<order*>(o)));
            }
        }
        auto* const own = static_cast<order*>(rows.allocate(sizeof(order)));
        own->key = 500;
        REQUIRE(all.push_back(own));
        CHECK(f.in->stats().links == 500);
        std::vector<void*> sorted;
        {
            const auto view = all.lock();
            const auto key = [](const void* r) { return static_cast<const order*>(r)->key; };
            std::sort(view.begin(), view.end(), [&](const void* a, const void* b) { return key(a) < key(b); });
            for (void* const r : view) {
                const auto* const at = static_cast<const std::byte*>(r);
                CHECK((r == own || std::any_of(where.begin(), where.end(),
                                               [&](auto& w) { return at >= w.first && at < w.second; })));
                CHECK((sorted.empty() || key(sorted.back()) <= key(r)));
                sorted.push_back(r);
            }
        }
        const allot::compaction done = rows.compact(sorted);
        CHECK((done.pinned == 500 && done.kept == 1 && done.moved == 0));
    }
    CHECK((f.in->stats().packets == 0 && f.scan.used() == 0));
}

TEST_CASE("a row that pins a large packet alone is copied out", "[packet]") {
    fixture f;
    {
        allot::row_manager<rows_anywhere> rows{f.engine, name{"rows"}};
        packet p = f.receive(1, 4);
        row_ptr<const order> a = row_ptr<const order>::linked(p.row<order>(0)),
                             b = row_ptr<const order>::linked(p.row<order>(16));
        const order* const was = a.get();
        a = allot::take(rows, std::move(a), sizeof(order), 4096); // half of the packet's 64 KiB are enough
        CHECK(a.get() == was);
        p = {};
        a = allot::take(rows, std::move(a));
        CHECK((a.get() != was && a->key == 1 && f.in->stats().links == 1));
        b = allot::take(rows, std::move(b));
        CHECK((b->key == 2 && f.in->stats().packets == 0));
        const order* const mine = b.get();
        b = allot::take(rows, std::move(b));
        CHECK((b.get() == mine && !allot::take(rows, row_ptr<const order>{})));
        struct alignas(64) line {
            std::uint64_t n[8];
        };
        packet q = f.receive(1, 40);
        row_ptr<const line> c = row_ptr<const line>::linked(q.row<line>(64));
        q = {};
        c = allot::take(rows, std::move(c), sizeof(line), 0);
        CHECK((reinterpret_cast<std::uintptr_t>(c.get()) % 64 == 0 && c->n[0] == 5 && f.in->stats().packets == 0));
        const support::charged all{f.engine, f.engine.headroom()};
        CHECK(true);
    }
}

#if !ALLOT_CHECKED // which reports it, see tests/death
TEST_CASE("a release too many of a row takes nothing from a handle", "[packet]") {
    fixture f;
    packet p = f.receive(1, 4);
    row_ptr<const order> linked = row_ptr<const order>::linked(p.row<order>(16));
    for (int i = 0; i != 2; ++i) allot::release(p.row<order>(0)); // one of them is that of `linked`
    CHECK((p.links() == 1 && f.in->stats().packets == 1 && p.row<order>(16)->key == 2));
    linked.reset();
    CHECK(p.links() == 1);
    const packet same = p;
    p = {};
    CHECK((same.links() == 1 && same.row<order>(0)->key == 1));
}
#endif

TEST_CASE("a packet takes the pages that its bytes need, and no more", "[packet]") {
    for (const std::size_t pages : {1U, 2U, 3U, 4U, 5U, 7U}) {
        fixture f;
        {
            packets in{f.engine, {.bytes = pages * 16_KiB - 100}};
            std::vector<packet> all;
            while (packet p = in.try_allocate(f.scan)) all.push_back(std::move(p));
            CHECK((all.size() >= 60 / pages && f.scan.used() == all.size() * pages * 16_KiB));
        }
    }
}

static_assert(std::is_convertible_v<row_ptr<order>, row_ptr<const order>>);
static_assert(!std::is_convertible_v<row_ptr<const order>, row_ptr<order>>);
static_assert(!std::is_convertible_v<row_ptr<int>, row_ptr<const order>>);
template <class Row> concept is_sent = requires(allot::frame_writer& w, const Row& row) { w.add(row, 0); };
static_assert(is_sent<order> && !is_sent<const order*> && !is_sent<std::string_view> && !is_sent<std::span<order>>);

TEST_CASE("packets report what pins them", "[packet]") {
    fixture f;
    const packet p = f.receive(1, 4), q = f.receive(1, 1);
    char text[2000];
    allot::text_writer out{text};
    f.in->report(out);
    CHECK_THAT(std::string(out.view()),
               ContainsSubstring("packets packets: 2, 128 KiB, of which 80 bytes were received; "
                                 "2 links\n    a packet of 64 KiB of account scan: 1 link\n"));
}

TEST_CASE("frames come back as they were sent", "[packet][frames]") {
    std::vector<std::byte> bytes(1000);
    allot::frame_writer out{bytes};
    const order o{5, 6};
    CHECK((out.add(o, 1) && out.add("abc", 3, 0) && out.add(nullptr, 0, 0)));
    CHECK((out.bytes().size() == 24 + 16 + 8 && !out.add(bytes.data(), 1000, 0) && !out.add(nullptr, SIZE_MAX, 0)));
    const std::array<allot::frame_type, 2> types{{{0, 3}, {16, 16}}};
    allot::frame_reader in{out.bytes(), types};
    auto f = in.next();
    REQUIRE(f);
    CHECK((f->type == 1 && f->as<order>()->value == 6 && f->as<std::array<order, 2>>() == nullptr));
    f = in.next();
    REQUIRE(f);
    CHECK((f->type == 0 && std::string_view(reinterpret_cast<const char*>(f->row.data()), f->row.size()) == "abc"));
    f = in.next();
    CHECK((f && f->row.empty() && f->row.data() < out.bytes().data() + out.bytes().size() && !in.next() &&
           in.error() == allot::frame_error::none && in.offset() == 48));
    for (std::size_t n = 0; n != 48; ++n) { // each end
        allot::frame_reader part{out.bytes().first(n), types};
        while (part.next()) {
        }
        CHECK((part.error() == allot::frame_error::none) == (n == 0 || n == 24 || n == 40));
    }
    const auto wrong = [&](std::size_t at, std::uint32_t value) {
        std::vector<std::byte> changed(out.bytes().begin(), out.bytes().end());
        std::memcpy(changed.data() + at, &value, 4);
        allot::frame_reader r{changed, types};
        while (r.next()) {
        }
        return r.error();
    };
    using allot::frame_error;
    CHECK((wrong(0, 15) == frame_error::wrong_bytes && wrong(0, 0) == frame_error::wrong_bytes));
    CHECK((wrong(0, 41) == frame_error::truncated && wrong(0, UINT32_MAX) == frame_error::truncated));
    CHECK((wrong(4, 2) == frame_error::unknown_type && wrong(4, UINT32_MAX) == frame_error::unknown_type));
    CHECK(std::string_view(text_of(frame_error::truncated)) == "the packet ends inside a row");
}
