// Very many managers, each used by several threads: what a thread costs in a manager, and that it costs no more where
// there are more of them. The long one, 10,000 managers and 8 threads, is hidden: allot_threads_tests "[long]".
#include <support/catch.hpp>

#include <allot/row_manager.hpp>

#include <algorithm>
#include <barrier>
#include <ctime>
#include <fstream>
#include <malloc.h>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

using namespace allot::literals;

namespace {

struct tenant : allot::policies<allot::heap::per_thread, allot::page::of<allot::arena<>>, allot::oom::null> {};
struct hermit : allot::policies<allot::heap::per_thread, allot::oom::null> {};
// The same without a table a thread: what the machine takes for so many managers, whose memory no cache holds.
struct plain_tenant : allot::policies<allot::heap::shared, allot::page::of<allot::arena<>>, allot::oom::null> {};
struct plain_hermit : allot::policies<allot::heap::shared, allot::oom::null> {};

// Bytes of the process, as the system says: "VmRSS:" resident, "VmSize:" address space.
std::size_t bytes_now(const char* which) {
    std::ifstream status("/proc/self/status");
    const std::string name(which);
    for (std::string line; std::getline(status, line);)
        if (line.rfind(name, 0) == 0) return std::stoul(line.substr(name.size())) * 1024;
    return 0;
}

// Of this thread.
double cpu_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

struct stats {
    std::size_t managers = 0, threads = 0;
    std::size_t resident = 0, address = 0; // bytes that a thread more costs in a manager
    std::size_t of_manager = 0;            // bytes that a manager with one thread costs
    double ns = 0;                         // of a row allocated and released, manager after manager
    bool good = true;
};

template <class Set> stats measure(std::size_t managers, std::size_t threads, bool keep, std::size_t each = 1) {
    mallopt(M_ARENA_MAX, 1); // or each thread has a range of addresses for small blocks
    using rows_type = allot::row_manager<Set>;
    allot::arena<> pages{allot::page_bytes{64_KiB}};
    std::vector<std::unique_ptr<rows_type>> all(managers);
    stats f{.managers = managers, .threads = threads};
    std::vector<std::vector<void*>> held(threads, std::vector<void*>(managers));
    const std::size_t before = bytes_now("VmRSS:");
    for (auto& m : all)
        if constexpr (std::is_same_v<Set, tenant> || std::is_same_v<Set, plain_tenant>)
            m = std::make_unique<rows_type>(pages, allot::limit{1_MiB});
        else m = std::make_unique<rows_type>(allot::limit{1_MiB});

    std::size_t resident[2] = {}, address[2] = {};
    std::barrier step(static_cast<std::ptrdiff_t>(threads));
    std::vector<std::thread> team;
    for (std::size_t t = 0; t < threads; ++t)
        team.emplace_back([&, t] {
            const auto use = [&] {
                for (std::size_t i = 0; i < managers; ++i)
                    for (std::size_t n = 0; n < each; ++n) {
                        void* const row = all[i]->try_allocate(64);
                        if (row == nullptr) f.good = false;
                        else if (keep) held[t][i] = row;
                        else all[i]->release(row);
                    }
            };
            const auto look = [&](std::size_t i) {
                if (t != 0) return;
                resident[i] = bytes_now("VmRSS:");
                address[i] = bytes_now("VmSize:");
            };
            if (t == 0) use();
            look(0);
            step.arrive_and_wait();
            if (t != 0) use();
            step.arrive_and_wait();
            look(1);
            if (t == 0) {
                f.ns = 1e9;
                for (int round = 0; round < 10; ++round) { // the quickest: the machine has other work
                    const double start = cpu_ns();
                    for (auto& m : all) m->release(m->try_allocate(64));
                    f.ns = std::min(f.ns, (cpu_ns() - start) / static_cast<double>(managers));
                }
            }
            step.arrive_and_wait();
            for (std::size_t i = 0; i < managers; ++i) { // another thread's
                void* const row = held[(t + 1) % threads][i];
                if (row != nullptr) all[i]->release(row);
            }
        });
    for (auto& t : team) t.join();
    const std::size_t pairs = managers * (threads - 1);
    f.of_manager = (resident[0] - before) / managers;
    f.resident = (std::max(resident[1], resident[0]) - resident[0]) / pairs;
    f.address = (address[1] - address[0]) / pairs;
    for (auto& m : all) f.good = f.good && m->live_rows() == 0;
    return f;
}
template <class Set, class Plain> void check(std::size_t managers, std::size_t threads) {
    // A thread more fills one more of a heap's four shared caches at most, and for as long as it has a place, a cache
    // of its own: 32 slots of 80 bytes each. All threads may meet at one manager. The slots come in OS pages.
    constexpr std::size_t caches = 4, slots = 32 * 80, os_page = 4096;
    const auto a_thread_of = [&](std::size_t bytes) {
        return (bytes + os_page - 1) / os_page * os_page / (threads - 1);
    };
    const std::size_t filled = (std::min(threads, caches) - 1) * slots;
    const std::size_t shared = a_thread_of(filled), both = a_thread_of(filled + (threads - 1) * slots);
    struct use {
        bool keep;
        std::size_t each; // 50: more than a thread allocates before it has caches of its own
        std::size_t most; // bytes a thread and manager; the table has none for a manager without a place
    };
    for (const auto [keep, each, most] :
         {use{false, 1, shared + 256}, use{true, 1, shared + 256}, use{false, 50, both + 256}}) {
        const stats plain = measure<Plain>(managers, threads, keep, each);
        const stats f = measure<Set>(managers, threads, keep, each);
        INFO(managers << " managers, " << threads << " threads, " << each << " rows each, "
                      << (keep ? "kept" : "released") << ": " << f.resident << " bytes resident and " << f.address
                      << " of address space a thread and manager, " << f.of_manager << " a manager, " << f.ns
                      << " ns a row, " << plain.ns << " without a table");
        CHECK(f.good);
        if (ALLOT_ASAN || ALLOT_TSAN) continue;
        CHECK(f.resident <= most);
        CHECK(f.address <= 4096);
        double without = plain.ns, with = f.ns;
        for (int turn = 0; turn != 2; ++turn) { // in turn, the quickest of each
            without = std::min(without, measure<Plain>(managers, threads, keep, each).ns);
            with = std::min(with, measure<Set>(managers, threads, keep, each).ns);
        }
        CHECK(with < 6 * without);
    }
}

} // namespace

TEST_CASE("a thread more in each of a thousand managers costs little", "[threads]") {
    check<tenant, plain_tenant>(ALLOT_TSAN ? 300 : 1000, 4);
    check<hermit, plain_hermit>(ALLOT_TSAN ? 300 : 1000, 4);
}

TEST_CASE("a thread more in each of ten thousand managers costs little", "[.][long]") {
    constexpr std::size_t managers = ALLOT_ASAN || ALLOT_TSAN ? 1000 : 10000; // sizes and times are not held there
    check<tenant, plain_tenant>(managers, 8);
    check<hermit, plain_hermit>(managers, 8);
}
