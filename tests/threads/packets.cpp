// Threads receive packets, pass rows of them to each other, link, release, take and transfer them.
#include <support/catch.hpp>
#include <support/rescue.hpp>

#include <allot/packet/packets.hpp>
#include <allot/row_manager.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <random>
#include <span>
#include <thread>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;
using allot::row_ptr;

namespace {

struct rows_anywhere : allot::policies<allot::count::links_anywhere, allot::ledger::tree, allot::oom::null> {};
struct number {
    std::uint64_t n, twice;
};

} // namespace

TEST_CASE("rows of packets pass between eight threads, and each packet returns once", "[packet][threads]") {
    const support::rescue ends{"rows of packets on eight threads", std::chrono::seconds(300)};
    account engine{name{"engine"}, limit{4_MiB}}, one{engine, name{"one"}}, two{engine, name{"two"}};
    std::atomic<int> wrong{0};
    std::atomic<std::uint64_t> received{0};
    {
        allot::packets in{engine, {.bytes = 16_KiB}};
        allot::row_manager<rows_anywhere> rows{engine, name{"rows"}};
        std::mutex lock;
        std::vector<row_ptr<const number>> shared; // that any thread takes
        std::vector<std::jthread> threads;
        for (unsigned t = 0; t != 8; ++t)
            threads.emplace_back([&, t] {
                std::mt19937_64 random{t};
                std::vector<row_ptr<const number>> mine;
                for (int i = 0; i != 600; ++i) {
                    allot::packet p = in.try_allocate(t % 2 == 0 ? one : two);
                    if (p) {
                        for (std::uint64_t k = 0; k != 8; ++k) {
                            const number n{random(), 0};
                            const number both{n.n, 2 * n.n};
                            std::memcpy(p.room().data() + k * sizeof both, &both, sizeof both);
                        }
                        p.set_bytes(8 * sizeof(number));
                        ++received;
                        for (std::size_t k = 0; k != 8; ++k)
                            mine.push_back(row_ptr<const number>::linked(p.row<number>(k * sizeof(number))));
                        if (random() % 4 == 0) static_cast<void>(p.try_transfer(t % 3 == 0 ? one : two));
                    }
                    {
                        const std::lock_guard hold(lock);
                        while (mine.size() > 4) shared.push_back(std::move(mine.back())), mine.pop_back();
                        for (int n = 0; n != 4 && !shared.empty(); ++n) {
                            const std::size_t at = random() % shared.size();
                            mine.push_back(shared[at]); // another link
                            if (random() % 2 == 0) std::swap(shared[at], shared.back()), shared.pop_back();
                        }
                        if (shared.size() > 200) shared.resize(100);
                    }
                    for (auto& r : mine) {
                        wrong += r->twice != 2 * r->n;
                        if (random() % 8 == 0) r = allot::take(rows, std::move(r));
                        else if (random() % 4 == 0) {
                            const number* const raw = r.detach();
                            rows.link(raw), rows.release(raw);
                            r = row_ptr<const number>::adopt(raw);
                        }
                        if (const allot::packet of = allot::packet::of(r.get()); of && random() % 8 == 0)
                            static_cast<void>(of.transfer(random() % 2 == 0 ? one : two));
                    }
                    if (random() % 2 == 0) mine.clear();
                }
            });
        threads.clear();
        shared.clear();
        CHECK((in.stats().packets == 0 && one.used() == 0 && two.used() == 0));
    }
    CHECK((wrong == 0 && received > 1000 && engine.used() == 0 && engine.peak() <= 4_MiB + 1_MiB && engine.verify()));
}

TEST_CASE("a packet that threads transfer at once is charged within limits", "[packet][threads]") {
    account engine{name{"engine"}, limit{4_MiB}}, one{engine, name{"one"}}, two{engine, name{"two"}},
        small{engine, name{"small"}, limit{1000}};
    {
        allot::packets in{engine, {.bytes = 16_KiB}};
        const allot::packet p = in.allocate(one);
        std::atomic<int> wrong{0};
        std::vector<std::jthread> threads;
        for (unsigned t = 0; t != 4; ++t)
            threads.emplace_back([&, t] {
                for (int i = 0; i != 3000; ++i) {
                    if (t < 2) static_cast<void>(p.transfer(i % 2 == 0 ? one : two));
                    else wrong += p.try_transfer(small).charged();
                }
            });
        threads.clear();
        CHECK((wrong == 0 && small.peak() == 0));
    }
    CHECK(engine.used() == 0);
}
