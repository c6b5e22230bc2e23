// What the answers of guard promise: each kind of damage is told with its names, and nothing follows it into the
// wild. A new guard joins by a set in the lists of what it does.
#include <support/catch.hpp>
#include <support/damage.hpp>
#include <support/sets_home.hpp>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

using namespace allot::literals;

namespace {

using allot::misuse;
namespace guard = allot::guard;
using everything = guard::all<guard::encoded, guard::canary, guard::quarantine<16>, guard::zero>;

template <class... Ps> struct a_set : allot::policies<Ps...> {};
using linked = allot::slots::linked;
using bitmap = allot::slots::bitmap;

using coded_sets = std::tuple<a_set<linked, guard::encoded>, a_set<linked, everything>,
                              a_set<linked, guard::all<guard::canary, guard::encoded>>>;
using canary_sets =
    std::tuple<a_set<linked, guard::canary>, a_set<bitmap, guard::canary>, a_set<bitmap, everything>,
               a_set<linked, guard::canary, allot::size::packed>, a_set<guard::canary, allot::size::exact>,
               a_set<guard::canary, allot::heap::per_thread>, a_set<guard::canary, allot::count::links_aside>,
               a_set<guard::all<guard::canary, guard::zero>, allot::count::none>,
               a_set<everything, allot::heap::unique>>;
using waiting_sets = std::tuple<a_set<guard::quarantine<16>>, a_set<bitmap, guard::quarantine<16>>,
                                a_set<linked, everything>, a_set<guard::quarantine<16>, allot::count::none>,
                                a_set<guard::quarantine<16>, allot::count::links_aside>>;
using wiping_sets = std::tuple<a_set<linked, guard::zero>, a_set<bitmap, guard::zero>, a_set<linked, everything>,
                               a_set<guard::zero, allot::size::packed>, a_set<guard::zero, allot::heap::per_thread>,
                               a_set<guard::zero, allot::count::none>, a_set<guard::zero, allot::count::links_aside>>;
using guards = std::tuple<guard::none, guard::encoded, guard::canary, guard::quarantine<>, guard::zero, everything>;

const allot::row_type order{"order"};

bool is_zero(const void* p, std::size_t n) {
    const auto* at = static_cast<const unsigned char*>(p);
    return std::all_of(at, at + n, [](unsigned char c) { return c == 0; });
}
unsigned char* bytes(void* p) { return static_cast<unsigned char*>(p); }

} // namespace

TEMPLATE_LIST_TEST_CASE("guard: an answer stands in its category, and rows are as without it", "[guard]", guards) {
    STATIC_REQUIRE(allot::category::guard::takes<TestType>);
    STATIC_REQUIRE(std::is_empty_v<TestType>);
    damage_log log;
    sets::home<a_set<TestType, linked>> home{log.sink()};
    std::vector<std::pair<unsigned char*, std::size_t>> all;
    auto heap = home.rows.heap(allot::as<allot::heap::unique, allot::size::packed>, 61, order);
    auto local = heap.local();
    for (std::size_t i = 0; i < 3000; ++i) {
        void* const p = i % 3 == 0 ? local.allocate() : i % 3 == 1 ? heap.allocate() : home.rows.allocate(i, order);
        all.emplace_back(bytes(p), home.rows.capacity(p));
        REQUIRE(all.back().second >= (i % 3 == 2 ? i : 61));
        std::memset(p, static_cast<int>(i % 255), all.back().second); // all that it may use
    }
    CHECK(home.rows.valid());
    bool good = true;
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (std::size_t k = 0; k < all[i].second; ++k) good = good && all[i].first[k] == i % 255;
        good = good && allot::check(all[i].first);
        if (i % 3 == 0) local.release(all[i].first);
        else if (i % 3 == 1) allot::release(all[i].first);
        else home.rows.release(all[i].first);
    }
    CHECK(good);
    CHECK(home.rows.valid());
    CHECK(home.rows.live_rows() == 0);
    CHECK(log.none());
}

TEST_CASE("guard: without links in rows encoded costs nothing", "[guard]") {
    STATIC_REQUIRE(sizeof(allot::heaplet<bitmap, guard::encoded>) == sizeof(allot::heaplet<bitmap>));
    STATIC_REQUIRE(std::is_same_v<allot::free_slots<bitmap, guard::encoded>, bitmap::in_page>);
    STATIC_REQUIRE(!std::is_same_v<allot::free_slots<linked, guard::encoded>, linked::in_page>);
    STATIC_REQUIRE(sizeof(allot::heaplet<linked, guard::none>) == sizeof(allot::heaplet<linked>));
}

// ---- encoded ------------------------------------------------------------------------------------------------------

TEMPLATE_LIST_TEST_CASE("guard: a link that was written over is told, and its list dropped", "[guard]", coded_sets) {
    std::mt19937 random(5);
    const allot::leak_sink quiet{[](void*, std::string_view) noexcept {}};
    for (int round = 0; round < 40; ++round) {
        damage_log log;
        sets::home<TestType> home{log.sink(), quiet};
        auto heap = home.rows.heap(allot::as<allot::heap::unique>, round % 2 != 0 ? 100 : 61, order);
        std::vector<void*> all;
        for (int i = 0; i < 400; ++i) all.push_back(heap.allocate());
        void* const kept = all.front(); // or the page would go
        std::shuffle(all.begin() + 1, all.end(), random);
        for (std::size_t i = 1; i < all.size(); ++i) heap.release(all[i]);
        auto* const victim = bytes(all[100]); // long back in its heaplet
        std::uint32_t word;
        allot::sys::read_poisoned(&word, reinterpret_cast<const std::byte*>(victim), 4);
        const std::uint32_t was = word;
        if (round < 8) word = round % 2 != 0 ? 0 : ~word; // what programs write most
        else if (round < 24) word ^= 0xFFu << round % 4 * 8;
        else word ^= static_cast<std::uint32_t>(random());
        if (word == was) continue;
        stray_write(victim, &word, 4);
        CHECK_FALSE(home.rows.valid());
        std::set<void*> seen{kept};
        bool good = true;
        for (int i = 0; i < 600; ++i) {
            void* const p = heap.allocate();
            good = good && seen.insert(p).second && allot::capacity(p) >= 61;
            std::memset(p, 0xaa, allot::capacity(p));
        }
        CHECK(good);
        INFO("round " << round);
        // The quarantine may find the same write first.
        const auto told =
            std::find_if(log.all.begin(), log.all.end(), [](const auto& e) { return e.kind == misuse::broken_link; });
        REQUIRE(told != log.all.end());
        CHECK(told->address == victim);
        CHECK(told->heap == "order");
        CHECK(told->type == "order");
        CHECK_THAT(told->set, ContainsSubstring("a_set"));
        for (void* p : seen) heap.release(p);
        CHECK(home.rows.live_rows() == 0);
        home.rows.release_empty_pages();
        CHECK(home.rows.used() == 0); // the page with the broken list, too
    }
}

TEST_CASE("guard: links of a page do not show in its rows", "[guard]") {
    sets::home<a_set<linked, guard::encoded>> home;
    auto heap = home.rows.heap(allot::as<allot::heap::unique>, 64, order);
    std::vector<void*> all;
    for (int i = 0; i < 300; ++i) all.push_back(heap.allocate());
    for (std::size_t i = 1; i < all.size(); ++i) heap.release(all[i]);
    int offsets = 0;
    for (std::size_t i = 1; i < 200; ++i) {
        std::uint32_t word;
        allot::sys::read_poisoned(&word, static_cast<const std::byte*>(all[i]), 4);
        offsets += word < 65536;
    }
    CHECK(offsets < 5);
    heap.release(all[0]);
}

// ---- canary -------------------------------------------------------------------------------------------------------

TEMPLATE_LIST_TEST_CASE("guard: an overrun is told at the last release, whoever releases", "[guard]", canary_sets) {
    damage_log log;
    sets::home<TestType> home{log.sink()};
    auto& rows = home.rows;
    auto heap = rows.heap(allot::as<allot::heap::unique>, 52, order);
    auto local = heap.local();
    auto any = rows.local();
    int way = 0;
    for (const std::size_t at : {0u, 1u, 2u, 3u})
        for (way = 0; way < 8; ++way) {
            INFO("byte " << at << ", way " << way);
            void* const p = way < 4    ? heap.allocate()
                            : way == 4 ? any.allocate(300, order)
                                       : rows.allocate(way == 7 ? 300000 : 300, order);
            auto* const behind = bytes(p) + allot::capacity(p);
            CHECK(allot::check(p));
            behind[at] = static_cast<unsigned char>(~behind[at]);
            CHECK_FALSE(allot::check(p));
            CHECK(log.one(misuse::overrun, p));
            CHECK_FALSE(rows.valid());
            log.all.clear();
            if constexpr (requires { rows.link(p); }) {
                rows.link(p);
                rows.release(p);
                CHECK(log.none()); // somebody holds it still
            }
            switch (way) {
            case 0: heap.release(p); break;
            case 1: local.release(p); break;
            case 2: allot::release(p); break;
            case 3: std::thread([&] { allot::release(p); }).join(); break;
            case 4: any.release(p); break;
            default: rows.release(p);
            }
            CHECK(log.one(misuse::overrun, p));
            CHECK(log.last.heap == (way < 4 ? "order" : way == 7 ? "huge" : "rows"));
            if (way < 4 || sets::links<decltype(home.rows)>) CHECK(log.last.type == "order");
            CHECK(rows.valid()); // told once: the canary stands again
        }
    CHECK(rows.live_rows() == 0);
}

TEST_CASE("guard: a canary is no part of a row, and rows are aligned as without one", "[guard]") {
    sets::home<a_set<guard::canary>> home;
    for (const std::size_t align : {4u, 8u, 16u, 64u})
        for (const std::size_t n : {0u, 1u, 4u, 12u, 60u, 61u, 64u, 1000u}) {
            const allot::row_type type{"aligned", nullptr, align};
            auto packed = home.rows.heap(allot::as<allot::heap::unique, allot::size::packed>, n, type);
            const std::size_t header = 4, need = std::max<std::size_t>(n, 4);
            CHECK(packed.usage().slot_bytes == allot::align_up(need + header + 4, align));
            void* const p = packed.allocate();
            CHECK(reinterpret_cast<std::uintptr_t>(p) % align == 0);
            CHECK(allot::capacity(p) == packed.usage().slot_bytes - header - 4);
            packed.release(p);
            void* const q = home.rows.allocate(n, type);
            CHECK(reinterpret_cast<std::uintptr_t>(q) % align == 0);
            home.rows.release(q);
        }
    // Slots keep to the classes of the list.
    sets::home<a_set<guard::none>> plain;
    for (std::size_t n = 8; n < 8000; n = n * 5 / 4) {
        void* const with = home.rows.allocate(n);
        void* const without = plain.rows.allocate(n);
        CHECK((allot::capacity(with) == allot::capacity(without) - 4 || allot::capacity(without) < n + 4));
        home.rows.release(with);
        plain.rows.release(without);
    }
}

TEST_CASE("guard: two rows' canaries differ, and two heaps'", "[guard]") {
    sets::home<a_set<guard::canary>> home;
    std::set<std::uint32_t> words;
    decltype(home.rows.heap(allot::as<allot::heap::unique>, 64)) heaps[] = {
        home.rows.heap(allot::as<allot::heap::unique>, 64), home.rows.heap(allot::as<allot::heap::unique>, 64),
        home.rows.heap(allot::as<allot::heap::unique>, 64), home.rows.heap(allot::as<allot::heap::unique>, 64)};
    for (auto& heap : heaps) {
        for (int i = 0; i < 100; ++i) {
            void* const p = heap.allocate();
            std::uint32_t word;
            std::memcpy(&word, bytes(p) + allot::capacity(p), 4);
            words.insert(word);
        }
    }
    for (auto& heap : heaps) heap.release_all();
    CHECK(words.size() > 390);
}

// ---- quarantine ---------------------------------------------------------------------------------------------------

TEMPLATE_LIST_TEST_CASE("guard: a released row waits for as many others", "[guard]", waiting_sets) {
    damage_log log;
    sets::home<TestType> home{log.sink()};
    auto heap = home.rows.heap(allot::as<allot::heap::unique>, 64, order);
    auto local = heap.local();
    std::vector<void*> all;
    for (int i = 0; i < 500; ++i) all.push_back(heap.allocate());
    std::size_t soonest = 1000;
    for (std::size_t first = 0; first + 20 < all.size(); first += 20) {
        heap.release(all[first]);
        std::size_t others = 0; // releases until the row comes back
        std::set<void*> now;
        for (std::size_t i = first + 1; i < first + 20; ++i, ++others) {
            void* const p = local.allocate();
            if (p == all[first]) soonest = std::min(soonest, others);
            local.release(p);
        }
    }
    CHECK(soonest >= 16);
    CHECK(heap.live_rows() == 500 - 24);
    for (std::size_t i = 0; i < all.size(); ++i)
        if (i % 20 != 0 || i >= 480) heap.release(all[i]);
    CHECK(heap.live_rows() == 0);
    CHECK(log.none());
}

TEMPLATE_LIST_TEST_CASE("guard: a write after release is told when the row's wait ends", "[guard]", waiting_sets) {
    damage_log log;
    sets::home<TestType> home{log.sink()};
    auto heap = home.rows.heap(allot::as<allot::heap::unique>, 64, order);
    const unsigned char stray = 0x77;
    for (int way = 0; way < 4; ++way) {
        INFO("way " << way);
        void* const p = heap.allocate();
        const std::size_t n = allot::capacity(p);
        heap.release(p);
        for (const std::size_t at : {std::size_t{0}, n / 2, n - 1}) stray_write(bytes(p) + at, &stray, 1);
        CHECK(log.none());
        switch (way) {
        case 0:
            for (int i = 0; i < 20; ++i) heap.release(heap.allocate());
            break;
        case 1: home.rows.release_empty_pages(); break;
        case 2: heap.release_all(); break;
        default: {
            auto gone = std::move(heap); // a unique heap's handle ends
        }
        }
        CHECK(log.one(misuse::written_when_free, p));
        CHECK(log.last.heap == "order");
        CHECK(log.last.type == "order");
    }
    CHECK(home.rows.used() == 0);
}

TEST_CASE("guard: a write after release is told at the manager's end at the latest", "[guard]") {
    damage_log log;
    void* p = nullptr;
    {
        sets::home<a_set<guard::quarantine<>>> home{log.sink()};
        p = home.rows.allocate(100, order);
        home.rows.release(p);
        const unsigned char stray = 1;
        stray_write(bytes(p) + 50, &stray, 1);
    }
    CHECK(log.one(misuse::written_when_free, p));
    CHECK(log.last.type == "order");
    CHECK(log.last.heap == "rows");
}

TEST_CASE("guard: rows that wait are had before a request fails, and count as free", "[guard]") {
    sets::home<a_set<guard::quarantine<4096>>> waiting;
    sets::home<a_set<guard::none>> plain;
    const auto fill = [](auto& home) {
        std::vector<void*> all;
        while (void* const p = home.rows.try_allocate(3000)) all.push_back(p);
        return all;
    };
    auto all = fill(waiting);
    auto other = fill(plain);
    CHECK(all.size() == other.size());
    for (int round = 0; round < 3; ++round) {
        for (void* p : all) waiting.rows.release(p);
        CHECK(waiting.rows.live_rows() == 0);
        CHECK(waiting.rows.used() <= waiting.rows.limit());
        if (round == 1) { // another size needs the pages
            void* const large = waiting.rows.try_allocate(sets::room / 2);
            CHECK(large != nullptr);
            waiting.rows.release(large);
        }
        all = fill(waiting);
        CHECK(all.size() == other.size());
        CHECK(waiting.rows.peak() <= waiting.rows.limit());
    }
    for (void* p : all) waiting.rows.release(p);
    for (void* p : other) plain.rows.release(p);
    waiting.rows.release_empty_pages();
    CHECK(waiting.rows.used() == 0);
}

TEST_CASE("guard: threads that release at once lose no row that waits", "[guard][threads]") {
    damage_log log;
    sets::home<a_set<everything>> home{log.sink()};
    auto heap = home.rows.heap(allot::as<allot::heap::shared>, 64, order);
    constexpr int rounds = ALLOT_TSAN ? 500 : 5000;
    std::vector<std::thread> all;
    for (int t = 0; t < 4; ++t)
        all.emplace_back([&, t] {
            auto local = heap.local();
            std::vector<void*> mine;
            for (int i = 0; i < rounds; ++i) {
                mine.push_back(local.allocate());
                std::memset(mine.back(), t, 64);
                if (i % 5 == 4)
                    for (; !mine.empty(); mine.pop_back()) local.release(mine.back());
            }
            for (void* p : mine) allot::release(p);
        });
    for (auto& t : all) t.join();
    CHECK(home.rows.live_rows() == 0);
    CHECK(home.rows.valid());
    home.rows.release_empty_pages();
    CHECK(home.rows.used() == 0);
    CHECK(log.none());
}

// ---- zero ---------------------------------------------------------------------------------------------------------

TEMPLATE_LIST_TEST_CASE("guard: every row starts zeroed, whatever lay there", "[guard]", wiping_sets) {
    sets::home<TestType> home;
    auto& rows = home.rows;
    auto heap = rows.heap(allot::as<allot::heap::unique>, 100, order);
    auto local = heap.local();
    auto any = rows.local();
    bool good = true;
    std::vector<void*> all;
    for (int round = 0; round < 6; ++round) {
        for (std::size_t i = 0; i < 400; ++i) {
            void* const p = i % 4 == 0   ? heap.allocate()
                            : i % 4 == 1 ? local.allocate()
                            : i % 4 == 2 ? any.allocate(i, order)
                                         : rows.allocate(i * 20, order);
            good = good && is_zero(p, allot::capacity(p));
            std::memset(p, 0xee, allot::capacity(p));
            all.push_back(p);
        }
        void* const huge = rows.allocate(500000 + static_cast<std::size_t>(round) * 70000);
        good = good && is_zero(huge, allot::capacity(huge));
        std::memset(huge, 0xee, allot::capacity(huge));
        all.push_back(huge);
        std::shuffle(all.begin(), all.end(), std::mt19937(static_cast<unsigned>(round)));
        for (std::size_t i = 0; i < all.size(); ++i)
            if (i % 2 == 0) rows.release(all[i]);
            else any.release(all[i]);
        all.clear();
        rows.release_empty_pages(); // pages change heaps, and with them the cut
    }
    CHECK(good);
}

TEST_CASE("guard: a row starts zeroed in a page that others used", "[guard]") {
    struct careless : allot::policies<allot::page::of<allot::arena<>>, guard::none> {};
    struct careful : allot::policies<allot::page::of<allot::arena<>>, guard::zero> {};
    allot::arena<> arena{allot::limit{1_MiB}, allot::page_bytes{64_KiB}, allot::reserve_bytes{1_MiB}};
    allot::row_manager<careless> others{allot::limit{1_MiB}, arena};
    allot::row_manager<careful> rows{allot::limit{1_MiB}, arena};
    const auto fill = [&] {
        std::vector<void*> all;
        while (void* const p = others.try_allocate(1000)) {
            std::memset(p, 0xee, allot::capacity(p));
            all.push_back(p);
        }
        for (void* p : all) others.release(p);
        others.release_empty_pages();
    };
    fill();
    bool good = true;
    std::vector<void*> all;
    for (int i = 0; i < 500; ++i) {
        all.push_back(rows.allocate(static_cast<std::size_t>(i) * 3, order));
        good = good && is_zero(all.back(), allot::capacity(all.back()));
    }
    CHECK(good);
    for (void* p : all) rows.release(p);
    rows.release_empty_pages();
    fill();
    void* const huge = rows.allocate(700000, order);
    CHECK(is_zero(huge, allot::capacity(huge)));
    rows.release(huge);
}

#if !ALLOT_ASAN
TEMPLATE_LIST_TEST_CASE("guard: nothing of a row is left after its release", "[guard]", wiping_sets) {
    sets::home<TestType> home;
    auto heap = home.rows.heap(allot::as<allot::heap::unique>, 100, order);
    std::vector<std::pair<unsigned char*, std::size_t>> all;
    for (int i = 0; i < 300; ++i) {
        void* const p = heap.allocate();
        all.emplace_back(bytes(p), allot::capacity(p));
        std::memset(p, 0xee, all.back().second);
    }
    for (std::size_t i = 1; i < all.size(); ++i) heap.release(all[i].first);
    bool good = true; // but for a link in its first bytes
    for (std::size_t i = 1; i < all.size(); ++i) good = good && is_zero(all[i].first + 4, all[i].second - 4);
    CHECK(good);
    heap.release(all[0].first);
}

TEST_CASE("guard: rows that go with their heap or manager, and huge rows, are wiped", "[guard]") {
    struct lent : allot::policies<allot::page::borrowed, guard::zero> {};
    std::vector<std::byte> memory(2_MiB);
    const auto secrets = [&] { return std::count(memory.begin(), memory.end(), std::byte{0xee}); };
    const allot::leak_sink quiet{[](void*, std::string_view) noexcept {}};
    {
        allot::row_manager<lent> rows{allot::limit{2_MiB}, std::span<std::byte>(memory), allot::page_bytes{64_KiB},
                                      quiet};
        auto heap = rows.heap(allot::as<allot::heap::unique>, 100, order);
        for (int i = 0; i < 1000; ++i) std::memset(heap.allocate(), 0xee, 100);
        CHECK(secrets() >= 100000);
        heap.release_all();
        CHECK(secrets() < 100);
        void* const huge = rows.allocate(500000);
        std::memset(huge, 0xee, allot::capacity(huge));
        rows.release(huge);
        CHECK(secrets() < 100);
        std::memset(rows.allocate(500000), 0xee, 500000); // leaks
        for (int i = 0; i < 1000; ++i) std::memset(rows.allocate(200), 0xee, 200);
        CHECK(secrets() >= 700000);
    }
    CHECK(secrets() < 100);
}
#endif

TEST_CASE("guard: one heap may have another guard than its manager", "[guard]") {
    damage_log log;
    sets::home<a_set<guard::none>> home{log.sink()};
    auto guarded = home.rows.heap(allot::as<everything>, 100, order);
    auto plain = home.rows.heap(100, order);
    void* const p = guarded.allocate();
    CHECK(is_zero(p, allot::capacity(p)));
    void* const q = plain.allocate();
    CHECK(allot::capacity(p) >= 100);
    CHECK(allot::capacity(q) >= 100);
    bytes(p)[allot::capacity(p)] ^= 1;
    home.rows.release(p);
    CHECK(log.one(misuse::overrun, p));
    home.rows.release(q);
    CHECK(home.rows.live_rows() == 0);
}

TEST_CASE("guard: damage found for another manager that is short is told at the next call", "[guard]") {
    struct shared : allot::policies<allot::page::of<allot::arena<>>, guard::quarantine<16>> {};
    struct caller {
        allot::row_manager<shared>* rows = nullptr;
        int calls = 0;
    } me;
    const allot::damage_sink sink{[](void* to, const allot::misuse_report&) noexcept {
                                      auto& self = *static_cast<caller*>(to);
                                      ++self.calls;
                                      void* const p =
                                          self.rows->try_allocate(8_MiB); // more than there is: every holder is asked
                                      if (p != nullptr) self.rows->release(p);
                                  },
                                  &me};
    allot::arena<> arena{allot::limit{1_MiB}, allot::page_bytes{64_KiB}, allot::reserve_bytes{1_MiB}};
    allot::row_manager<shared> rows{allot::limit{16_MiB}, arena, sink};
    allot::row_manager<shared> other{allot::limit{16_MiB}, arena};
    me.rows = &rows;
    void* const p = rows.allocate(100, order);
    rows.release(p);
    const unsigned char stray = 1;
    stray_write(bytes(p) + 50, &stray, 1);
    void* const large = other.try_allocate(1_MiB - 64_KiB); // needs the page that the row waits in
    CHECK(large != nullptr);
    CHECK(me.calls == 0);
    other.release(large);
    rows.release(rows.allocate(100, order));
    CHECK(me.calls == 1);
}

TEST_CASE("guard: what is told may use the manager", "[guard]") {
    struct caller {
        allot::row_manager<a_set<linked, guard::encoded>>* rows = nullptr;
        int calls = 0;
    } me;
    const allot::damage_sink sink{[](void* to, const allot::misuse_report&) noexcept {
                                      auto& self = *static_cast<caller*>(to);
                                      ++self.calls;
                                      for (int i = 0; i < 100; ++i)
                                          self.rows->release(self.rows->try_allocate(64, order));
                                      static_cast<void>(self.rows->release_empty_pages());
                                  },
                                  &me};
    sets::home<a_set<linked, guard::encoded>> home{sink};
    me.rows = &home.rows;
    std::vector<void*> all;
    for (int i = 0; i < 400; ++i) all.push_back(home.rows.allocate(64, order));
    for (std::size_t i = 1; i < all.size(); ++i) home.rows.release(all[i]);
    const std::uint32_t stray = 0;
    stray_write(all[100], &stray, 4);
    for (std::size_t i = 1; i < all.size(); ++i) all[i] = home.rows.allocate(64, order);
    CHECK(me.calls == 1);
    for (void* p : all) home.rows.release(p);
}
