// Law 1: a limit bounds the memory of the process. Each case runs in a child: it uses memory below one root account, or
// below the limit of one object, and the most that was ever resident (VmHWM), less what was so at the start, stays
// below the limit and 16 MiB. Rows and blocks are written whole, and keep the test's own lists.
#include <support/catch.hpp>

#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/row_manager.hpp>
#include <allot/spill/store/spill_files.hpp>
#include <allot/spill/stored_buffer.hpp>
#include <allot/use/drill.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;

#if !ALLOT_ASAN && !ALLOT_TSAN // whose memory counts, too
namespace {

struct in_tree : allot::policies<allot::ledger::tree, allot::oom::null> {};
struct in_tree_runs : allot::policies<allot::ledger::tree, allot::oom::null, allot::fit::runs> {};
struct in_tree_huge
    : allot::policies<allot::ledger::tree, allot::oom::null, allot::page::huge_pages<>, allot::retain::on_pressure> {};
struct kept : allot::policies<allot::ledger::tree, allot::oom::null, allot::retain::never> {};
struct of_arena : allot::policies<allot::ledger::tree, allot::oom::null, allot::page::of<allot::arena<>>> {};
struct of_arena_runs : allot::policies<allot::page::of<allot::arena<>>, allot::fit::runs, allot::oom::null> {};
struct counted : allot::policies<allot::oom::null> {};

// Allocates nothing.
std::size_t most_resident() {
    char text[4096];
    std::FILE* const file = std::fopen("/proc/self/status", "r");
    const std::size_t n = std::fread(text, 1, sizeof(text) - 1, file);
    std::fclose(file);
    text[n] = 0;
    const char* const at = std::strstr(text, "VmHWM:");
    return at == nullptr ? 0 : std::strtoul(at + 6, nullptr, 10) * 1024;
}
// By how much the memory of a child grows at most.
template <class Body> std::size_t growth(Body body) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const std::size_t start = most_resident();
        body();
        const std::size_t grown = most_resident() - start;
        ::_exit(::write(ends[1], &grown, sizeof grown) == sizeof grown ? 0 : 1);
    }
    ::close(ends[1]);
    std::size_t grown = 0;
    const bool got = ::read(ends[0], &grown, sizeof grown) == sizeof grown;
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    return got && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? grown : SIZE_MAX;
}

std::size_t mappings_in(const allot::page_arena& pages) {
    std::FILE* const maps = std::fopen("/proc/self/maps", "r");
    std::size_t n = 0;
    char line[512];
    while (std::fgets(line, sizeof line, maps) != nullptr)
        n += pages.contains(reinterpret_cast<void*>(std::strtoul(line, nullptr, 16)));
    std::fclose(maps);
    return n;
}

// One face of both.
template <class Set> void* take(allot::row_manager<Set>& from, std::size_t bytes) { return from.try_allocate(bytes); }
template <class Set> void* take(allot::chunk_arena<Set>& from, std::size_t bytes) {
    return from.try_allocate(bytes).address;
}
template <class Set> void give(allot::row_manager<Set>& to, void* p) { to.release(p); }
template <class Set> void give(allot::chunk_arena<Set>& to, void* p) { to.deallocate(p); }

// What one user has of an object: a list through its first bytes.
template <class Object> struct user {
    Object& from;
    void* last = nullptr;
    std::size_t bytes = 0; // written so far

    bool add(std::size_t n) {
        void* const p = take(from, n);
        if (p == nullptr) return false;
        std::memset(p, 1, n);
        std::memcpy(p, &last, sizeof last);
        last = p;
        bytes += n;
        return true;
    }
    bool drop() {
        if (last == nullptr) return false;
        void* const p = last;
        std::memcpy(&last, p, sizeof last);
        give(from, p);
        return true;
    }
};
// Objects fill the limit and empty, in turn.
template <class Object> void in_turn(std::size_t most, std::size_t each) {
    account engine{name{"engine"}, limit{most}};
    Object a{engine}, b{engine}, c{engine}, d{engine};
    for (Object* const it : {&a, &b, &c, &d}) {
        user<Object> u{*it};
        while (u.add(each)) continue;
        if (u.bytes < most / 2) std::_Exit(3); // what is idle elsewhere is to be had
        while (u.drop()) continue;
    }
}
// A user takes and drops memory of 64 bytes to `largest`, mostly little, until it has written so much, or was refused
// so often.
template <class Object>
void mixed(Object& from, unsigned seed, std::size_t all, std::size_t largest, unsigned refusals = 1000) {
    std::mt19937 random{seed};
    user<Object> u{from};
    for (unsigned refused = 0; u.bytes < all && refused != refusals;) {
        const std::size_t n = 64 + random() % (std::size_t{64} << random() % allot::detail::log2_floor(largest / 64));
        if (random() % 16 != 0 && u.add(n)) continue;
        refused += u.last == nullptr;
        for (unsigned k = random() % 64; k != 0 && u.drop(); --k) continue;
    }
    while (u.drop()) continue;
}
template <class Object> void of_four(std::size_t most) {
    account engine{name{"engine"}, limit{most}};
    Object a{engine}, b{engine}, c{engine}, d{engine};
    unsigned seed = 0;
    for (int round = 0; round != 3; ++round)
        for (Object* const it : {&a, &b, &c, &d}) mixed(*it, ++seed, most / 2, most / 32);
}
// Their own memory is in the limit: some are refused theirs.
template <class Object> void of_a_thousand(std::size_t most, unsigned threads) {
    account engine{name{"engine"}, limit{most}};
    std::vector<std::unique_ptr<Object>> all;
    for (int i = 0; i != 1000; ++i) all.push_back(std::make_unique<Object>(engine));
    const auto use = [&](unsigned t) {
        for (std::size_t i = 0; i != all.size() / threads * 5 / 4; ++i) // a quarter beside the next thread
            mixed(*all[(i + t * all.size() / threads) % all.size()], t, most / 500, 64_KiB, 3);
    };
    std::vector<std::thread> running;
    for (unsigned t = 1; t < threads; ++t) running.emplace_back(use, t);
    use(0);
    for (auto& t : running) t.join();
    all.clear();
    if (engine.used() != 0) std::_Exit(3);
}
template <class Object> void of_threads(std::size_t most) {
    account engine{name{"engine"}, limit{most}};
    Object a{engine}, b{engine}, c{engine}, d{engine};
    Object* const objects[] = {&a, &b, &c, &d};
    std::vector<std::thread> all;
    for (unsigned t = 0; t != 64; ++t)
        all.emplace_back([&, t] {
            for (unsigned round = 0; round != 4; ++round) mixed(*objects[(t + round) % 4], t, most / 64, most / 64);
        });
    for (auto& t : all) t.join();
}
// The limit of one object, without accounts.
template <class Object> void alone(std::size_t most) {
    Object a{limit{most}};
    for (unsigned round = 0; round != 4; ++round) {
        user<Object> rows{a};
        while (rows.add(round % 2 == 0 ? most / 100 : 1000)) continue;
        while (rows.drop()) continue;
        mixed(a, round, most, most / 16);
    }
}

template <class Object> void holds_for(std::size_t most, unsigned threads = 16) {
    const auto holds = [most](const char* what, auto body) {
        const std::size_t grown = growth(body);
        INFO(what << " below " << (most >> 20) << " MiB: " << (grown >> 20) << " MiB");
        CHECK(grown <= most + 16_MiB);
    };
    holds("large in turn", [most] { in_turn<Object>(most, most / 200); });
    holds("small in turn", [most] { in_turn<Object>(most, 1000); });
    holds("mixed sizes", [most] { of_four<Object>(most); });
    holds("64 threads", [most] { of_threads<Object>(most); });
    holds("a thousand", [most] { of_a_thousand<Object>(most, 1); });
    holds("a thousand, threads", [=] { of_a_thousand<Object>(most, threads); });
}
} // namespace

TEST_CASE("a limit bounds the resident memory of rows", "[process][resident]") {
    holds_for<allot::row_manager<in_tree>>(64_MiB);
    CHECK(growth([] { alone<allot::row_manager<counted>>(64_MiB); }) <= 64_MiB + 16_MiB);
}

TEST_CASE("a limit bounds the resident memory of blocks", "[process][resident]") {
    holds_for<allot::chunk_arena<in_tree_runs>>(64_MiB);
    CHECK(growth([] { alone<allot::chunk_arena<counted>>(64_MiB); }) <= 64_MiB + 16_MiB);
}

TEST_CASE("the system fills no huge OS page that is not charged", "[process][resident]") {
    constexpr std::size_t most =
        242_MiB; // for each of ten: 8 huge OS pages beyond the first 16 MiB, and a page of the next
    const std::size_t grown = growth([] {
        account engine{name{"engine"}, limit{most}};
        std::vector<std::unique_ptr<allot::row_manager<in_tree>>> all;
        for (int i = 0; i != 10; ++i) all.push_back(std::make_unique<allot::row_manager<in_tree>>(engine));
        std::vector<user<allot::row_manager<in_tree>>> users;
        for (auto& rows : all) users.push_back({*rows});
        for (bool more = true; more;) { // all grow alike
            more = false;
            for (auto& u : users)
                for (int k = 0; k != 64; ++k) more = u.add(1000) || more;
        }
        for (auto& u : users)
            while (u.drop()) continue;
    });
    CHECK(grown <= most + 16_MiB);
}

TEST_CASE("free pages that are kept count in the limit", "[process][resident]") {
    const std::size_t grown = growth([] {
        account engine{name{"engine"}, limit{64_MiB}};
        allot::row_manager<kept> a{engine}, b{engine};
        for (auto* const it : {&a, &b}) {
            user<allot::row_manager<kept>> u{*it};
            while (u.bytes < 40_MiB && u.add(1_MiB)) continue;
            while (u.drop()) continue;
            while (u.add(1000)) continue;
            while (u.drop()) continue;
        }
    });
    CHECK(grown <= 64_MiB + 16_MiB);
}

// Rows and buffers of 64 threads, which take from each other, at the limit.
template <class Rows, class Pool> void rows_and_buffers(account& engine, Rows& rows, Pool& pool, std::size_t most) {
    const allot::buffer_memory memory{pool};
    std::vector<std::thread> all;
    for (unsigned t = 0; t != 64; ++t)
        all.emplace_back([&, t] {
            std::mt19937 random{t};
            account mine{engine, name{"mine"}, allot::credit_step{}};
            for (unsigned round = 0; round != 3; ++round) {
                std::vector<allot::buffer> buffers;
                for (std::size_t bytes = 0, n = 0; bytes < most / 64; bytes += n) {
                    n = 64 + random() % (std::size_t{64} << random() % 14);
                    allot::buffer b = memory.try_allocate(mine, n);
                    if (b) std::memset(b.data(), 1, n), buffers.push_back(std::move(b));
                    if (!b && !buffers.empty()) buffers.pop_back();
                }
                buffers.clear();
                mixed(rows, t + round, most / 64, 2000);
            }
        });
    for (auto& t : all) t.join();
    if (engine.stats().beyond != 0 || !engine.verify()) std::_Exit(3);
}

TEST_CASE("a limit bounds the resident memory of a pool of buffers, and of rows beside it", "[process][resident]") {
    CHECK(growth([] {
              account engine{name{"engine"}, limit{64_MiB}};
              allot::chunk_arena<allot::use::drill> pool{engine, allot::chunk_bytes{2_MiB}};
              allot::row_manager<in_tree> rows{engine};
              rows_and_buffers(engine, rows, pool, 64_MiB);
          }) <= 64_MiB + 16_MiB);
    CHECK(growth([] { // an arena that both share: its limit counts free pages
              account engine{name{"engine"}, limit{64_MiB}};
              allot::arena<> pages{limit{64_MiB}};
              allot::chunk_arena<of_arena_runs> pool{pages, limit{64_MiB}};
              allot::row_manager<of_arena> rows{pages, engine};
              rows_and_buffers(engine, rows, pool, 64_MiB);
          }) <= 64_MiB + 16_MiB);
}

TEST_CASE("a limit bounds resident memory while sixteen times as much passes through a store", "[process][resident]") {
    CHECK(growth([] {
              account engine{name{"engine"}, limit{32_MiB}}, disk{name{"disk"}};
              allot::chunk_arena<allot::with<allot::use::drill, allot::fit::runs>> pool{engine,
                                                                                        allot::chunk_bytes{1_MiB}};
              allot::buffer_memory memory{pool};
              allot::spill_files files{disk, "/tmp"};
              allot::store store{engine, files};
              std::vector<allot::stored<allot::buffer>> all;
              for (int i = 0; i != 512; ++i) {
                  allot::buffer b = memory.allocate(engine, 1_MiB);
                  std::memset(b.data(), i, b.size());
                  all.push_back(store.put(std::move(b)));
              }
              for (int i = 0; i != 512; ++i)
                  if (all[static_cast<std::size_t>(i)].pin()->get<unsigned char>(1_MiB - 1) != i % 256) std::_Exit(3);
          }) <= 32_MiB + 16_MiB);
}

TEST_CASE("a limit bounds resident memory, and idle memory serves others, where the process locks its memory",
          "[process][resident]") {
    CHECK(growth([] {
              if (::mlockall(MCL_FUTURE) != 0) return; // it may not
              constexpr int dont_need_locked = 24;     // Linux 5.18
              alignas(65536) static std::byte some[64_KiB];
              if (::madvise(some, sizeof some, dont_need_locked) != 0) return;
              in_turn<allot::row_manager<in_tree>>(64_MiB, 1000);
              in_turn<allot::chunk_arena<in_tree_runs>>(64_MiB, 300'000);
          }) <= 64_MiB + 16_MiB);
}

// Whoever has memory goes on: what needs a mapping more is done without it, and a new object says what it lacks.
TEST_CASE("a limit bounds resident memory where the process has no mapping left", "[process][resident]") {
    constexpr std::size_t most = 128_MiB;
    CHECK(growth([] {
              account engine{name{"engine"}, limit{most}};
              allot::chunk_arena<in_tree_runs> blocks{engine};
              allot::row_manager<in_tree> rows{engine};
              const auto use = [&] {
                  for (unsigned round = 0; round != 3; ++round)
                      mixed(blocks, round, most, 32_MiB), mixed(rows, round, most, 4000);
                  user<allot::chunk_arena<in_tree_runs>> all{blocks};
                  while (all.add(1_MiB)) continue;
                  if (all.bytes < most / 8 * 7) std::_Exit(3);
                  while (all.drop()) continue;
              };
              use();
              if (mappings_in(blocks.arena()) > 15) std::_Exit(8); // docs/rules.md
              blocks.trim();
              user<allot::chunk_arena<in_tree_runs>> had{blocks};
              for (int i = 0; i != 5; ++i) had.add(9_MiB); // the system may make huge OS pages of them
              const std::size_t os_page = allot::detail::sys::os_page_bytes(),
                                space = os_page << 22; // two million mappings
              auto* const none = static_cast<std::byte*>(
                  ::mmap(nullptr, space, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
              std::size_t at = 0; // every second page is a mapping of its own
              while (at < space && ::mprotect(none + at, os_page, PROT_READ) == 0) at += 2 * os_page;
              if (none == MAP_FAILED) std::_Exit(4);
              if (at >= space) return; // the system is set to more
              std::string refused;
              try {
                  allot::row_manager<in_tree> another{engine};
              } catch (const allot::out_of_memory& e) {
                  refused = e.what();
              }
              if (refused.find("vm.max_map_count") == std::string::npos) std::_Exit(5);
              had.drop();
              had.add(4_MiB); // a part of the second of those pages is idle
              const auto keeps = [&](std::size_t bytes) {
                  blocks.trim(), rows.trim();
                  return engine.used() < bytes + 1_MiB;
              };
              if (!keeps(40_MiB)) std::_Exit(6);
              while (had.drop()) continue;
              use();
              ::munmap(none, space);
              use();
              if (!keeps(0)) std::_Exit(7);
          }) <= most + 16_MiB);
}

TEST_CASE("a limit bounds resident memory: larger limits, huge OS pages", "[.][long]") {
    for (const std::size_t most : {64_MiB, 256_MiB, 1024_MiB}) {
        holds_for<allot::row_manager<in_tree>>(most, 64);
        holds_for<allot::row_manager<in_tree_huge>>(most, 64);
        holds_for<allot::chunk_arena<in_tree>>(most, 64);
        holds_for<allot::chunk_arena<in_tree_runs>>(most, 64);
    }
}
#endif
