// Requests that the limit of an arena refuses: they wait for its pages, and are judged, as those at an account's limit.
#include <support/catch.hpp>
#include <support/rescue.hpp>

#include <allot/oom/retry.hpp>
#include <allot/row_manager.hpp>
#include <allot/use/spark.hpp>

#include <atomic>
#include <thread>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;
using allot::oom::arbiter;
using allot::oom::task;
using allot::oom::task_thread;

namespace {

struct pages : allot::policies<allot::page::mapped<>> {};
struct shared_rows : allot::with<allot::use::spark, allot::page::of<allot::arena<pages>>> {};
using manager = allot::row_manager<shared_rows>;

constexpr std::size_t large = 1_MiB - 64;

} // namespace

TEST_CASE("a request waits for pages of a full arena, until another manager of the tree gives some back", "[oom]") {
    const support::rescue ends{"a request that waits for ever"};
    allot::arena<pages> arena{limit{4_MiB}};
    account root{name{"root"}};
    manager one{arena, root}, two{arena, root};
    std::vector<void*> rows;
    while (void* const row = one.try_allocate(large)) rows.push_back(row);
    REQUIRE(rows.size() >= 3);
    CHECK(two.allocate_for(large, std::chrono::milliseconds(1)) == nullptr);
    std::atomic<void*> got{nullptr};
    std::thread waits{[&] { got = two.allocate_for(large, allot::forever); }};
    while (root.stats().waiting == 0) std::this_thread::yield();
    CHECK(got == nullptr);
    one.release(rows.back());
    rows.pop_back();
    waits.join();
    CHECK(got != nullptr);
    two.release(got);
    for (void* const row : rows) one.release(row);
}

TEST_CASE("tasks that share a full arena are rolled back", "[oom]") {
    const support::rescue ends{"tasks that wait for ever"};
    allot::arena<pages> arena{limit{8_MiB}};
    arbiter tasks;
    account root{name{"root"}, tasks};
    std::atomic<int> done{0};
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t != 3; ++t)
            threads.emplace_back([&] {
                task query{tasks, "query"};
                manager rows{arena, root};
                task_thread here{query};
                for (int i = 0; i != 5; ++i)
                    allot::oom::with_retry_no_split([&] {
                        struct held {
                            manager& of;
                            std::vector<void*> rows;
                            ~held() {
                                for (void* const r : rows) of.release(r);
                            }
                        } mine{rows, {}};
                        for (int n = 0; n != 5; ++n) mine.rows.push_back(rows.allocate(large));
                        ++done;
                    });
            });
    }
    CHECK(done == 15);
    CHECK(root.used() == 0);
}

TEST_CASE("a decision is put off while another tree has pages of the arena, and its release serves the request",
          "[oom]") {
    const support::rescue ends{"a task that waits for pages of another tree"};
    allot::arena<pages> arena{limit{4_MiB}};
    arbiter tasks{{.unknown_holders_wait = allot::time_span{5'000}}};
    account here{name{"here"}, tasks}, there{name{"there"}};
    manager mine{arena, here};
    allot::row_manager<allot::with<allot::use::spark, allot::page::of<allot::arena<pages>>, allot::oom::null>> other{
        arena, there};
    std::vector<void*> held;
    while (void* const row = other.try_allocate(large)) held.push_back(row);
    std::atomic<bool> got{false};
    task query{tasks, "query"};
    std::thread waits{[&] {
        task_thread works{query};
        void* const row = mine.allocate(large); // outside of a retry scope: else refused at once
        got = row != nullptr;
        mine.release(row);
    }};
    while (here.stats().waiting == 0) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    CHECK_FALSE(got);
    for (void* const row : held) other.release(row);
    waits.join();
    CHECK(got);
    CHECK(query.stats().refused == 0);
}
