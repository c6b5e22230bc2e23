// Runs a function on a thread with 512 KiB of stack: what takes stack for each of many thousands ends the process.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>

namespace support {

template <class Run> void on_small_stack(Run run) {
    pthread_attr_t on;
    pthread_attr_init(&on);
    pthread_attr_setstacksize(&on, std::size_t{512} << 10);
    pthread_t thread{};
    const auto call = [](void* what) -> void* { return (*static_cast<Run*>(what))(), nullptr; };
    if (pthread_create(&thread, &on, call, &run) != 0) std::fputs("no thread\n", stderr), std::_Exit(1);
    pthread_attr_destroy(&on);
    pthread_join(thread, nullptr);
}

} // namespace support
