// Threads put objects into a store over files, pin, change, halve and take them, in a fraction of the memory that they
// need: each reads what it wrote, and nothing is left.
#include <support/catch.hpp>
#include <support/tasks.hpp>

#include <soak/random.hpp>

#include <allot/oom/retry.hpp>
#include <allot/spill/store/spill_files.hpp>
#include <allot/spill/stored_buffer.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;
using handle = allot::stored<allot::buffer>;
namespace oom = allot::oom;

namespace {

struct shared_engine {
    support::rescue ends{"threads and a store", std::chrono::minutes(5)};
    oom::arbiter tasks;
    account engine{name{"engine"}, limit{1_MiB}, tasks}, disk{name{"disk"}};
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    allot::spill_files files{disk, "/tmp"};
    allot::store inputs{engine, files};
    std::array<handle, 8> all; // that each thread reads
    std::atomic<std::size_t> wrong{0};

    handle put(account& by, std::size_t words, std::uint64_t first) {
        allot::buffer b = memory.allocate(by, words * 8);
        for (std::size_t i = 0; i != words; ++i) b.set(i * 8, first + i);
        return inputs.put(std::move(b));
    }
    void check(const allot::buffer& b, std::uint64_t first) {
        for (std::size_t i = 0; i != b.size() / 8; ++i) wrong += b.get<std::uint64_t>(i * 8) != first + i;
    }
};

// What one thread has: objects, and the first word of each.
void run(shared_engine& of, unsigned seed) {
    soak::dice dice(seed);
    account mine{of.engine, name{"mine"}};
    oom::task task{of.tasks, "task", 0, &mine};
    const oom::task_thread here{task};
    std::vector<std::pair<handle, std::uint64_t>> objects;
    const auto retry = [](auto body) { oom::with_retry_no_split(body); };
    for (int i = 0; i != 150; ++i) {
        const std::size_t n = objects.empty() ? 0 : dice.below(objects.size());
        switch (objects.size() < 4 ? 0 : dice.below(7)) {
        case 0:
            if (objects.size() < 12)
                retry([&] {
                    objects.emplace_back(of.put(mine, dice.between(1, 16384), seed * 1000 + i), seed * 1000 + i);
                });
            break;
        case 1: retry([&] { of.check(*objects[n].first.pin(), objects[n].second); }); break;
        case 2: {
            const std::size_t which = dice.below(of.all.size());
            retry([&] { of.check(*of.all[which].pin(), which); });
            break;
        }
        case 3: {
            const std::uint64_t to = dice.next();
            retry([&] {
                const auto data = objects[n].first.pin_to_change();
                for (std::size_t w = 0; w != data->size() / 8; ++w) data->set(w * 8, to + w);
                objects[n].second = to;
            });
            break;
        }
        case 4: static_cast<void>(objects[n].first.spill()); break;
        case 5:
            retry([&] {
                std::vector<handle> parts = objects[n].first.halves(8);
                if (parts.empty()) return;
                const std::uint64_t first = objects[n].second, second = first + parts[0].bytes() / 8;
                objects[n] = {std::move(parts[0]), first};
                objects.emplace_back(std::move(parts[1]), second);
            });
            break;
        case 6:
            retry([&] { of.check(std::move(objects[n].first).take(mine), objects[n].second); });
            objects.erase(objects.begin() + static_cast<std::ptrdiff_t>(n));
            break;
        }
    }
    for (auto& o : objects) retry([&] { of.check(*o.first.pin(), o.second); });
}

} // namespace

TEST_CASE("threads and a store over files in too little memory", "[spill][threads]") {
    shared_engine of;
    for (std::size_t i = 0; i != of.all.size(); ++i) of.all[i] = of.put(of.engine, 8192, i);
    {
        std::vector<std::jthread> threads;
        for (unsigned t = 0; t != 8; ++t) threads.emplace_back([&of, t] { run(of, t + 1); });
    }
    CHECK(of.wrong == 0);
    CHECK(of.engine.peak() <= 1_MiB);
    const allot::store_stats s = of.inputs.stats();
    CHECK((s.left != 0 && s.read != 0 && s.failures == 0));
    CHECK(s.entries == of.all.size());
    for (handle& h : of.all) h = {};
    CHECK((of.engine.used() == 0 && of.disk.used() == 0 && of.files.valid()));
}
