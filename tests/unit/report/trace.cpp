// watch::trace: what is recorded, and what is written of it.
#include <support/catch.hpp>
#include <support/json.hpp>
#include <support/rescue.hpp>
#include <support/row_sets.hpp>

#include <allot/report/trace.hpp>

#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

using namespace allot::literals;
using allot::watch_event;

namespace {

struct traced : allot::policies<allot::watch::trace<>, allot::oom::null> {};
struct sampled : allot::policies<allot::watch::trace<allot::watch::trace_options{.events = 256, .every_nth_row = 100}>,
                                 allot::oom::null, allot::heap::shared> {};
struct sampled_by_thread : allot::with<sampled, allot::heap::per_thread> {};
struct small_trace : allot::policies<allot::watch::trace<allot::watch::trace_options{.events = 8}>, allot::oom::null> {
};
struct counted : allot::policies<allot::watch::counters, allot::oom::null> {};

constexpr allot::row_type order{.name = "order"};

template <class Rows> concept tells_a_trace = requires(const Rows& rows) { rows.trace_events(); };

template <class Rows> std::map<watch_event, std::size_t> events_of(const Rows& rows) {
    std::map<watch_event, std::size_t> n;
    rows.visit_trace([&](const allot::traced_event& e, std::uint64_t) { ++n[e.kind]; });
    return n;
}

} // namespace

TEST_CASE("a trace records pages, refusals, huge rows, handles and trims", "[trace]") {
    allot::row_manager<traced> rows{allot::limit{1_MiB}, allot::page_bytes{64_KiB}, allot::name{"orders"}};
    std::vector<void*> all;
    {
        auto orders = rows.heap(allot::as<allot::heap::unique>, 1000, order);
        auto mine = orders.local();
        while (void* const p = mine.allocate()) all.push_back(p);
        const auto full = events_of(rows);
        CHECK(full.at(watch_event::page_taken) == 16);
        CHECK(full.at(watch_event::refused) >= 1);
        CHECK(full.at(watch_event::reclaimed) >= 1);
        CHECK(full.at(watch_event::out_of_memory) == 1);
        CHECK(full.at(watch_event::handle_opened) == 2);
        CHECK(full.count(watch_event::handle_closed) == 0);
        for (void* p : all) mine.release(p);
    }
    rows.release(rows.allocate(200'000, order));
    CHECK(rows.trim() != 0);
    const auto end = events_of(rows);
    CHECK(end.at(watch_event::handle_closed) == 2);
    CHECK(end.at(watch_event::huge) == 1);
    CHECK(end.at(watch_event::page_returned) == 1); // all pages of the heap at once, which the huge row used, too
    CHECK(end.at(watch_event::trimmed) == 1);
    std::uint64_t last = 0, held = 0;
    bool in_order = true, named = false;
    rows.visit_trace([&](const allot::traced_event& e, std::uint64_t ns) {
        in_order = in_order && ns >= last && ns < 100'000'000'000u;
        last = ns;
        CHECK(e.thread == allot::detail::sys::thread_token());
        if (e.kind == watch_event::page_taken) CHECK(e.held == (held += e.bytes));
        if (e.kind == watch_event::page_returned) held -= e.bytes;
        if (e.kind == watch_event::huge) named = std::string(e.name) == "order" && e.bytes == 200'000;
    });
    CHECK(in_order);
    CHECK(named);
    CHECK(held == 0);
}

TEST_CASE("idle pages that go back are in the trace", "[trace]") {
    allot::row_manager<traced> rows{allot::limit{1_MiB}, allot::page_bytes{64_KiB}};
    void* const apart[] = {rows.allocate(300'000), rows.allocate(300'000), rows.allocate(300'000)};
    rows.release(apart[0]);
    rows.release(apart[2]);
    rows.release(rows.allocate(600'000)); // in place of both, which are no neighbours
    CHECK(events_of(rows)[watch_event::trimmed] >= 1);
    rows.release(apart[1]);
}

TEST_CASE("each thread samples every n-th row of those that it allocates through its own caches", "[trace]") {
    allot::row_manager<sampled_by_thread> rows{allot::limit{16_MiB}, allot::page_bytes{256_KiB}};
    for (int i = 0; i < 1031; ++i) rows.release(rows.allocate(40, order)); // it has caches from the 32nd row on
    CHECK(events_of(rows)[watch_event::row] == 10);
}

TEST_CASE("every n-th row is sampled, through every handle", "[trace]") {
    allot::row_manager<sampled> rows{allot::limit{16_MiB}, allot::page_bytes{256_KiB}};
    const auto samples = [&] { return events_of(rows)[watch_event::row]; };
    for (int i = 0; i < 1000; ++i) rows.release(rows.allocate(40, order));
    CHECK(samples() == 10);
    auto local = rows.local();
    for (int i = 0; i < 1000; ++i) local.release(local.allocate(40, order));
    CHECK(samples() == 20);
    auto orders = rows.heap(allot::as<allot::heap::unique>, 100, order);
    for (int i = 0; i < 1000; ++i) orders.release(orders.allocate());
    CHECK(samples() == 30);
    auto mine = orders.local();
    for (int i = 0; i < 1000; ++i) mine.release(mine.allocate());
    CHECK(samples() == 40);
    rows.visit_trace([](const allot::traced_event& e, std::uint64_t) {
        if (e.kind == watch_event::row) CHECK(std::string(e.name) == "order");
    });
}

TEST_CASE("the ring keeps the last events", "[trace]") {
    allot::row_manager<small_trace> rows{allot::limit{64_MiB}, allot::page_bytes{64_KiB}};
    std::vector<void*> all;
    for (std::size_t i = 1; i <= 20; ++i) all.push_back(rows.allocate(i * 100'000, order));
    std::vector<std::uint64_t> huge;
    rows.visit_trace([&](const allot::traced_event& e, std::uint64_t) {
        if (e.kind == watch_event::huge) huge.push_back(e.bytes);
    });
    CHECK(huge == std::vector<std::uint64_t>{1'700'000, 1'800'000, 1'900'000, 2'000'000});
    CHECK(rows.trace_events() == 40);
    for (void* p : all) rows.release(p);
}

TEST_CASE("a trace is written as text, and as JSON that trace viewers open", "[trace]") {
    static constexpr allot::row_type odd{.name = "a \"b\"\\c"};
    allot::row_manager<traced> rows{allot::limit{16_MiB}, allot::page_bytes{64_KiB}, allot::name{"orders"}};
    void* const row = rows.allocate(300'000, odd);
    std::vector<char> buffer(100'000);
    allot::text_writer out{buffer.data(), buffer.size()};
    allot::write_trace(out, rows);
    CHECK_THAT(std::string(out.view()), ContainsSubstring("trace of row manager orders, 2 events"));
    CHECK_THAT(std::string(out.view()), ContainsSubstring("huge row"));
    CHECK_THAT(std::string(out.view()), ContainsSubstring("300000 bytes, charged 320 KiB, a \"b\""));
    out.clear();
    allot::write_trace_json(out, rows);
    CHECK_FALSE(out.is_truncated());
    const auto json = support::json::parse(out.view());
    const auto& events = json["traceEvents"].items;
    REQUIRE(events.size() == 4); // the process's name, the pages, the counter, the huge row
    CHECK(events[0]["args"]["name"].text == "orders");
    CHECK(events[1]["name"].text == "page taken");
    CHECK(events[1]["ph"].text == "i");
    CHECK(events[1]["s"].text == "t");
    CHECK(events[1]["ts"].number >= 0);
    CHECK(events[1]["args"]["bytes"].number == 5 * 65536);
    CHECK(events[2]["ph"].text == "C");
    CHECK(events[2]["args"]["bytes"].number == 5 * 65536);
    CHECK(events[3]["args"]["what"].text == odd.name);
    CHECK(events[3]["tid"].number == events[1]["tid"].number);
    rows.release(row);
}

TEST_CASE("a ring gives whole events, each once, while threads write into it", "[trace][threads]") {
    static constexpr std::size_t entries = 8; // few, so that writers meet
    allot::detail::event_ring<entries> ring;
    std::atomic<bool> done{false};
    bool good = true;
    static const char names[4][2] = {"0", "1", "2", "3"};
    std::vector<std::thread> team;
    std::atomic<std::uint64_t> written{0};
    for (unsigned t = 0; t < 3; ++t)
        team.emplace_back([&, t] {
            std::uint64_t i = 1;
            for (; !done; ++i) ring.write(static_cast<watch_event>(t), i * 4 + t, i * 4 + t + 1'000'000'000, names[t]);
            written += i - 1;
        });
    std::size_t most = 0;
    const support::rescue ends{"a ring that shows nothing"};
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    while (good && (most == 0 || ring.count() < entries || std::chrono::steady_clock::now() < until)) {
        std::uint64_t last[4] = {};
        std::size_t n = 0;
        ring.visit([&](const allot::traced_event& e) {
            const auto t = static_cast<unsigned>(e.kind);
            const bool whole = t < 3 && e.bytes % 4 == t && e.held == e.bytes + 1'000'000'000 && e.name == names[t];
            good = good && whole && e.bytes > last[t & 3]; // of one thread, in its order
            last[t & 3] = e.bytes;
            ++n;
        });
        most = n > most ? n : most;
    }
    done = true;
    for (auto& t : team) t.join();
    CHECK(good);
    CHECK(most > 0);
    CHECK(most <= entries);
    std::size_t left = 0;
    ring.visit([&](const allot::traced_event&) { ++left; });
    CHECK(left + ring.dropped() >= entries);
    CHECK(ring.count() == written);
}

TEST_CASE("a set without a trace has none, and no room for one", "[trace]") {
    STATIC_REQUIRE(tells_a_trace<allot::row_manager<traced>>);
    STATIC_REQUIRE_FALSE(tells_a_trace<allot::row_manager<counted>>);
    STATIC_REQUIRE(sizeof(allot::row_manager<traced>) >= sizeof(allot::row_manager<counted>) + 1024 * 64);
    STATIC_REQUIRE(sizeof(allot::local_rows<traced>) == sizeof(allot::local_rows<counted>));
    STATIC_REQUIRE(std::is_empty_v<allot::detail::row_sampler<0>>);
    STATIC_REQUIRE_FALSE(std::is_empty_v<allot::detail::row_sampler<7>>);
}
