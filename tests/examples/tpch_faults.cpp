// The queries of the tpch example, four at a time in too little memory: every 50th write to the disk fails, and what
// they take from the process' heap is counted.
//
//     tpch_faults FOLDER EXPECTED.json
#include "engine/query.hpp"
#include "queries/queries.hpp"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <malloc.h>
#include <new>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

std::atomic<std::size_t> heap{0}, most_heap{0}; // bytes of `new`
std::atomic<unsigned> writes{0}, every{0};      // every n-th write fails; 0: none

void* counted(std::size_t n) {
    void* const p = std::malloc(n);
    if (p == nullptr) throw std::bad_alloc();
    const std::size_t now = heap += ::malloc_usable_size(p);
    for (std::size_t most = most_heap; now > most && !most_heap.compare_exchange_weak(most, now);) {
    }
    return p;
}
void uncounted(void* p) {
    if (p != nullptr) heap -= ::malloc_usable_size(p);
    std::free(p);
}

} // namespace

void* operator new(std::size_t n) { return counted(n); }
void* operator new[](std::size_t n) { return counted(n); }
void operator delete(void* p) noexcept { uncounted(p); }
void operator delete[](void* p) noexcept { uncounted(p); }
void operator delete(void* p, std::size_t) noexcept { uncounted(p); }
void operator delete[](void* p, std::size_t) noexcept { uncounted(p); }

// In place of the C library's, for the whole program.
extern "C" ssize_t pwritev(int file, const iovec* parts, int n, off_t offset) {
    const unsigned fails = every;
    if (fails != 0 && ++writes % fails == 0) return errno = EIO, -1;
    return ::syscall(SYS_pwritev, file, parts, n, offset, off_t{0});
}

namespace {

int failures = 0;
void check(bool holds, const char* what, const char* of = "") {
    if (!holds) std::fprintf(stderr, "wrong: %s %s\n", what, of), ++failures;
}

struct result {
    nlohmann::json answer;
    std::string error;
};

// All queries, four at a time.
std::vector<result> run(tpch::engine& in, const tpch::database& from) {
    const auto all = tpch::all_queries();
    std::vector<result> out(all.size());
    std::atomic<std::size_t> next{0};
    std::vector<std::jthread> clients;
    for (int c = 0; c != 4; ++c)
        clients.emplace_back([&] {
            for (std::size_t i; (i = next++) < all.size();) {
                try {
                    tpch::query q{in, from, all[i].name, static_cast<std::int64_t>(i)};
                    out[i].answer = all[i].run(q);
                } catch (const std::exception& e) {
                    out[i].error = e.what();
                }
            }
        });
    clients.clear();
    return out;
}

void check_right(const std::vector<result>& got, const nlohmann::json& expected) {
    for (std::size_t i = 0; i != got.size(); ++i) {
        const char* const name = tpch::all_queries()[i].name;
        nlohmann::json right = expected[name];
        right.erase("columns");
        check(got[i].error.empty(), got[i].error.c_str(), name);
        check(got[i].answer == right, "the answer of", name);
    }
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const tpch::database from{argv[1]};
    nlohmann::json expected;
    std::ifstream(argv[2]) >> expected;
    {
        tpch::engine in{{.memory = std::size_t{1} << 20}};
        run(in, from); // what is made once is there
        const std::size_t before = heap;
        most_heap = before;
        const auto got = run(in, from);
        std::printf("%zu KiB of the heap\n", (most_heap - before) >> 10);
        check_right(got, expected);
        check(in.data.stats().bytes_written != 0, "data left memory");
        // What a store keeps of a batch that has left, and the lists of batches.
        check(most_heap - before < std::size_t{300} << 10, "a query takes much from the heap");
    }
    {
        tpch::engine in{{.memory = std::size_t{1} << 20}};
        writes = 0, every = 50;
        while (writes < 200) check_right(run(in, from), expected); // what fails is written elsewhere
    }
    return failures == 0 ? 0 : 1;
}
