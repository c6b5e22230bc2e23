// What every row manager does, whatever its set: one test case a set. tests/sets.cmake makes files that include this
// one and list sets of sets.inc.
#pragma once

#include <conform/suite_rows.hpp>
#include <support/catch.hpp>
#include <support/row_trace.hpp>
#include <support/sets_home.hpp>

#include <allot/adapt/bytes.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace allot::literals;

struct own_list {
    static constexpr std::array<std::uint32_t, 7> sizes{24, 40, 72, 136, 520, 1032, 4096};
};

// Nothing lives, and after asking for it nothing is held.
template <class Rows> void ends_empty(Rows& rows, const char* where) {
    expect(rows.live_rows() == 0, where);
    expect(rows.valid(), where);
    rows.trim();
    expect(rows.arena().stats().taken == 0, where);
    const std::size_t idle = rows.stats().idle; // under retain::never
    expect(rows.stats().charged == idle && idle <= rows.arena().stats().committed, where);
    expect(rows.arena().valid(), where);
    if constexpr (sets::charges<Rows>) {
        expect(rows.used() == idle, where);
        expect(rows.peak() <= rows.limit(), where);
    }
}

template <class Rows> void every_size(Rows& rows) {
    std::vector<filled> all;
    {
        auto local = rows.local();
        std::size_t mark = 0;
        for (std::size_t n = 0; n < 70000; n = n < 40 ? n + 1 : n * 9 / 8 + 1)
            for (int from = 0; from < 3; ++from) {
                void* const p = from == 0 ? rows.allocate(n) : from == 1 ? rows.try_allocate(n) : local.allocate(n);
                expect(p != nullptr && is_aligned(p, 8), "a row is aligned to 8");
                if (p == nullptr) return;
                expect(rows.capacity(p) >= n && allot::capacity(p) == rows.capacity(p), "capacity");
                all.push_back({static_cast<unsigned char*>(p), n});
                fill(all.back(), mark++);
            }
        for (const std::size_t n : {200000u, 700000u, 1500000u}) {
            all.push_back({static_cast<unsigned char*>(rows.allocate(n)), n});
            fill(all.back(), mark++);
        }
        expect(rows.live_rows() == all.size(), "all rows live");
        expect(rows.valid(), "valid with rows");
        for (std::size_t i = 0; i < all.size(); ++i) expect(intact(all[i], i), "rows are apart");
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (i % 3 == 0) rows.release(all[i].at);
            else if (i % 3 == 1) local.release(all[i].at);
            else allot::release(all[i].at);
        }
    }
    ends_empty(rows, "every size");
}

template <class Rows> void every_alignment(Rows& rows) {
    static const allot::row_type types[] = {{"a0", nullptr, 0},   {"a4", nullptr, 4},   {"a8", nullptr, 8},
                                            {"a16", nullptr, 16}, {"a32", nullptr, 32}, {"a64", nullptr, 64}};
    std::vector<filled> all;
    for (const auto& type : types) {
        const std::size_t align = type.align != 0 ? type.align : 8;
        for (const std::size_t n : {1u, 24u, 100u, 1000u, 30000u, 300000u}) {
            void* const p = rows.allocate(n, type);
            expect(is_aligned(p, align), "a row is aligned as its type asks");
            all.push_back({static_cast<unsigned char*>(p), n});
            fill(all.back(), all.size());
        }
        auto heap = rows.heap(40, type);
        for (int i = 0; i < 3; ++i) {
            void* const p = heap.allocate();
            expect(is_aligned(p, type.align != 0 ? align : 4), "a heap's row is aligned as its type asks");
            heap.release(p);
        }
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        expect(intact(all[i], i + 1), "aligned rows are apart");
        rows.release(all[i].at);
    }
    ends_empty(rows, "every alignment");
    if constexpr (requires(void* p) { rows.try_resize(p, 0, 0); })
        for (std::size_t align = 8; align <= allot::row_type::max_align; align *= 2) {
            void* p = allot::adapt::try_allocate(rows, 8, align);
            for (const std::size_t n : {24u, 40u, 100u, 200u, 500u, 1000u, 3000u, 5000u, 12000u, 30000u, 300000u}) {
                void* const q = allot::adapt::try_resize(rows, p, 8, n, align);
                expect(q != nullptr && is_aligned(q, align), "bytes keep their alignment where they are resized");
                if (q != nullptr) p = q;
            }
            rows.release(p);
        }
    ends_empty(rows, "every alignment, resized");
}

template <class Rows> void holders_and_destructors(Rows& rows) {
    if constexpr (sets::links<Rows>) {
        for (const std::size_t n : {50u, 3000000u}) {
            void* const p = rows.allocate(n);
            expect(!rows.is_shared(p), "a new row has one holder");
            rows.link(p);
            allot::link(p);
            expect(rows.is_shared(p) && allot::is_shared(p), "linked rows are shared");
            rows.release(p);
            allot::release(p);
            expect(!rows.is_shared(p) && rows.live_rows() == 1, "one holder is left");
            rows.release(p);
            expect(rows.live_rows() == 0, "and then none");
        }
    }
    if constexpr (sets::links<Rows> && sets::host_rows<Rows>) {
        counted::alive = 0;
        {
            auto a = rows.template make<counted>(7u);
            auto b = a;
            a.reset();
            expect(counted::alive == 1 && b->value == 7, "alive while one holds it");
            auto heap = rows.heap(sizeof(counted), allot::row_type_of<counted>);
            auto c = heap.template make<counted>(8u);
            auto d = std::move(c);
            expect(counted::alive == 2 && d->value == 8 && !c, "moved, not copied");
        }
        expect(counted::alive == 0, "destroyed with the last holder");
        void* const raw = rows.allocate(sizeof(counted), allot::row_type_of<counted>);
        rows.release(raw);
        expect(counted::alive == 0, "what was not finalized is not destroyed");
        void* const late = rows.allocate(sizeof(counted), allot::row_type_of<counted>);
        new (late) counted(1);
        rows.finalize(late);
        auto local = rows.local();
        local.release(late);
        expect(counted::alive == 0, "what was finalized is, by a local release too");
    } else {
        static_assert(
            sets::links<Rows> == requires(void* p) { rows.link(p); } && !requires(void* p) { rows.finalize(p); } &&
            sets::links<Rows> == requires(void* p) { rows.is_shared(p); } &&
            !requires { rows.template make<plain_row>(plain_row{7}); });
        void* const a = rows.allocate(sizeof(plain_row), allot::row_type_of<plain_row>);
        expect(rows.live_rows() == 1, "allocated");
        rows.release(a);
    }
    ends_empty(rows, "holders");
}

inline void foreign_addresses(auto& rows) {
    static const char constant[] = "constant";
    int mine = 0;
    auto local = rows.local();
    for (const void* p : {static_cast<const void*>(constant), static_cast<const void*>(&mine),
                          static_cast<const void*>(nullptr), reinterpret_cast<const void*>(~std::uintptr_t{0})}) {
        rows.release(p);
        local.release(p);
        allot::link(p);
        allot::release(p);
        if constexpr (requires { rows.link(p); }) rows.link(p);
        expect(allot::is_shared(p) && rows.capacity(p) == 0, "a constant must not be changed");
    }
    expect(mine == 0, "nothing was written");
}

// A fixed heap by its handle, by a local one, and by strangers.
template <class Rows, class Heap> void one_heap(Rows& rows, Heap& heap, std::size_t bytes) {
    std::vector<filled> all;
    {
        auto local = heap.local();
        const std::size_t n = bytes < 2000 ? 1000 : 200;
        for (std::size_t i = 0; i < n; ++i) {
            void* const p = i % 3 == 0 ? heap.allocate() : i % 3 == 1 ? local.allocate() : local.try_allocate();
            expect(p != nullptr && rows.capacity(p) >= bytes, "a fixed heap's row has its bytes");
            if (p == nullptr) return;
            all.push_back({static_cast<unsigned char*>(p), bytes});
            fill(all.back(), i);
        }
        expect(heap.live_rows() >= all.size() && rows.live_rows() == all.size(), "the heap counts its rows");
        expect(heap.usage().row_bytes >= bytes && heap.pages() != 0, "usage");
        for (std::size_t i = 0; i < all.size(); ++i) {
            expect(intact(all[i], i), "a heap's rows are apart");
            if constexpr (requires { heap.link(all[i].at); }) {
                local.link(all[i].at);
                heap.release(all[i].at);
            }
            switch (i % 4) {
            case 0: heap.release(all[i].at); break;
            case 1: local.release(all[i].at); break;
            case 2: rows.release(all[i].at); break;
            default: allot::release(all[i].at);
            }
        }
        expect(rows.live_rows() == 0 && rows.valid(), "all of a heap's rows are released");
    }
}

template <class Rows> void fixed_heaps(Rows& rows) {
    static const allot::row_type type{"fixed"};
    for (const std::size_t bytes : {1u, 48u, 1001u, 9000u}) {
        {
            auto plain = rows.heap(bytes, type);
            one_heap(rows, plain, bytes);
            auto unique = rows.heap(allot::as<allot::heap::unique>, bytes, type);
            one_heap(rows, unique, bytes);
            auto packed = rows.heap(allot::as<allot::heap::unique, allot::size::packed>, bytes, type);
            auto moved = std::move(packed);
            one_heap(rows, moved, bytes);
            if constexpr (sets::host_rows<Rows>) {
                auto other = rows.heap(allot::as<allot::slots::linked, allot::size::exact>, bytes, type);
                one_heap(rows, other, bytes);
                auto scanned = rows.heap(allot::as<allot::slots::scanning, allot::size::exact>, bytes, type);
                one_heap(rows, scanned, bytes);
            }
            auto blocked = rows.heap(allot::as<allot::slots::bitmap, allot::refill::blocked<8>>, bytes, type);
            one_heap(rows, blocked, bytes);
        }
        ends_empty(rows, "fixed heaps");
    }
    // A unique heap's rows may outlive its handle, or go all at once.
    constexpr bool makes = sets::links<Rows> && sets::host_rows<Rows>;
    void* left = nullptr;
    {
        auto heap = rows.heap(allot::as<allot::heap::unique>, sizeof(counted), allot::row_type_of<counted>);
        for (int round = 0; round < 2; ++round) {
            counted::alive = 0;
            if constexpr (makes)
                for (unsigned i = 0; i < 500; ++i) static_cast<void>(heap.template make<counted>(i).detach());
            for (int i = 0; i < 500; ++i) static_cast<void>(heap.allocate());
            expect(heap.live_rows() == (makes ? 1000 : 500), "before release_all");
            expect(heap.release_all() != 0, "release_all gives pages back");
            expect(counted::alive == 0 && heap.live_rows() == 0, "release_all destroys");
            expect(rows.stats().charged == rows.stats().idle, "release_all refunds the charge");
        }
        left = heap.allocate();
    }
    expect(rows.live_rows() == 1, "a row outlives its heap's handle");
    rows.release(left);
    ends_empty(rows, "heaps that end");
    // A heap without room for one row fails whatever the oom policy.
#if ALLOT_EXCEPTIONS
    bool thrown = false;
    try {
        static_cast<void>(rows.heap(40000000, type));
    } catch (const allot::out_of_memory&) {
        thrown = true;
    }
    expect(thrown, "a heap of rows larger than a page is refused");
#endif
}

template <class Rows> void fails_as_the_set_says(Rows& rows) {
    if constexpr (sets::raises<Rows>) {
#if ALLOT_EXCEPTIONS
        std::string page;
        try {
            static_cast<void>(rows.allocate(std::size_t{1} << 40));
        } catch (const allot::out_of_memory& error) {
            page = error.report();
        }
        expect(page.find("live rows") != std::string::npos, "out of memory tells who holds it");
        expect(page.find("of_") != std::string::npos, "and names the set");
#endif
    } else {
        expect(rows.allocate(std::size_t{1} << 40) == nullptr, "oom::null gives null");
        auto local = rows.local();
        expect(local.allocate(std::size_t{1} << 40) == nullptr, "and through a local handle");
    }
}

template <class Rows> void the_limit(Rows& rows) {
    std::vector<void*> all;
    const std::size_t most = rows.stats().limit;
    while (void* const p = rows.try_allocate(2000)) all.push_back(p);
    expect(rows.stats().charged <= most, "the limit is hard");
    expect(all.size() * 2000 > sets::room / 3, "most of the limit is usable"); // roxie: half is rounding
    const std::size_t before = rows.stats().charged, taken = rows.arena().stats().taken;
    expect(rows.try_allocate(50000) == nullptr || rows.stats().charged <= most, "no more than the limit");
    fails_as_the_set_says(rows);
    expect(rows.arena().stats().taken <= most && rows.arena().stats().taken >= taken, "pages as before");
    expect(rows.stats().charged >= before, "charge as before");
    expect(rows.valid(), "valid at the limit");
    rows.release(all.back());
    all.back() = rows.try_allocate(2000);
    expect(all.back() != nullptr, "what was released can be had again");
    for (void* p : all) rows.release(p);
    // 50000 bytes may have been had, and are the only row left then.
    rows.usage([&](const allot::heap_usage& u) { expect(u.live_rows <= 1, "one row at most is left"); });
}

template <class Rows> void moving_the_limit(Rows& rows) {
    if constexpr (sets::charges<Rows>) {
        const std::size_t limit = rows.limit();
        void* const p = rows.allocate(100);
        rows.trim();
        rows.set_limit(rows.used());
        const std::size_t more = 1000000 + rows.stats().idle; // under retain::never
        expect(rows.try_allocate(more) == nullptr, "a lower limit holds at once");
        expect(rows.used() <= rows.limit(), "and is not exceeded");
        rows.set_limit(limit);
        void* const q = rows.try_allocate(1000000);
        expect(q != nullptr, "a higher one, too");
        rows.release(p);
        rows.release(q);
    } else {
        static_assert(
            !requires { rows.used(); } && !requires { rows.limit(); } && !requires { rows.peak(); } &&
            !requires { rows.set_limit(1); });
    }
    ends_empty(rows, "moving the limit");
}

// One thread allocates, the other releases.
template <class Rows> void two_threads(Rows& rows) {
    constexpr std::size_t n = 3000;
    std::vector<std::atomic<unsigned char*>> ring(64);
    std::atomic<bool> good{true};
    std::thread other([&] {
        for (std::size_t i = 0; i < n; ++i) {
            auto& place = ring[i % ring.size()];
            unsigned char* p;
            while ((p = place.exchange(nullptr)) == nullptr) std::this_thread::yield();
            if (!intact({p, 8 + i % 300}, i)) good = false;
            if (i % 2 != 0) rows.release(p);
            else allot::release(p);
        }
    });
    for (std::size_t i = 0; i < n; ++i) {
        const filled row{static_cast<unsigned char*>(rows.allocate(8 + i % 300)), 8 + i % 300};
        fill(row, i);
        auto& place = ring[i % ring.size()];
        while (place.load() != nullptr) std::this_thread::yield();
        place = row.at;
    }
    other.join();
    expect(good, "rows go to another thread whole");
    ends_empty(rows, "two threads");
}

template <class Set> void tells_leaks() {
    static const allot::row_type type{"leaked type"};
    std::string reported;
    const allot::leak_sink sink{
        [](void* to, std::string_view text) noexcept { *static_cast<std::string*>(to) += text; }, &reported};
    {
        sets::home<Set> home{sink, allot::name{"leaky"}};
        static_cast<void>(home.rows.allocate(100, type));
        static_cast<void>(home.rows.allocate(100, type));
        static_cast<void>(home.rows.allocate(3000000, type));
    }
    INFO(reported);
    expect(reported.find("leaky") != std::string::npos && reported.find("of_") != std::string::npos, "who leaked");
    expect(reported.find("3 rows not released") != std::string::npos, "how many leaked");
    if (sets::links<allot::row_manager<Set>>)
        expect(reported.find("2 rows of type leaked type") != std::string::npos, "of which type");
    reported.clear();
    {
        sets::home<Set> home{sink};
        home.rows.release(home.rows.allocate(100, type));
    }
    expect(reported.empty(), "nothing leaked, nothing told");
}

template <class Set> void row_suite() {
    touches = sets::host_rows<allot::row_manager<Set>>;
    {
        sets::home<Set> home;
        auto& rows = home.rows;
        every_size(rows);
        every_alignment(rows);
        holders_and_destructors(rows);
        foreign_addresses(rows);
        fixed_heaps(rows);
        moving_the_limit(rows);
        two_threads(rows);
    }
    {
        sets::home<Set> home;
        the_limit(home.rows);
    }
    tells_leaks<Set>();
    if constexpr (sets::host_rows<allot::row_manager<Set>>)
        expect(row_trace<Set>(1).run(1500), "a random trace agrees with the model");
}

} // namespace

#define ALLOT_ROW_SET(id, text, ...)                                                                                   \
    namespace {                                                                                                        \
    struct id : allot::policies<__VA_ARGS__> {};                                                                       \
    }                                                                                                                  \
    TEST_CASE("rows: " text, "[rows]") { row_suite<id>(); }
