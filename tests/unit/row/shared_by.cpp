// heap::shared_by: so many handles a heap, and rows find their heap whoever releases them.
#include <support/catch.hpp>
#include <support/in_use.hpp>
#include <support/row_sets.hpp>

#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

using namespace allot::literals;

namespace {

constexpr allot::row_type order{.name = "order"}, line{.name = "line"};

template <class Handles> std::map<const void*, std::size_t> users_of(const Handles& handles) {
    std::map<const void*, std::size_t> users;
    for (const auto& h : handles) ++users[&h.heap()];
    return users;
}

} // namespace

TEST_CASE("eight handles share a heap unless the set says otherwise, the ninth opens another", "[row_heap]") {
    allot::row_manager<sets::quiet> rows{allot::limit{64_MiB}, allot::page_bytes{64_KiB}};
    const auto open = [&] { return rows.heap(allot::as<allot::heap::shared_by<>>, 48, order); };
    std::vector<decltype(open())> handles;
    for (int i = 0; i < 24; ++i) handles.push_back(open()); // they are moved as the vector grows
    auto users = users_of(handles);
    CHECK(users.size() == 3);
    for (const auto& h : handles) CHECK(h.heap().handles == users[&h.heap()]);
    for (const auto& [heap, n] : users) CHECK(n <= 8);
    const auto* const first = &handles.front().heap();
    handles.erase(handles.begin());
    CHECK(first->handles == 7);
    handles.push_back(open());
    CHECK(&handles.back().heap() == first); // the place that became free
    handles.clear();
    CHECK(first->handles == 0);
    CHECK(users.count(&open().heap()) == 1);
    CHECK(rows.valid());
}

TEST_CASE("handles with rows of any type share, of another size or number of users they do not", "[row_heap]") {
    allot::row_manager<sets::quiet> rows{allot::limit{64_MiB}};
    auto a = rows.heap(allot::as<allot::heap::shared_by<4>>, 48, order);
    auto b = rows.heap(allot::as<allot::heap::shared_by<4>>, 48, line);
    auto c = rows.heap(allot::as<allot::heap::shared_by<4>>, 480, line);
    auto d = rows.heap(allot::as<allot::heap::shared_by<2>>, 48, order);
    auto e = rows.heap(allot::as<>, 48, order);
    CHECK(&a.heap() == &b.heap());
    CHECK(&a.heap() != &c.heap());
    CHECK(&a.heap() != &d.heap());
    CHECK(&a.heap() != &e.heap());
    void* const x = a.allocate();
    void* const y = b.allocate();
    std::map<const allot::row_type*, std::size_t> n;
    rows.usage_by_type().for_each([&](const allot::type_usage& u) { n[u.type] = u.rows; });
    CHECK(n[&order] == 1);
    CHECK(n[&line] == 1);
    b.release(x);
    a.release(y);
    auto packed = rows.heap(allot::as<allot::heap::shared_by<4>, allot::size::packed>, 48, order);
    auto packed_line = rows.heap(allot::as<allot::heap::shared_by<4>, allot::size::packed>, 48, line);
    CHECK(&packed.heap() != &packed_line.heap()); // the page keeps the type
    CHECK(rows.live_rows() == 0);
}

TEST_CASE("pages of a heap without handles go back when its rows have gone", "[row_heap]") {
    struct only_one : allot::policies<allot::heap::shared_by<1>, allot::oom::null> {};
    allot::row_manager<only_one> rows{allot::limit{64_MiB}, allot::page_bytes{64_KiB}};
    void* row = nullptr;
    {
        auto a = rows.heap(100, order);
        auto b = rows.heap(100, order);
        CHECK(&a.heap() != &b.heap());
        row = a.allocate();
        b.release(b.allocate());
        CHECK(rows.used() == 128_KiB);
    }
    CHECK(support::in_use(rows) == 64_KiB); // b's page went with its handle
    rows.release(row);
    rows.trim();
    CHECK(rows.used() == 0);
}

TEST_CASE("never more users a heap, and every row finds its heap, under threads", "[row_heap][threads]") {
    constexpr std::size_t most = 3;
    struct set : allot::policies<allot::heap::shared_by<most>, allot::slots::bitmap> {};
    allot::row_manager<set> rows{allot::limit{256_MiB}, allot::page_bytes{256_KiB}};
    std::atomic<bool> good{true};
    std::atomic<std::size_t> heaps{0};
    std::mutex lock;
    std::vector<void*> on_the_way; // released by whoever comes next
    std::vector<std::thread> team;
    for (unsigned t = 0; t < 4; ++t)
        team.emplace_back([&, t] {
            std::mt19937 random(t);
            for (int round = 0; round < (ALLOT_TSAN ? 40 : 300); ++round) {
                auto one = rows.heap(64, order);
                auto two = rows.heap(64, line);
                if (one.heap().handles > most || two.heap().handles > most) good = false;
                std::vector<void*> mine;
                {
                    auto local = two.local();
                    for (int i = 0; i < 200; ++i) mine.push_back(i % 2 == 0 ? one.allocate() : local.allocate());
                    for (int i = 0; i < 50; ++i) {
                        if (random() % 2 == 0) local.release(mine.back());
                        else allot::release(mine.back());
                        mine.pop_back();
                    }
                }
                std::vector<void*> others;
                {
                    const std::lock_guard hold(lock);
                    others.swap(on_the_way);
                    on_the_way.insert(on_the_way.end(), mine.begin(), mine.end());
                }
                for (void* p : others) one.release(p);
            }
        });
    for (auto& t : team) t.join();
    for (void* p : on_the_way) rows.release(p);
    rows.usage([&](const allot::heap_usage&) { ++heaps; });
    CHECK(good);
    CHECK(heaps <= 3); // 8 handles at most at once
    CHECK(rows.live_rows() == 0);
    rows.trim();
    CHECK(rows.used() == 0);
    CHECK(rows.valid());
}
