// Whether a thread sleeps, as the system says: for tests that something waits without using a processor, or has begun
// to wait. No time is compared, so it holds on a busy machine.
#pragma once

#include <chrono>
#include <cstddef>
#include <fstream>
#include <string>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace support {

inline long this_thread() { return ::syscall(SYS_gettid); }

inline bool is_asleep(long thread) {
    std::ifstream stat{"/proc/self/task/" + std::to_string(thread) + "/stat"};
    std::string all;
    std::getline(stat, all);
    const std::size_t name_ends = all.rfind(')');
    return name_ends != std::string::npos && all.compare(name_ends, 3, ") S") == 0;
}
// Returns when ten looks one after the other have found it asleep: never for a thread that spins. Requires a rescue.
inline void until_asleep(long thread) {
    for (int looks = 0; looks != 10; looks = is_asleep(thread) ? looks + 1 : 0)
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
}

} // namespace support
