// A child of fork() uses what it inherits, while other threads of the parent were inside: with ALLOT_FORK.
//
// 4 threads use rows with caches of threads and shared ones, chunks, accounts near their limit and buffers; a thread
// forks; each child uses each of them to its limit, makes new ones, and forks once more. ALLOT_FORKS: how many.
#include <support/asleep.hpp>
#include <support/catch.hpp>
#include <support/from_environment.hpp>

#include <allot/account/account.hpp>
#include <allot/account/pending_charge.hpp>
#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/ledger/page_ledger.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/page/pages_in_transit.hpp>
#include <allot/row_manager.hpp>
#include <allot/sync/owner_entry.hpp>
#include <allot/sync/shared_caches.hpp>
#include <allot/sync/spin_lock.hpp>
#include <allot/sys/mutex.hpp>
#include <allot/sys/parking.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace allot::literals;
using namespace std::chrono_literals;

namespace {

struct threads_rows : allot::policies<allot::heap::per_thread, allot::ledger::tree, allot::oom::null> {};
struct shared_rows : allot::policies<allot::ledger::tree, allot::oom::null> {};
struct thread_chunks
    : allot::policies<allot::fit::runs, allot::heap::per_thread, allot::ledger::tree, allot::oom::null> {};
struct buffer_chunks : allot::policies<allot::fit::runs, allot::heap::per_thread, allot::oom::null> {};
struct plain_rows : allot::policies<allot::heap::per_thread, allot::oom::null> {};

struct world {
    allot::account engine{allot::name{"engine"}, allot::limit{24_MiB}};
    allot::account query{engine, allot::name{"query"}, allot::limit{16_MiB}};
    allot::account credit{query, allot::name{"credit"}, allot::credit_step{256_KiB}};
    allot::account buffers{engine, allot::name{"buffers"}};
    allot::row_manager<threads_rows> own{query};
    allot::row_manager<shared_rows> shared{query};
    allot::row_manager<plain_rows> alone{allot::limit{8_MiB}};
    std::atomic<std::size_t> kept{0}; // of `alone`, by all threads
    allot::chunk_arena<thread_chunks> chunks{query};
    allot::chunk_arena<buffer_chunks> blocks{allot::limit{16_MiB}};
    allot::buffer_memory memory{blocks};
};

// `kept`: at least the pages that its rows keep at every moment.
template <class Rows>
bool use_rows(Rows& rows, std::uint64_t& seed, std::size_t n, std::atomic<std::size_t>* kept = nullptr) {
    constexpr std::size_t large = 100'000, page = 16_KiB;
    std::size_t mine = 0;
    std::vector<void*> all;
    for (std::size_t i = 0; i < n; ++i) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const std::size_t bytes = seed >> 60 == 0 ? large : 16 + (seed >> 40) % 2000;
        if (kept != nullptr) *kept += bytes + page, mine += bytes + page;
        if (void* const p = rows.try_allocate(bytes)) std::memset(p, 7, bytes), all.push_back(p);
    }
    const bool some = !all.empty();
    for (void* p : all) rows.release(p);
    if (kept != nullptr) *kept -= mine;
    return some;
}
bool use_chunks(world& w, std::uint64_t& seed, std::size_t n) {
    std::vector<allot::block> all;
    for (std::size_t i = 0; i < n; ++i) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        if (const allot::block b = w.chunks.allocate(64 + (seed >> 40) % 60000); b.address != nullptr) all.push_back(b);
    }
    const bool some = !all.empty();
    for (const allot::block& b : all) w.chunks.deallocate(b.address);
    return some;
}
bool use_accounts(world& w, std::uint64_t& seed, std::size_t n) {
    bool some = false;
    for (std::size_t i = 0; i < n; ++i) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const std::size_t bytes = (seed >> 40) % 100000 + 1;
        if (!w.credit.try_charge(bytes)) continue;
        some = true;
        w.credit.refund(bytes);
    }
    return some;
}
bool use_buffers(world& w, std::uint64_t& seed, std::size_t n) {
    std::vector<allot::buffer> all;
    for (std::size_t i = 0; i < n; ++i) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        if (allot::buffer b = w.memory.try_allocate(w.buffers, 64 + (seed >> 40) % 100000)) {
            all.push_back(b.slice(0, 32));
            all.push_back(std::move(b));
        }
    }
    return !all.empty();
}
// Where what the parent's threads had leaves too little, a refusal is right; not where there is room for a page.
int use_all(world& w, std::uint64_t& seed, std::size_t n) {
    int used = 0;
    used += use_rows(w.own, seed, n) ? 1 : 0;
    used += use_rows(w.shared, seed, n) ? 2 : 0;
    used += use_rows(w.alone, seed, n, &w.kept) ? 4 : 0;
    used += use_chunks(w, seed, n) ? 8 : 0;
    used += use_accounts(w, seed, n) ? 16 : 0;
    used += use_buffers(w, seed, n / 8 + 1) ? 32 : 0;
    return used;
}
constexpr int all_used = 63;

int in_child(world& w, std::uint64_t seed, bool forks);

// 0: well; 1 to 98: the check that failed; 99: killed by the alarm; 100 and more: by this signal less 100.
int forked(world& w, std::uint64_t seed, bool forks) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(20);
        ::_exit(in_child(w, seed, forks));
    }
    int status = 0;
    if (::waitpid(child, &status, 0) != child) return 98;
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    return WTERMSIG(status) == SIGALRM ? 99 : 100 + WTERMSIG(status);
}
int in_child(world& w, std::uint64_t seed, bool forks) {
    for (int i = 0; i < 3; ++i)
        if (const int used = use_all(w, seed, 40); used != all_used) return 10;
    { // to the limit, so that the caches of all threads are emptied
        std::vector<void*> all;
        while (void* const p = w.alone.try_allocate(1000)) all.push_back(p);
        if (all.size() * 1100 + w.kept < 8_MiB - 512_KiB) return 20;
        for (void* p : all) w.alone.release(p);
        all.clear();
        while (void* const p = w.own.try_allocate(30'000)) all.push_back(p);
        if (all.empty() || w.shared.try_allocate(400'000) != nullptr) return 21;
        for (void* p : all) w.own.release(p);
    }
    {
        world made;
        if (use_all(made, seed, 40) != all_used) return 30;
    }
    int other = 0;
    std::thread([&] { other = use_all(w, seed, 40); }).join();
    if (other != all_used) return 40;
    w.chunks.trim();
    if (forks)
        if (const int inner = forked(w, seed, false); inner != 0) return inner;
    return 0;
}

// The number of children that did not end well, by their code.
std::string forks_under_load(std::uint64_t forks) {
    world w;
    std::atomic<bool> ends{false};
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (std::uint64_t seed = t + 1; !ends.load(std::memory_order_relaxed);) use_all(w, seed, 60);
        });
    std::size_t codes[256] = {};
    for (std::uint64_t i = 0; i < forks; ++i) {
        const auto code = static_cast<unsigned>(forked(w, i + 100, i % 8 == 0));
        ++codes[code % 256];
    }
    ends = true;
    for (std::thread& t : threads) t.join();
    std::string failed;
    for (std::size_t i = 1; i < 256; ++i)
        if (codes[i] != 0) failed += std::to_string(codes[i]) + " x code " + std::to_string(i) + "; ";
    return failed;
}

// Whether fork() on this thread waits until another thread, which has called take(), calls give() after that time.
template <class Take, class Give> bool waits_for(Take take, Give give, std::chrono::milliseconds time = 30ms) {
    std::atomic<bool> taken{false}, forked{false}, waited{false};
    std::thread other([&] {
        take();
        taken = true;
        const auto begin = std::chrono::steady_clock::now();
        while (!forked && std::chrono::steady_clock::now() - begin < time) std::this_thread::yield();
        waited = !forked;
        give();
    });
    while (!taken) std::this_thread::yield();
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    forked = true;
    ::waitpid(child, nullptr, 0);
    other.join();
    return waited;
}

} // namespace

TEST_CASE("fork waits for each kind of exclusive right of another thread", "[process][fork]") {
    if (!ALLOT_FORK) SKIP("needs ALLOT_FORK");
    CHECK_FALSE(waits_for([] {}, [] {}, 9s));

    allot::detail::sys::mutex mutex{allot::detail::lock_rank::leaf};
    CHECK(waits_for([&] { mutex.lock(); }, [&] { mutex.unlock(); }));
    CHECK(waits_for([&] { mutex.try_lock(); }, [&] { mutex.unlock(); }));
    allot::detail::spin_lock spin;
    CHECK(waits_for([&] { spin.lock(); }, [&] { spin.unlock(); }));
    CHECK(waits_for([&] { spin.try_lock(); }, [&] { spin.unlock(); }));
    allot::detail::owner_entry own;
    own.set_up();
    CHECK(waits_for([&] { own.enter(); }, [&] { own.leave(); }));
    CHECK(waits_for([&] { own.begin(); }, [&] { own.leave(); }));
    allot::detail::shared_caches<int> caches;
    std::unique_ptr<allot::detail::shared_caches<int>::borrowed> cache;
    CHECK(waits_for([&] { cache.reset(new auto(caches.borrow())); }, [&] { cache.reset(); }));
    CHECK_FALSE(waits_for([&] { caches.keep(caches.all()[0]); }, [&] { caches.give_kept(caches.all()[0]); }, 9s));
    allot::detail::pages_in_transit transit;
    std::optional<allot::detail::pages_in_transit::move> move;
    CHECK(waits_for([&] { move.emplace(transit).begin(); }, [&] { move->end(); }));
    std::optional<allot::detail::pages_in_transit::request> request;
    CHECK(waits_for([&] { request.emplace(transit); }, [&] { request.reset(); }));
    allot::detail::page_ledger ledger;
    std::optional<allot::detail::pending_charge<allot::detail::page_ledger>> charge;
    CHECK(waits_for([&] { charge.emplace(ledger); }, [&] { charge.reset(); }));

    // A charge that waits for bytes that are held.
    allot::account limited{allot::name{"limited"}, allot::limit{100}};
    std::thread charger;
    std::atomic<long> charges{0};
    CHECK(waits_for(
        [&] {
            static_cast<void>(limited.try_hold(60));
            charger = std::thread([&] { charges = support::this_thread(), static_cast<void>(limited.try_charge(60)); });
            while (charges == 0) std::this_thread::yield();
            support::until_asleep(charges);
        },
        [&] {
            limited.cancel(60);
            charger.join();
        }));
    limited.refund(60);

    // A right inside of another one.
    CHECK(waits_for(
        [&] {
            mutex.lock();
            own.enter();
            own.leave();
        },
        [&] { mutex.unlock(); }));
    // A thread that sleeps until there is memory has rights on which nobody else waits.
    allot::detail::sys::parking place;
    std::atomic<long> sleeps{0};
    std::thread sleeper([&] {
        const allot::detail::pages_in_transit::request waits(transit);
        sleeps = support::this_thread();
        place.wait_until(allot::detail::sys::parking::never);
    });
    while (sleeps == 0) std::this_thread::yield();
    support::until_asleep(sleeps);
    CHECK_FALSE(waits_for([] {}, [] {}, 9s));
    place.signal(1);
    sleeper.join();
}

TEST_CASE("a child of fork uses what it inherits, whatever other threads did", "[process][fork]") {
    if (ALLOT_TSAN || !ALLOT_FORK) SKIP("needs ALLOT_FORK, and no ThreadSanitizer");
    const std::uint64_t forks = support::from_environment("ALLOT_FORKS", 40);
    std::string failed;
    SECTION("from the first thread") { failed = forks_under_load(forks); }
    SECTION("from another thread") {
        std::thread([&] { failed = forks_under_load(forks / 4 + 1); }).join();
    }
    INFO(failed);
    CHECK(failed.empty());
}
