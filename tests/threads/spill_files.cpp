// Many threads write, read, slice, drop and show objects in the same files, with fewer staging buffers than threads.
#include <support/catch.hpp>
#include <support/pieces.hpp>

#include <allot/core/units.hpp>
#include <allot/spill/store/spill_files.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <random>
#include <span>
#include <thread>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::home_status;
using allot::kept_bytes;
using allot::name;
using allot::spill_files;

namespace {

// `all` threads; each has a few objects of its own, and reads one that they share.
void storm(const allot::spill_file_options& options, std::size_t steps) {
    constexpr unsigned all = 6;
    account disk{name{"disk"}, allot::limit{6_MiB}};
    std::atomic<unsigned> refused{0}, wrong{0};
    std::vector<allot::extent_file> left;
    {
        spill_files files{disk, {"/tmp", "/var/tmp"}, options};
        const auto common = some_bytes(150'000, 99, true);
        kept_bytes shared{files, common.size()};
        REQUIRE(keep(shared, common));
        std::vector<std::thread> threads;
        for (unsigned t = 0; t != all; ++t)
            threads.emplace_back([&, t] {
                std::mt19937 random(t + 1);
                std::vector<kept_bytes> mine(4);
                std::vector<std::vector<std::byte>> data(4);
                std::vector<allot::extent_file> extents;
                for (std::size_t step = 0; step != steps; ++step) {
                    const std::size_t i = random() % 4;
                    kept_bytes& k = mine[i];
                    if (!k.is_written()) {
                        data[i] = some_bytes(random() % 400'000, static_cast<unsigned>(random()), random() % 2 != 0);
                        if (!k || !k.has_room(data[i].size())) k = kept_bytes{files, data[i].size()};
                        source_in_pieces pieces(data[i]);
                        const home_status s = random() % 2 != 0 ? k.write(pieces) : keep(k, data[i]);
                        if (s.how == home_status::outcome::refused) ++refused;
                        else if (!s) ++wrong;
                    } else if (random() % 3 != 0) {
                        if (read_back(k) != data[i]) ++wrong;
                    } else if (random() % 2 != 0) {
                        extents = files.extents_of(k); // what was kept stays until the next ones
                        k.drop();
                    } else {
                        k = {};
                    }
                    const std::size_t from = random() % common.size(), n = random() % (common.size() - from);
                    const auto at = common.begin() + static_cast<std::ptrdiff_t>(from);
                    if (read_back(shared, from, n) != std::vector<std::byte>(at, at + static_cast<std::ptrdiff_t>(n)))
                        ++wrong;
                    for (const auto& e : extents) {
                        std::vector<std::byte> to(e.length());
                        if (!e.read(to)) ++wrong;
                    }
                }
            });
        for (auto& t : threads) t.join();
        CHECK(files.valid());
        CHECK(files.stats().failures == 0);
        CHECK(files.stats().damaged == 0);
        left = files.extents_of(shared);
    }
    CHECK(wrong == 0);
    std::thread{[&] { left.clear(); }}.join();
    CHECK(disk.used() == 0);
}

// Its bytes come when another thread says so.
class late_source final : public allot::byte_source {
  public:
    late_source(std::size_t n, std::atomic<int>& step) noexcept : byte_source(n), step_(step) {}
    bool next(std::span<std::byte> to) noexcept override {
        step_ = 1;
        step_.notify_all();
        step_.wait(1);
        std::memset(to.data(), 7, to.size());
        return true;
    }

  private:
    std::atomic<int>& step_;
};

} // namespace

TEST_CASE("a thread waits for a staging buffer until another thread puts it back", "[spill][threads]") {
    account disk{name{"disk"}};
    spill_files files{disk, "/tmp", allot::spill_file_options{.staging_buffers = 1}};
    const auto data = some_bytes(1000);
    kept_bytes a{files, data.size()}, b{files, data.size()};
    std::atomic<int> step{0};
    std::atomic<bool> is_done{false};
    std::thread first{[&] {
        late_source from(data.size(), step);
        CHECK_ON_THREAD(a.write(from));
    }};
    step.wait(0); // it has the buffer
    std::thread second{[&] {
        source_in_pieces from(data);
        CHECK_ON_THREAD(b.write(from));
        is_done = true;
    }};
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    CHECK_FALSE(is_done);
    step = 2;
    step.notify_all();
    first.join();
    second.join();
    CHECK(read_back(a) == std::vector<std::byte>(data.size(), std::byte{7}));
    CHECK(read_back(b) == data);
}

TEST_CASE("spill files under many threads", "[spill][threads]") {
    storm({.extent_bytes = 64_KiB, .staging_buffers = 2}, 60);
    storm({.extent_bytes = 16_KiB, .staging_buffers = 1}, 60);
#if ALLOT_URING
    storm({.extent_bytes = 64_KiB, .staging_buffers = 4, .uring = true}, 60);
#endif
#if ALLOT_LZ4
    storm({.extent_bytes = 64_KiB, .staging_buffers = 2, .compress = allot::spill_compression::lz4}, 60);
#endif
}
