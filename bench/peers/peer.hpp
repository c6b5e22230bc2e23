// The peers: general allocators, each reached through two pointers, as a program reaches malloc through its PLT.
//
//   raw    malloc(n), free
//   rows   malloc(n + 8) with a link count, dropped by an atomic subtraction: what a program writes over malloc
//
// They live in one process beside glibc's: each library is opened RTLD_LOCAL and RTLD_DEEPBIND, so its malloc serves
// only those who ask for it, and the process's own malloc stays glibc's (held to at start).
#pragma once

#include <harness/job.hpp>
#include <harness/measure.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <gnu/libc-version.h>

namespace bench {

struct peer {
    std::string name;
    std::string version;
    void* (*allocate)(std::size_t);
    void (*release)(void*);
};

namespace detail {

template <class F> F symbol(void* library, const char* name) noexcept {
    return reinterpret_cast<F>(dlsym(library, name));
}

inline void open_peer(std::vector<peer>& to, const char* name, std::initializer_list<const char*> files,
                      const char* prefix, std::string (*version)(void*)) {
    void* library = nullptr;
    std::string why;
    for (const char* file : files) {
        if (library == nullptr && *file != 0) library = dlopen(file, RTLD_LOCAL | RTLD_NOW | RTLD_DEEPBIND);
        if (library == nullptr)
            if (const char* told = dlerror()) why = told;
    }
    void* (*allocate)(std::size_t) = nullptr;
    void (*release)(void*) = nullptr;
    if (library != nullptr) {
        allocate = symbol<decltype(allocate)>(library, (std::string(prefix) + "malloc").c_str());
        release = symbol<decltype(release)>(library, (std::string(prefix) + "free").c_str());
    }
    if (allocate == nullptr || release == nullptr || allocate == &std::malloc) {
        std::fprintf(stderr, "skipped - %s: %s\n", name, why.empty() ? "no malloc of its own" : why.c_str());
        return;
    }
    to.push_back({name, version(library), allocate, release});
}

inline std::string mimalloc_version(void* library) {
    const auto ask = symbol<int (*)()>(library, "mi_version");
    const int v = ask != nullptr ? ask() : 0;
    return std::to_string(v / 100) + "." + std::to_string(v / 10 % 10) + "." + std::to_string(v % 10);
}
inline std::string jemalloc_version(void* library) {
    const auto ask =
        symbol<int (*)(const char*, void*, std::size_t*, void*, std::size_t)>(library, "mallctl");
    const char* v = "";
    std::size_t size = sizeof v;
    if (ask != nullptr) ask("version", &v, &size, nullptr, 0);
    const std::string all = v;
    return all.substr(0, all.find('-'));
}
inline std::string tcmalloc_version(void* library) {
    const auto ask = symbol<const char* (*)(int*, int*, const char**)>(library, "tc_version");
    return ask != nullptr ? ask(nullptr, nullptr, nullptr) : "";
}

} // namespace detail

#ifndef ALLOT_BENCH_MIMALLOC
#define ALLOT_BENCH_MIMALLOC ""
#define ALLOT_BENCH_JEMALLOC ""
#define ALLOT_BENCH_TCMALLOC ""
#endif

inline std::vector<peer> open_peers() {
    std::vector<peer> all{{"glibc", gnu_get_libc_version(), &std::malloc, &std::free}};
    detail::open_peer(all, "mimalloc",
                      {ALLOT_BENCH_MIMALLOC, "libmimalloc.so.2", "libmimalloc.so.3", "libmimalloc.so"}, "mi_",
                      &detail::mimalloc_version);
    detail::open_peer(all, "jemalloc", {ALLOT_BENCH_JEMALLOC, "libjemalloc.so.2", "libjemalloc.so"}, "",
                      &detail::jemalloc_version);
    detail::open_peer(all, "tcmalloc",
                      {ALLOT_BENCH_TCMALLOC, "libtcmalloc_minimal.so.4", "libtcmalloc_minimal.so"}, "",
                      &detail::tcmalloc_version);
    return all;
}

template <bool Rows> struct peer_subject {
    static constexpr bool threads = true, hands_over = true, any_size = true, any_order = true,
                          one_size = true;
    peer_subject(const job&, const peer& from) noexcept : allocate(from.allocate), release(from.release) {}
    void* (*allocate)(std::size_t);
    void (*release)(void*);

    struct user {
        explicit user(peer_subject& of) noexcept : take(of.allocate), give(of.release) {}
        BENCH_INLINE void* allocate(std::size_t bytes) noexcept {
            if constexpr (!Rows) return take(bytes);
            char* const block = static_cast<char*>(take(bytes + 8));
            __atomic_store_n(reinterpret_cast<std::uint32_t*>(block), 1, __ATOMIC_RELAXED);
            return block + 8;
        }
        BENCH_INLINE void release(void* row) noexcept {
            if constexpr (!Rows) return give(row);
            char* const block = static_cast<char*>(row) - 8;
            if (__atomic_fetch_sub(reinterpret_cast<std::uint32_t*>(block), 1, __ATOMIC_ACQ_REL) == 1)
                give(block);
        }
        void* (*take)(std::size_t);
        void (*give)(void*);
    };
};

} // namespace bench
