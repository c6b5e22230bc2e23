// What several cases include, and their clocks and memory.
#pragma once
#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/reclaim/chain.hpp>
#include <allot/reclaim/reclaimer.hpp>
#include <allot/row_manager.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>
#include <vector>
using namespace allot::literals;
inline double now_s() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}
inline double cpu_s() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}
inline std::size_t vm(const char* key) {
    std::ifstream f("/proc/self/status");
    std::string l;
    std::size_t n = std::strlen(key);
    while (std::getline(f, l))
        if (l.compare(0, n, key) == 0) return std::strtoull(l.c_str() + n + 1, nullptr, 10) >> 10;
    return 0;
}
