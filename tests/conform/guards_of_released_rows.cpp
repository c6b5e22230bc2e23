// What guards promise of released rows: they wait, a write to them is told, and they are wiped; and of who is told.
#include <conform/guard_sets.hpp>
#include <support/in_use.hpp>

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

TEMPLATE_LIST_TEST_CASE("guard: a write after release is reported when the row's wait ends", "[guard]", waiting_sets) {
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
        CHECK(log.one(misuse::write_after_release, p));
        CHECK(log.last.heap == "order");
        CHECK(log.last.type == "order");
    }
    CHECK(support::in_use(home.rows) == 0);
}

TEST_CASE("guard: a write after release is reported at the manager's end at the latest", "[guard]") {
    damage_log log;
    void* p = nullptr;
    {
        sets::home<a_set<guard::quarantine<>>> home{log.sink()};
        p = home.rows.allocate(100, order);
        home.rows.release(p);
        const unsigned char stray = 1;
        stray_write(bytes(p) + 50, &stray, 1);
    }
    CHECK(log.one(misuse::write_after_release, p));
    CHECK(log.last.type == "order");
    CHECK(log.last.heap == "rows");
}

TEST_CASE("guard: rows that wait are taken before a request fails, and count as free", "[guard]") {
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
    waiting.rows.trim();
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
    home.rows.trim();
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
        rows.trim(); // pages change heaps, and with them the cut
    }
    CHECK(good);
}

TEST_CASE("guard: a row starts zeroed in a page that others used", "[guard]") {
    struct careless : allot::policies<allot::page::of<allot::arena<>>, guard::none> {};
    struct careful : allot::policies<allot::page::of<allot::arena<>>, guard::zero> {};
    allot::arena<> arena{allot::limit{1_MiB}, allot::page_bytes{16_KiB}, allot::reserve_bytes{1_MiB}};
    allot::row_manager<careless> others{allot::limit{1_MiB}, arena};
    allot::row_manager<careful> rows{allot::limit{1_MiB}, arena};
    const auto fill = [&] {
        std::vector<void*> all;
        while (void* const p = others.try_allocate(1000)) {
            std::memset(p, 0xee, allot::capacity(p));
            all.push_back(p);
        }
        for (void* p : all) others.release(p);
        others.trim();
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
    rows.trim();
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
    stray_change(bytes(p) + allot::capacity(p));
    home.rows.release(p);
    CHECK(log.one(misuse::overrun, p));
    home.rows.release(q);
    CHECK(home.rows.live_rows() == 0);
}

TEST_CASE("guard: damage found for another manager that is short is reported at the next call", "[guard]") {
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

TEST_CASE("guard: a sink may use the manager", "[guard]") {
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
