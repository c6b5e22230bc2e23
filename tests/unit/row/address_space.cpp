// Address space of managers: ten thousand in one process fit its address space and its mappings (vm.max_map_count), and
// one whose address space is full says so.
#include <support/catch.hpp>
#include <support/this_system.hpp>

#include <allot/chunk_arena.hpp>
#include <allot/row_manager.hpp>

#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

using namespace allot::literals;

namespace {

struct rows_set : allot::policies<allot::oom::null> {};
struct blocks_set : allot::policies<allot::oom::null> {};
struct raises : allot::policies<> {};
using rows_type = allot::row_manager<rows_set>;
using blocks_type = allot::chunk_arena<blocks_set>;

// A sanitizer takes long for each, and has less address space.
constexpr std::size_t managers = ALLOT_ASAN || ALLOT_TSAN ? 100 : 10'000;

std::size_t mappings() {
    std::ifstream maps("/proc/self/maps");
    std::size_t n = 0;
    for (std::string line; std::getline(maps, line);) ++n;
    return n;
}
std::size_t address_space() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind("VmSize:", 0) == 0) return std::stoul(line.substr(7)) * 1024;
    return 0;
}

template <class Manager> void use(std::size_t n, allot::limit most) {
    if (!ALLOT_ASAN && !ALLOT_TSAN && !support::reserved_space_is_free())
        SKIP("10 TiB of address space take memory on this system");
    const std::size_t before = mappings();
    std::vector<std::unique_ptr<Manager>> all;
    std::vector<void*> held;
    bool good = true;
    for (std::size_t i = 0; i < n; ++i) {
        if (i % 2 == 0) all.push_back(std::make_unique<Manager>());
        else all.push_back(std::make_unique<Manager>(most));
        void* p = nullptr;
        if constexpr (requires { all[0]->release(p); }) p = all.back()->try_allocate(100);
        else p = all.back()->try_allocate(100).address;
        if (p != nullptr) std::memset(p, 1, 100);
        good = good && p != nullptr;
        held.push_back(p);
    }
    CHECK(good);
    if (!ALLOT_ASAN && !ALLOT_TSAN) {
        const std::size_t of_all = mappings() - before, bytes = address_space();
        INFO(of_all << " mappings and " << bytes << " bytes of address space for " << n << " managers");
        CHECK(of_all <= (std::is_same_v<Manager, rows_type> ? 2 * n + 100 : 4 * n + 100));
        CHECK(bytes < 100_TiB);
        CHECK(all.back()->arena().stats().reserved >= 1_GiB);
    }
    for (std::size_t i = 0; i < n; ++i)
        if constexpr (requires { all[0]->release(held[i]); }) all[i]->release(held[i]);
        else all[i]->deallocate(held[i]);
}

} // namespace

TEST_CASE("ten thousand row managers, with a limit and without, each with a row", "[row_manager][address_space]") {
    use<rows_type>(managers, allot::limit{1_GiB});
}

TEST_CASE("ten thousand chunk arenas, with a limit and without, each with a block", "[chunk_arena][address_space]") {
    use<blocks_type>(managers, allot::limit{1_GiB});
}

#if ALLOT_EXCEPTIONS
TEST_CASE("a manager without a limit says that its address space is full, and how to get more",
          "[row_manager][address_space]") {
    const auto page_of = [](auto& manager, auto allocate, auto release) {
        std::vector<void*> held;
        std::string page;
        try {
            for (;;) held.push_back(allocate(manager));
        } catch (const allot::out_of_memory& e) {
            page = e.report();
        }
        for (void* p : held) release(manager, p);
        return page;
    };
    allot::row_manager<raises> rows{allot::page_bytes{64_KiB}, allot::reserve_bytes{2_MiB}};
    allot::chunk_arena<raises> blocks{allot::page_bytes{64_KiB}, allot::reserve_bytes{2_MiB}};
    const std::string of_rows =
        page_of(rows, [](auto& m) { return m.allocate(5000); }, [](auto& m, void* p) { m.release(p); });
    const std::string of_blocks =
        page_of(blocks, [](auto& m) { return m.allocate(5000).address; }, [](auto& m, void* p) { m.deallocate(p); });
    for (const std::string& page : {of_rows, of_blocks}) {
        CHECK_THAT(page, ContainsSubstring("limit none"));
        CHECK_THAT(page, ContainsSubstring("; pass a larger reserve_bytes"));
    }
}
#endif
