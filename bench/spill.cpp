// allot_spill: objects leave for files, and come back. One line of JSON; bench/spill.py runs it beside fio.
//
//     allot_spill DIRECTORY OBJECT_BYTES MEBIBYTES
#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/ledger/pool.hpp>
#include <allot/spill/store/spill_files.hpp>
#include <allot/spill/stored_buffer.hpp>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace {

struct blocks : allot::policies<allot::ledger::pool, allot::fit::runs> {};

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

} // namespace

int main(int argc, char** argv) {
    if (argc != 4) return std::fprintf(stderr, "allot_spill DIRECTORY OBJECT_BYTES MEBIBYTES\n"), 2;
    const std::size_t each = std::strtoull(argv[2], nullptr, 10), all = std::strtoull(argv[3], nullptr, 10) << 20;
    if (each == 0 || all < each) return std::fprintf(stderr, "allot_spill: fewer bytes than an object has\n"), 2;

    allot::account engine{allot::name{"engine"}}, disk{allot::name{"disk"}};
    allot::chunk_arena<blocks> pool{engine};
    allot::buffer_memory memory{pool};
    allot::spill_files files{disk, argv[1]};
    allot::store store{engine, files};
    std::vector<allot::stored<allot::buffer>> objects(all / each);
    for (auto& o : objects) {
        allot::buffer b = memory.allocate(engine, each);
        std::memset(b.data(), 1, each);
        o = store.put(std::move(b));
    }
    const double mebibytes = static_cast<double>(objects.size() * each) / (1 << 20), start = seconds();
    store.spill(SIZE_MAX);
    const double written = seconds();
    for (const auto& o : objects) static_cast<void>(o.pin());
    const double read = seconds();
    store.spill(SIZE_MAX); // clean
    const double left = seconds();
    const allot::store_stats s = store.stats();
    if (s.failures != 0 || s.written != objects.size() || s.left != 2 * objects.size()) return 1;
    std::printf("{\"write\": %.1f, \"read\": %.1f, \"clean\": %.1f, \"write_calls\": %.3f, \"read_calls\": %.3f}\n",
                mebibytes / (written - start), mebibytes / (read - written), mebibytes / (left - read),
                static_cast<double>(files.stats().write_calls) / mebibytes,
                static_cast<double>(files.stats().read_calls) / mebibytes);
}
