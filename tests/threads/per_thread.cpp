// heap::per_thread: ends in any order, rows that outlive their manager's end, generations of threads.
#include <support/catch.hpp>
#include <support/row_sets.hpp>

#include <atomic>
#include <barrier>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace allot::literals;

namespace {

struct linked : allot::policies<allot::heap::per_thread, allot::slots::linked, allot::oom::null> {};
struct bitmap : allot::policies<allot::heap::per_thread, allot::slots::bitmap, allot::oom::null> {};
struct scanning : allot::policies<allot::heap::per_thread, allot::slots::scanning, allot::oom::null> {};
struct delayed : allot::policies<allot::heap::per_thread, allot::slots::delay_release, allot::oom::null> {};

allot::leak_sink into(std::string& reported) {
    return {[](void* to, std::string_view text) noexcept { *static_cast<std::string*>(to) += text; }, &reported};
}

} // namespace

TEMPLATE_TEST_CASE("a manager ends while threads hold rows: those are reported, not their free slots", "[threads]",
                   linked, bitmap, scanning, delayed) {
    static const allot::row_type type{"kept"};
    std::string reported;
    constexpr int threads = 4;
    std::barrier used(threads + 1), ended(threads + 1);
    std::vector<std::thread> all;
    {
        allot::row_manager<TestType> after{allot::limit{8_MiB}};
        auto rows = std::make_unique<allot::row_manager<TestType>>(allot::limit{8_MiB}, into(reported));
        for (int t = 0; t < threads; ++t)
            all.emplace_back([&, t] {
                // Thread 0 has no caches yet, the others do; each keeps one row more than the one before.
                std::vector<void*> mine;
                for (int i = 0; i < (t == 0 ? 5 : 500); ++i)
                    mine.push_back(rows->allocate(static_cast<std::size_t>(16 + i), type));
                for (std::size_t i = static_cast<std::size_t>(t) + 1; i < mine.size(); ++i) rows->release(mine[i]);
                used.arrive_and_wait();
                ended.arrive_and_wait();
                for (int i = 0; i < 100; ++i) after.release(after.allocate(64));
            });
        used.arrive_and_wait();
        CHECK(rows->live_rows() == 1 + 2 + 3 + 4);
        rows.reset();
        ended.arrive_and_wait();
        for (auto& t : all) t.join();
        CHECK(after.live_rows() == 0);
        CHECK(after.valid());
    }
    INFO(reported);
    CHECK(reported.find("ended with 10 rows not released") != std::string::npos);
    CHECK(reported.find("of type kept") != std::string::npos);
}

TEMPLATE_TEST_CASE("a thousand generations of threads live in the memory of the first", "[threads]", linked, bitmap,
                   scanning, delayed) {
    allot::row_manager<TestType> rows{allot::limit{32_MiB}, allot::page_bytes{64_KiB}};
    std::size_t first = 0;
    const int generations = ALLOT_TSAN ? 100 : 1000;
    std::vector<void*> left; // by the generation before, released by this one
    for (int g = 0; g < generations; ++g) {
        std::vector<void*> mine;
        std::thread([&] {
            for (int i = 0; i < 300; ++i) mine.push_back(rows.allocate(static_cast<std::size_t>(40 + i % 100)));
            for (void* row : left) rows.release(row);
            for (std::size_t i = 100; i < mine.size(); ++i) rows.release(mine[i]);
        }).join();
        mine.resize(100);
        left = mine;
        if (g == 10) first = rows.used();
    }
    for (void* row : left) rows.release(row);
    CHECK(rows.used() <= first);
    CHECK(rows.live_rows() == 0);
    CHECK(rows.valid());
    rows.trim();
    CHECK(rows.used() == 0);
}

TEST_CASE("a thread that meets more managers than it has places for forgets the least used", "[threads]") {
    using manager = allot::row_manager<sets::per_thread>;
    std::vector<std::unique_ptr<manager>> all;
    for (int i = 0; i < 300; ++i) all.push_back(std::make_unique<manager>(allot::limit{1_MiB}));
    // A cache of the thread is registered in its heap.
    const auto is_cached = [](manager& m) {
        bool any = false;
        allot::detail::row_access::core(m).heaps().for_each(
            [&](allot::detail::heap_base& h) { any = any || h.has_users(); });
        return any;
    };
    const auto use = [](manager& m, int times) {
        for (int i = 0; i < times; ++i) m.release(m.allocate(64));
    };
    std::thread([&] {
        use(*all[0], 31);
        CHECK_ON_THREAD(!is_cached(*all[0]));
        use(*all[0], 1);
        CHECK_ON_THREAD(is_cached(*all[0]));
        for (int round = 0; round < 20; ++round)
            for (auto& m : all) {
                use(*m, 1);
                use(*all[0], 1);
            }
        CHECK_ON_THREAD(is_cached(*all[0])); // always in use
        for (auto& m : all) use(*m, 100);
        std::size_t cached = 0;
        for (auto& m : all) cached += is_cached(*m);
        CHECK_ON_THREAD(cached <= 64);
        CHECK_ON_THREAD(cached > 16);
        // Managers that have gone leave their places.
        for (std::size_t i = 100; i < all.size(); ++i) all[i].reset();
        all.resize(100);
        for (int i = 0; i < 3; ++i)
            for (auto& m : all) use(*m, 100);
    }).join();
    for (auto& m : all) {
        CHECK_FALSE(is_cached(*m)); // the thread gave its caches back
        CHECK(m->live_rows() == 0);
        CHECK(m->valid());
    }
}
