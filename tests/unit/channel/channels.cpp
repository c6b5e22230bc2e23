// Channels: equal limits and equal parts of global pages, what asks whom for memory, and rows that all release.
#include <support/catch.hpp>
#include <support/tasks.hpp>

#include <allot/channel/channels.hpp>
#include <allot/reclaim/chain.hpp>
#include <allot/row/moving/row_array.hpp>
#include <allot/row/moving/row_compactor.hpp>
#include <allot/spill/store/spill_files.hpp>
#include <allot/spill/stored_rows.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::channels;
using allot::limit;
using allot::name;

namespace {

struct query_rows : allot::policies<allot::oom::null, allot::spill::chain> {};
using all_channels = channels<query_rows>;

struct fixture {
    account engine{name{"engine"}, limit{8_MiB}};
    std::unique_ptr<all_channels> all;
    explicit fixture(std::size_t n, const allot::channel_options& o = {})
        : all(std::make_unique<all_channels>(engine, n, o)) {}
    ~fixture() {
        all.reset();
        CHECK((engine.used() == 0 && engine.verify()));
    }
    // Each channel has an equal part of all global pages.
    bool parts_are_equal() const {
        std::size_t sum = all->global().account().used();
        for (std::size_t i = 0; i != all->size(); ++i) {
            if (all->global_part(i) != all->global_part(0)) return false;
            sum += all->global_part(i);
        }
        return sum == all->global().used();
    }
};

// Frees rows of a vector, on call.
template <class Manager> struct freer final : allot::reclaimer {
    freer(const char* text, Manager& m, std::uint32_t cost, reach asked = reach::own_account)
        : reclaimer(text, cost, asked), of(m) {}
    bool reclaim(const allot::shortage&) noexcept override {
        ++calls;
        const bool some = !rows.empty();
        for (void* const r : rows) of.release(r);
        rows.clear();
        return some;
    }
    Manager& of;
    std::vector<void*> rows;
    int calls = 0;
};

} // namespace

TEST_CASE("a global page is charged in equal parts, and the rest to the global account", "[channels]") {
    for (const std::size_t n : {1U, 2U, 3U, 7U, 64U}) {
        fixture f{n};
        CHECK((f.all->size() == n && f.all->limit() == 8_MiB / n && f.parts_are_equal()));
        std::vector<void*> rows;
        for (int i = 0; i != 300; ++i) rows.push_back(f.all->global().allocate(i % 50 == 0 ? 70'000 : 500));
        CHECK((f.parts_are_equal() && f.all->global_part(0) != 0 && rows.back() != nullptr));
        for (void* const r : rows) f.all->channel(n - 1).release(r); // of any channel
        CHECK((f.all->global().live_rows() == 0 && f.parts_are_equal()));
    }
    account engine{name{"engine"}};
    CHECK_THROWS_AS(all_channels(engine, 0), std::invalid_argument);
    CHECK_THROWS_AS(all_channels(engine, 4097), std::invalid_argument);
    CHECK(all_channels(engine, 2).limit() == SIZE_MAX);
    CHECK(engine.used() == 0);
}

TEST_CASE("channels have equal limits, each its own; a full one has no global page either", "[channels]") {
    fixture f{4, {.limit = 1_MiB}};
    std::vector<void*> one, global;
    while (void* const r = f.all->channel(1).try_allocate(10'000)) one.push_back(r);
    CHECK(one.size() >= 90);
    void* const other = f.all->channel(2).try_allocate(10'000);
    CHECK(other != nullptr);
    allot::charge_status why;
    const std::size_t used = f.engine.used(), part = f.all->global_part(0);
    while (void* const r = f.all->global().try_allocate(60'000, allot::untyped, &why)) global.push_back(r);
    CHECK((why.outcome == allot::charge_outcome::over_limit && why.at == &f.all->memory(1)));
    CHECK((f.parts_are_equal() && f.all->memory(1).used() <= 1_MiB && f.engine.used() >= used));
    for (void* const r : one) f.all->channel(1).release(r);
    while (void* const r = f.all->global().try_allocate(60'000)) global.push_back(r);
    CHECK((f.all->global_part(3) > part && f.parts_are_equal()));
    CHECK((f.all->global_part(0) <= 1_MiB && f.all->global_part(0) > 900'000)); // nearly all of each channel
    f.all->set_limit(2_MiB);
    CHECK((f.all->limit() == 2_MiB && f.all->memory(3).limit() == 2_MiB));
    global.push_back(f.all->global().try_allocate(60'000));
    CHECK(global.back() != nullptr);
    for (void* const r : global) f.all->global().release(r);
    f.all->channel(0).release(other);
    fixture bounded{2, {.limit = 4_MiB, .global_limit = 200'000}};
    void* const first = bounded.all->global().try_allocate(100'000);
    CHECK((first != nullptr && bounded.all->global().try_allocate(100'000, allot::untyped, &why) == nullptr));
    CHECK(why.by == allot::refuser::limit);
    bounded.all->global().release(first);
}

TEST_CASE("a channel that is full says who holds its memory", "[channels]") {
    struct throwing_rows : allot::policies<> {};
    account engine{name{"engine"}};
    channels<throwing_rows> all{engine, 2, {.limit = 1_MiB}};
    const auto shared = all.global().make<const std::uint64_t>(1u), own = all.channel(1).make<const std::uint64_t>(2u);
    std::string report;
    try {
        for (std::vector<allot::row_ptr<std::uint64_t>> rows;;) rows.push_back(all.channel(1).make<std::uint64_t>(3u));
    } catch (const allot::out_of_memory& e) {
        report = e.report();
    }
    for (const char* const text :
         {"account channel 1 uses 992 KiB of 1 MiB; the request needs 64 KiB\n", "row manager rows of channel 1",
          "  channel 1 / rows of channel 1: ", "  channel 1 / global rows of channel 1: "})
        CHECK_THAT(report, ContainsSubstring(text));
}

TEST_CASE("what is idle in the global manager goes before a channel is refused, and the other way round",
          "[channels]") {
    fixture f{2, {.limit = 1_MiB}};
    std::vector<void*> rows;
    while (void* const r = f.all->global().try_allocate(60'000)) rows.push_back(r);
    for (void* const r : rows) f.all->global().release(r);
    rows.clear();
    CHECK(f.all->global_part(0) > 500'000); // pages that are free, and charged
    while (void* const r = f.all->channel(0).try_allocate(60'000)) rows.push_back(r);
    CHECK((rows.size() >= 14 && f.all->global_part(0) < 100'000 && f.parts_are_equal()));
    for (void* const r : rows) f.all->channel(0).release(r);
    rows.clear();
    while (void* const r = f.all->global().try_allocate(60'000)) rows.push_back(r);
    CHECK(f.all->global_part(1) > 900'000);
    for (void* const r : rows) f.all->global().release(r);
}

TEST_CASE("a channel asks its own reclaimers first, then those of global rows, and never those of another",
          "[channels]") {
    fixture f{2, {.limit = 1_MiB}};
    freer own{"own", f.all->channel(0), 1}, others{"others", f.all->channel(1), 1};
    freer shared{"shared", f.all->global(), 5, allot::reclaimer::reach::below_too};
    f.all->memory(0).add(own), f.all->memory(1).add(others), f.engine.add(shared);
    for (int i = 0; i != 5; ++i) {
        own.rows.push_back(f.all->channel(0).try_allocate(60'000));
        others.rows.push_back(f.all->channel(1).try_allocate(60'000));
        shared.rows.push_back(f.all->global().try_allocate(60'000));
    }
    std::vector<void*> rows;
    const auto allocate = [&] { rows.push_back(f.all->channel(0).try_allocate(60'000)); };
    while (own.calls == 0) allocate();
    CHECK((shared.calls == 0 && others.calls == 0 && rows.back() != nullptr));
    while (shared.calls == 0) allocate();
    CHECK((rows.back() != nullptr && others.calls == 0 && !others.rows.empty()));
    for (void* const r : rows) f.all->channel(0).release(r);
    for (void* const r : others.rows) f.all->channel(1).release(r);
    f.all->memory(0).remove(own), f.all->memory(1).remove(others), f.engine.remove(shared);
}

TEST_CASE("global rows in a store, or in a sparse heap, leave for a channel that is full", "[channels]") {
    struct some_rows : allot::policies<allot::spill::chain, allot::page::mapped<>> {};
    using shared_rows = allot::global_rows<some_rows>;
    account engine{name{"engine"}}, disk{name{"disk"}};
    allot::spill_files files{disk, "/tmp"};
    channels<some_rows> all{engine, 2, {.limit = 1_MiB, .page_bytes = 16_KiB}};
    CHECK((all.global().arena().page_bytes() == 16_KiB && all.channel(1).arena().page_bytes() == 16_KiB));
    allot::store shared{engine, files};
    std::vector<allot::stored<allot::row_array<shared_rows>>> lists;
    for (int k = 0; k != 40; ++k) {
        allot::row_array<shared_rows> rows{all.global()};
        for (int i = 0; i != 100; ++i) rows.push_back(all.global().allocate(1000));
        lists.push_back(shared.put(std::move(rows)));
    }
    CHECK(shared.stats().bytes_left > 1'000'000); // 4 MB through 2 MiB
    std::vector<void*> own;
    while (own.size() != 900) own.push_back(all.channel(1).allocate(1000)); // nearly all of a channel
    lists.clear();
    for (void* const r : own) all.channel(1).release(r);
    own.clear();

    allot::row_array<shared_rows> sparse{all.global()};
    allot::row_compactor<shared_rows> packs{all.global(), 1, allot::reclaimer::reach::below_too};
    engine.add(packs);
    packs.add(sparse);
    std::vector<void*> dropped;
    for (int i = 0; i != 1500; ++i) {
        void* const r = all.global().allocate(1000);
        if (i % 15 == 0) sparse.push_back(r);
        else dropped.push_back(r);
    }
    for (void* const r : dropped) all.global().release(r);
    while (own.size() != 900) own.push_back(all.channel(1).allocate(1000));
    CHECK(packs.last().moved != 0);
    for (void* const r : own) all.channel(1).release(r);
    packs.remove(sparse);
    engine.remove(packs);
}

TEST_CASE("a channel closes while global rows live, and opens again", "[channels]") {
    fixture f{3};
    void* const row = f.all->global().allocate(1000);
    const std::size_t part = f.all->global_part(1);
    void* const own = f.all->channel(1).allocate(10);
    f.all->channel(1).release(own);
    f.all->close(1), f.all->close(1);
    CHECK((!f.all->is_open(1) && f.all->memory(1).used() == part && f.all->global_part(1) == part));
    void* const more = f.all->global().allocate(100'000);
    CHECK((more != nullptr && f.parts_are_equal()));
    f.all->open(1);
    f.all->channel(1).release(more), f.all->channel(1).release(row);
    CHECK((f.all->global().live_rows() == 0 && f.parts_are_equal()));
}

TEST_CASE("parts that fit one by one, and not together, are refused as one request, and wait as one", "[channels]") {
    fixture f{4, {.limit = 8_MiB}};
    account other{f.engine, name{"other"}};
    void* const first = f.all->global().allocate(1000); // what comes once, as books, has come
    const std::size_t before = f.engine.used(), part = f.all->global_part(0);
    REQUIRE(other.try_charge(8_MiB - before - 1_MiB));
    struct counting final : allot::account_listener {
        int calls = 0;
        void after(const account&, std::size_t, const allot::charge_status&) noexcept override { ++calls; }
        void released(const account&, std::size_t) noexcept override { ++calls; }
    } parts; // that come and go
    f.engine.add(parts);
    allot::charge_status why;
    CHECK(f.all->global().try_allocate(2_MiB, allot::untyped, &why) == nullptr); // a fourth of it would fit
    CHECK((std::string{why.name} == "engine" && why.requested > 1_MiB && why.requested <= 2_MiB + 64_KiB));
    CHECK((f.engine.used() == 7_MiB && f.all->global_part(0) == part && f.parts_are_equal()));
    CHECK((f.engine.peak() == 7_MiB && parts.calls == 0));
    f.engine.remove(parts);
    std::jthread refunds{[&] {
        while (f.engine.stats().waiting == 0) std::this_thread::yield();
        other.refund(7_MiB - before);
    }};
    void* const row = f.all->global().allocate_for(2_MiB, 3'600'000_ms);
    CHECK((row != nullptr && f.parts_are_equal()));
    refunds.join();
    f.all->global().release(row), f.all->global().release(first);
}

TEST_CASE("random calls of channels beside a plain reference", "[channels][model]") {
    for (std::uint64_t seed = 1; seed != 9; ++seed) {
        std::mt19937_64 random{seed};
        const std::size_t n = 1 + random() % 5;
        fixture f{n, {.limit = 500'000 + random() % 500'000, .global_limit = random() % 2 == 0 ? SIZE_MAX : 1_MiB}};
        struct known {
            std::uint64_t* row;
            std::uint64_t value;
            std::size_t of; // n: global
        };
        std::vector<known> rows;
        std::vector<std::size_t> live(n + 1);
        for (int i = 0; i != 1500; ++i) {
            const std::size_t of = random() % (n + 1), bytes = random() % 100 == 0 ? 50'000 : 8 + random() % 3000;
            if (random() % 5 < 3) {
                void* const p = of == n ? f.all->global().try_allocate(bytes) : f.all->channel(of).try_allocate(bytes);
                if (p == nullptr) continue;
                rows.push_back({static_cast<std::uint64_t*>(p), random(), of});
                *rows.back().row = rows.back().value, ++live[of];
            } else if (!rows.empty()) {
                const std::size_t at = random() % rows.size();
                const known k = rows[at];
                REQUIRE(*k.row == k.value);
                std::swap(rows[at], rows.back()), rows.pop_back(), --live[k.of];
                if (of == n) f.all->global().release(k.row);
                else f.all->channel(of).release(k.row);
            }
            if (i % 100 == 0) {
                REQUIRE(f.parts_are_equal());
                for (std::size_t c = 0; c != n; ++c)
                    REQUIRE((f.all->channel(c).live_rows() == live[c] && f.all->memory(c).used() <= f.all->limit()));
                REQUIRE(f.all->global().live_rows() == live[n]);
            }
        }
        for (const known& k : rows) allot::release(k.row);
    }
}
