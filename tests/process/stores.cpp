// Objects that leave for files where a request is refused: nothing is allocated for that, each byte is written once,
// and one call writes many of them.
#include <support/catch.hpp>

#include <process/counted_new.hpp>

#include <allot/spill/store/spill_files.hpp>
#include <allot/spill/stored_buffer.hpp>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;
using handle = allot::stored<allot::buffer>;

namespace {

// Of the process: what mmap and brk would change.
struct memory_of_process {
    const std::size_t mappings = [] {
        std::ifstream maps("/proc/self/maps");
        std::size_t n = 0;
        for (char c; maps.get(c);) n += c == '\n';
        return n;
    }();
    void* const top = ::sbrk(0); // behind what that took
    bool operator==(const memory_of_process&) const = default;
};

} // namespace

TEST_CASE("to let objects leave for files allocates nothing; what has not changed is not written again",
          "[spill][process]") {
    account engine{name{"engine"}, limit{64_MiB}}, disk{name{"disk"}};
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    allot::spill_files files{disk, "/tmp"};
    allot::store inputs{engine, files};
    std::vector<handle> all;
    std::size_t bytes = 0;
    for (const std::size_t each : {1_KiB, 4_KiB, 100_KiB, 1_MiB, 3_MiB + 5_KiB})
        for (int i = 0; i != 8; ++i) {
            allot::buffer b = memory.allocate(engine, each);
            std::memset(b.data(), i + 1, each);
            bytes += each;
            all.push_back(inputs.put(std::move(b)));
        }
    // The heap's freed blocks stay mapped meanwhile, so that mappings tell of new ones alone.
    const handle warm = inputs.put(memory.allocate(engine, 4_KiB));
    REQUIRE(warm.spill());
    REQUIRE(warm.pin());
    const memory_of_process before;
    const std::size_t news_before = news;
    const bool charged = engine.try_charge(64_MiB).charged();
    const std::size_t news_since = news - news_before;
    const memory_of_process behind;
    REQUIRE(charged);
    engine.refund(64_MiB);
    CHECK(news_since == 0);
    CHECK(behind.top == before.top);
    CHECK(behind.mappings <= before.mappings);

    allot::store_stats s = inputs.stats();
    CHECK(s.bytes_written == bytes + 4_KiB);
    CHECK(s.written == all.size() + 1);
    const allot::spill_file_stats f = files.stats();
    CHECK(f.bytes_written == s.bytes_written);
    CHECK(f.write_calls < 30); // a call for each that is large, and for many small ones
    for (int round = 0; round != 2; ++round) {
        int with = 0;
        for (const handle& h : all) CHECK(h.pin()->data()[h.bytes() - 1] == std::byte(with++ % 8 + 1));
        REQUIRE(engine.try_charge(64_MiB));
        engine.refund(64_MiB);
    }
    const allot::store_stats now = inputs.stats();
    CHECK((now.bytes_written == s.bytes_written && now.left >= 3 * all.size()));
    CHECK(files.stats().write_calls == f.write_calls);
    std::printf("%zu MiB left: %.2f writes a MiB\n", bytes >> 20,
                static_cast<double>(f.write_calls) / (static_cast<double>(bytes) / (1 << 20)));
}
