// Which task starts next: order, what fits, bounded bypasses, and how many at once.
#include <support/catch.hpp>

#include <allot/task/admission.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <vector>

using allot::detail::admission;
using allot::detail::admitted_task;

namespace {

struct queue {
    admission rules;
    std::deque<admitted_task> tasks;
    std::uint64_t order = 0;

    explicit queue(unsigned threads, unsigned bypasses = 2) : rules(threads, bypasses) {}
    admitted_task& add(std::size_t needs, std::int64_t number = 0, bool alone = false) {
        tasks.push_back({.place = {.at = {number, ++order}}, .needs = needs, .is_alone = alone});
        rules.add(tasks.back());
        return tasks.back();
    }
};

} // namespace

TEST_CASE("ten tasks of one unit run ten wide over 50 free", "[task]") {
    queue q(16);
    std::size_t free = 50;
    for (int i = 0; i != 10; ++i) q.add(5);
    unsigned n = 0;
    while (const admitted_task* const t = q.rules.start(free)) free -= t->needs, ++n;
    CHECK((n == 10 && q.rules.running() == 10 && free == 0));
}

TEST_CASE("the first in order starts; one that does not fit is passed a bounded number of times", "[task]") {
    queue q(4, 2);
    admitted_task &a = q.add(10), &large = q.add(100), &b = q.add(10), &c = q.add(10), &d = q.add(10);
    CHECK(q.rules.start(0) == &a); // nothing runs
    CHECK(q.rules.start(9) == nullptr);
    CHECK(q.rules.start(50) == &b);
    CHECK(q.rules.start(50) == &c);
    CHECK((q.rules.start(50) == nullptr && large.passed == 2)); // no more
    q.rules.ended(a), q.rules.ended(b), q.rules.ended(c);
    CHECK(q.rules.start(0) == &large);
    CHECK(q.rules.start(10) == &d);
    admitted_task &late = q.add(10), &first = q.add(10, 7);
    CHECK(q.rules.start(10) == &first);
    q.rules.put_back(first);
    CHECK(q.rules.start(10) == &first);
    q.rules.withdraw(late);
    CHECK((q.rules.waiting() == 0 && q.rules.start(1000) == nullptr));
}

TEST_CASE("a task that runs alone has nothing beside it, and none starts before it", "[task]") {
    queue q(4);
    admitted_task &a = q.add(1), &alone = q.add(1, 0, true), &b = q.add(1);
    CHECK((q.rules.start(100) == &a && q.rules.start(100) == nullptr));
    q.rules.ended(a);
    CHECK((q.rules.start(100) == &alone && q.rules.start(100) == nullptr));
    q.rules.ended(alone);
    CHECK(q.rules.start(100) == &b);
}

TEST_CASE("fewer run at once after one ran out of memory, and more again", "[task]") {
    queue q(8);
    for (int i = 0; i != 40; ++i) q.add(1);
    std::vector<admitted_task*> now;
    const auto fill = [&] {
        while (admitted_task* const t = q.rules.start(100)) now.push_back(t);
        return now.size();
    };
    CHECK(fill() == 8);
    q.rules.ran_out(*now.back());
    now.pop_back();
    CHECK(q.rules.width() == 4);
    while (now.size() > 3) q.rules.ended(*now.back()), now.pop_back();
    CHECK((q.rules.width() == 5 && fill() == 5));
    q.rules.ran_out(*now[0]), q.rules.ran_out(*now[1]), q.rules.ran_out(*now[2]);
    CHECK(q.rules.width() == 1); // never less
}

TEST_CASE("random queues: the order of a plain list, and the bound of bypasses", "[task][model]") {
    std::mt19937_64 random{7};
    for (int round = 0; round != 200; ++round) {
        const auto threads = static_cast<unsigned>(1 + random() % 6), bypasses = static_cast<unsigned>(random() % 4);
        queue q(threads, bypasses);
        std::vector<admitted_task*> waiting, running;
        const auto before = [](const admitted_task* a, const admitted_task* b) {
            return is_before(a->place.at, b->place.at);
        };
        for (int step = 0; step != 300; ++step) {
            switch (random() % 5) {
            case 0:
            case 1: waiting.push_back(&q.add(random() % 50, static_cast<std::int64_t>(random() % 3))); break;
            case 2: {
                if (waiting.empty()) break;
                admitted_task& t = *waiting[random() % waiting.size()];
                q.rules.update(t, {static_cast<std::int64_t>(random() % 3), t.place.at.order});
                break;
            }
            case 3: {
                if (running.empty()) break;
                const std::size_t i = random() % running.size();
                if (random() % 8 == 0) q.rules.ran_out(*running[i]);
                else q.rules.ended(*running[i]);
                running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
                break;
            }
            default: {
                const std::size_t room = random() % 60;
                std::sort(waiting.begin(), waiting.end(), before);
                admitted_task* expected = nullptr;
                if (running.size() < q.rules.width() && !waiting.empty()) {
                    if (running.empty()) expected = waiting.front();
                    for (std::size_t i = 0; expected == nullptr && i != std::min<std::size_t>(waiting.size(), 32); ++i)
                        if (waiting[i]->needs <= room) expected = waiting[i];
                        else if (waiting[i]->passed == bypasses) break;
                }
                admitted_task* const got = q.rules.start(room);
                REQUIRE(got == expected);
                if (got == nullptr) break;
                std::erase(waiting, got);
                running.push_back(got);
            }
            }
            for (const admitted_task& t : q.tasks) REQUIRE(t.passed <= bypasses);
            REQUIRE((q.rules.waiting() == waiting.size() && q.rules.running() == running.size()));
        }
    }
}
