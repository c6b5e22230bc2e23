// A heap for one job: unique (one row type, stored once and not in each row) and packed (sizes rounded to 4 bytes),
// with a handle per thread. One call releases all its rows.
#include <allot/row_manager.hpp>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

using namespace allot::literals;

struct job_rows : allot::policies<> {};

struct sample {
    std::uint32_t thread, number;
    std::uint32_t value[15];
};

int main() {
    allot::row_manager<job_rows> rows{allot::limit{64_MiB}, allot::name{"job"}};
    static constexpr allot::row_type sample_type{.name = "sample", .align = 4};
    auto samples = rows.heap(allot::as<allot::heap::unique, allot::size::packed>, sizeof(sample), sample_type);

    constexpr std::uint32_t threads = 2, each = 50'000;
    std::vector<std::thread> team;
    for (std::uint32_t t = 0; t != threads; ++t) {
        team.emplace_back([&, t] {
            auto mine = samples.local(); // a handle for this thread only: the fastest way to allocate
            for (std::uint32_t n = 0; n != each; ++n) {
                auto* s = static_cast<sample*>(mine.allocate());
                s->thread = t;
                s->number = n;
                if (n % 2 == 1) mine.release(s);
            }
        });
    }
    for (std::thread& t : team) t.join();

    const std::size_t live = samples.live_rows();
    std::printf("%zu rows of %zu bytes, charged %zu\n", live, sizeof(sample), rows.used());
    rows.usage([](const allot::heap_usage& u) {
        std::printf("  %zu bytes per row, %.2f of them overhead\n", static_cast<std::size_t>(u.slot_bytes),
                    static_cast<double>(u.overhead_per_row));
    });

    samples.release_all(); // the pages go back to the arena at once
    rows.trim();           // and to the system: until then they stay charged
    std::printf("after release_all: %zu rows, charged %zu\n", samples.live_rows(), rows.used());
    return live == threads * each / 2 && samples.live_rows() == 0 ? 0 : 1;
}
