// An arena under many threads.
#include <support/catch.hpp>
#include <support/rescue.hpp>

#include <allot/page/arena.hpp>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

using namespace allot::literals;

TEST_CASE("pages are nobody else's, also while an arena is trimmed, and none is refused without need", "[threads]") {
    constexpr int threads = 4;
    constexpr std::size_t each = 16;
    allot::arena<> pages{allot::limit{threads * each * 64_KiB}, allot::page_bytes{64_KiB}};
    std::atomic<bool> good{true}, done{false};
    std::thread trimmer([&] {
        while (!done) pages.trim();
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
    CHECK(pages.stats().taken == 0);
    CHECK(pages.stats().peak_taken <= threads * each * 64_KiB);
    CHECK(pages.valid());
}

TEST_CASE("a holder that goes waits for who asks it, and for nobody else", "[threads]") {
    struct holder final : allot::tenant {
        holder() : tenant("holder") {}
        std::atomic<bool> inside{false}, go{false};
        std::atomic<int> asked{0};
        std::size_t held() const noexcept override { return 0; }
        std::size_t return_idle(std::size_t, bool) noexcept override {
            ++asked;
            inside = true;
            while (!go) std::this_thread::yield();
            inside = false;
            return 1;
        }
    };
    const support::rescue ends{"a holder that goes"};
    allot::arena<> pages{allot::page_bytes{64_KiB}, allot::limit{1_MiB}};
    holder last, gone, first, fourth;
    last.go = gone.go = fourth.go = true;
    pages.add(first);
    pages.add(gone);
    pages.add(last);
    std::size_t came = 0;
    std::thread asks{[&] { came = pages.ask_tenants(); }};
    while (!first.inside) std::this_thread::yield();
    pages.remove(gone); // the next one to be asked
    pages.add(fourth);
    std::atomic<bool> leaves{false};
    std::thread lets_go{[&] {
        while (!leaves) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        first.go = true;
    }};
    leaves = true;
    pages.remove(first);
    CHECK_FALSE(first.inside);
    CHECK(first.go);
    asks.join();
    lets_go.join();
    CHECK(came == 2);
    CHECK(first.asked == 1);
    CHECK(gone.asked == 0);
    CHECK(last.asked == 1);
    pages.remove(last);
    pages.remove(fourth);
}

TEST_CASE("a holder may go while its own thread asks it", "[threads]") {
    struct holder final : allot::tenant {
        holder(allot::arena<>& a, bool leaves) : tenant("holder"), pages(a), goes(leaves) {}
        std::size_t held() const noexcept override { return 0; }
        std::size_t return_idle(std::size_t, bool) noexcept override {
            if (goes) pages.remove(*this);
            return 1;
        }
        allot::arena<>& pages;
        const bool goes;
    };
    const support::rescue ends{"a holder that goes while it is asked"};
    allot::arena<> pages{allot::page_bytes{64_KiB}, allot::limit{1_MiB}};
    holder goes{pages, true}, stays{pages, false};
    pages.add(goes);
    pages.add(stays);
    CHECK(pages.ask_tenants() == 2);
    CHECK(pages.ask_tenants() == 1);
    pages.remove(stays);
}
