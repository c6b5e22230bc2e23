// What guards promise, in general, of links and of canaries: each kind of damage is told with its names, and nothing
// follows it into the wild.
#include <conform/guard_sets.hpp>

TEMPLATE_LIST_TEST_CASE("guard: an answer is in its category, and rows are as without it", "[guard]", guards) {
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
    STATIC_REQUIRE(sizeof(allot::detail::heaplet<bitmap, guard::encoded>) == sizeof(allot::detail::heaplet<bitmap>));
    STATIC_REQUIRE(std::is_same_v<allot::detail::free_slots<bitmap, guard::encoded>, bitmap::in_page>);
    STATIC_REQUIRE(!std::is_same_v<allot::detail::free_slots<linked, guard::encoded>, linked::in_page>);
    STATIC_REQUIRE(sizeof(allot::detail::heaplet<linked, guard::none>) == sizeof(allot::detail::heaplet<linked>));
}

// ---- encoded ------------------------------------------------------------------------------------------------------

TEMPLATE_LIST_TEST_CASE("guard: a link that was written over is reported, and its list dropped", "[guard]",
                        coded_sets) {
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
        allot::detail::sys::read_poisoned(&word, reinterpret_cast<const std::byte*>(victim), 4);
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
        const auto reported =
            std::find_if(log.all.begin(), log.all.end(), [](const auto& e) { return e.kind == misuse::broken_link; });
        REQUIRE(reported != log.all.end());
        CHECK(reported->address == victim);
        CHECK(reported->heap == "order");
        CHECK(reported->type == "order");
        CHECK_THAT(reported->set, ContainsSubstring("a_set"));
        for (void* p : seen) heap.release(p);
        CHECK(home.rows.live_rows() == 0);
        home.rows.trim();
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
        allot::detail::sys::read_poisoned(&word, static_cast<const std::byte*>(all[i]), 4);
        offsets += word < 65536;
    }
    CHECK(offsets < 5);
    heap.release(all[0]);
}

// ---- canary -------------------------------------------------------------------------------------------------------

TEMPLATE_LIST_TEST_CASE("guard: an overrun is reported at the last release, by any thread", "[guard]", canary_sets) {
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
            stray_change(behind + at);
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
            CHECK(packed.usage().slot_bytes == allot::detail::align_up(need + header + 4, align));
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
            allot::detail::sys::read_hidden(&word, static_cast<std::byte*>(p) + allot::capacity(p), 4);
            words.insert(word);
        }
    }
    for (auto& heap : heaps) heap.release_all();
    CHECK(words.size() > 390);
}
