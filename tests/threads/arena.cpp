// An arena under many threads.
#include <support/catch.hpp>

#include <allot/page/arena.hpp>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

using namespace allot::literals;

namespace {

struct plain_set : allot::policies<> {};
struct idle_set : allot::policies<allot::retain::idle<1_ms>> {};

} // namespace

TEMPLATE_TEST_CASE("pages are nobody else's, also while an arena is trimmed, and none is refused without need", "[threads]",
                   plain_set, idle_set) {
    constexpr int threads = 4;
    constexpr std::size_t each = 16;
    allot::arena<TestType> pages{allot::limit{threads * each * 64_KiB}, allot::page_bytes{64_KiB}};
    std::atomic<bool> good{true}, done{false};
    std::thread trimmer([&] {
        while (!done) std::is_same_v<TestType, idle_set> ? pages.trim_idle() : pages.trim();
    });
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
            std::mt19937 random(static_cast<unsigned>(t));
            std::vector<std::byte*> mine;
            const auto mark = static_cast<std::byte>(t + 1);
            for (int i = 0; i < (ALLOT_TSAN ? 3000 : 20000); ++i) {
                if (mine.size() < each && random() % 2 != 0) {
                    std::byte* const p = pages.take(); // the limit has room for everybody's share
                    if (p == nullptr) {
                        good = false;
                        continue;
                    }
                    p[0] = p[64_KiB - 1] = mark;
                    mine.push_back(p);
                } else if (!mine.empty()) {
                    std::swap(mine[random() % mine.size()], mine.back());
                    if (mine.back()[0] != mark || mine.back()[64_KiB - 1] != mark) good = false;
                    pages.give(mine.back(), 1);
                    mine.pop_back();
                }
            }
            for (std::byte* p : mine) pages.give(p, 1);
        });
    for (auto& t : all) t.join();
    done = true;
    trimmer.join();
    CHECK(good);
    CHECK(pages.figures().taken == 0);
    CHECK(pages.figures().peak_taken <= threads * each * 64_KiB);
    CHECK(pages.valid());
}
