// Handles that only release take the bins that others make for them.
#include <support/catch.hpp>

#include <allot/row_manager.hpp>

#include <array>
#include <cstddef>
#include <thread>
#include <vector>

using namespace allot::literals;

namespace {

struct counted : allot::policies<> {};
struct uncounted : allot::policies<allot::count::none, allot::heap::shared> {};

constexpr std::array<std::size_t, 4> sizes{16, 64, 200, 600};
constexpr int turns = 60, users = 3;
constexpr std::size_t rows_per_turn = 400;

} // namespace

TEMPLATE_TEST_CASE("handles that only release share spare bins with those that allocate", "[rows][threads]", counted,
                   uncounted) {
    allot::row_manager<TestType> rows{allot::limit{64_MiB}};
    for (int turn = 0; turn < turns; ++turn) {
        std::vector<std::vector<void*>> given(users);
        {
            auto mine = rows.local();
            for (auto& each : given)
                for (std::size_t i = 0; i < rows_per_turn; ++i) each.push_back(mine.allocate(sizes[i % sizes.size()]));
        }
        std::vector<std::thread> all;
        for (auto& each : given)
            all.emplace_back([&rows, &each] {
                auto allocates = rows.local(); // and makes the spare bins, when it fills its own
                for (std::size_t i = 0; i != each.size();) {
                    auto only_releases = rows.local();
                    for (const std::size_t end = i + 40; i != end; ++i) {
                        only_releases.release(each[i]);
                        allocates.release(allocates.allocate(sizes[i % sizes.size()]));
                        if (i % 4 == 3) allocates.flush();
                    }
                }
            });
        for (auto& each : all) each.join();
    }
    CHECK(rows.live_rows() == 0);
    CHECK(rows.valid());
}
