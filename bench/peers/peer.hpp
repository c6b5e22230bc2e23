// The peers: general allocators, each called through two pointers, as a program calls malloc through its PLT.
//
//   raw    malloc(n), free
//   rows   malloc(n + 8) with a link count, released by an atomic subtraction: what a program writes over malloc
//   sized  the same with the library's sized free
//
// All are in one process beside glibc's malloc: a library is opened with RTLD_LOCAL and RTLD_DEEPBIND, so that its
// malloc serves only these calls, and the process's own malloc remains glibc's (checked at start).
#pragma once

#include <harness/counted_over.hpp>
#include <harness/isolate.hpp>
#include <harness/job.hpp>
#include <harness/measure.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <unistd.h>

namespace bench {

struct peer {
    std::string name;
    std::string version;
    void* (*allocate)(std::size_t) = nullptr;
    void (*release)(void*) = nullptr;
    void (*release_sized)(void*, std::size_t) = nullptr; // where there is one
    void* (*resize)(void*, std::size_t) = nullptr;       // the same: realloc
};

namespace detail {

template <class F> F symbol(void* library, const std::string& name) noexcept {
    return reinterpret_cast<F>(dlsym(library, name.c_str()));
}

inline std::string mimalloc_version(void* library) {
    const auto ask = symbol<int (*)()>(library, "mi_version");
    const int v = ask != nullptr ? ask() : 0;
    return std::to_string(v / 100) + "." + std::to_string(v / 10 % 10) + "." + std::to_string(v % 10);
}
inline std::string jemalloc_version(void* library) {
    const auto ask = symbol<int (*)(const char*, void*, std::size_t*, void*, std::size_t)>(library, "mallctl");
    const char* v = "";
    std::size_t size = sizeof v;
    if (ask != nullptr) ask("version", &v, &size, nullptr, 0);
    const std::string all = v;
    return all.substr(0, all.find('-'));
}
// jemalloc's sized free takes flags, too.
inline void (*jemalloc_sized)(void*, std::size_t, int) = nullptr;
inline std::string tcmalloc_version(void* library) {
    const auto ask = symbol<const char* (*)(int*, int*, const char**)>(library, "tc_version");
    return ask != nullptr ? ask(nullptr, nullptr, nullptr) : "";
}
// The file that the library's malloc came from, links resolved: libtbbmalloc.so.2.8
inline std::string file_version(void* of) {
    Dl_info info{};
    if (dladdr(of, &info) == 0 || info.dli_fname == nullptr) return "";
    char* const real = realpath(info.dli_fname, nullptr);
    std::string file = real != nullptr ? real : info.dli_fname;
    std::free(real);
    return file.substr(file.rfind('/') + 1);
}

// The object that a function lies in.
inline const void* object_of(void* function) noexcept {
    Dl_info info{};
    return function != nullptr && dladdr(function, &info) != 0 ? info.dli_fbase : nullptr;
}
// glibc's: a library without a malloc answers with that, and so does this program.
inline const void* libc() noexcept { return object_of(dlsym(RTLD_DEFAULT, "gnu_get_libc_version")); }

// What is wrong with a peer's rows, or null. Tried in another process: a library may be broken.
inline const char* fault_of(const peer& p) {
    enum class found : char { good, null, unaligned, overlapping, handed_on };
    const auto tried = isolated(10, [&p] {
        std::array<char*, 64> rows{};
        for (std::size_t round = 0; round < 2; ++round) {
            for (std::size_t i = 0; i < rows.size(); ++i) {
                rows[i] = static_cast<char*>(p.allocate(64));
                if (rows[i] == nullptr) return found::null;
                if (reinterpret_cast<std::uintptr_t>(rows[i]) % 8 != 0) return found::unaligned;
                std::memset(rows[i], static_cast<int>(i), 64);
            }
            for (std::size_t i = 0; i < rows.size(); ++i)
                if (rows[i][0] != static_cast<char>(i) || rows[i][63] != static_cast<char>(i))
                    return found::overlapping;
            for (char* row : rows) p.release_sized != nullptr&& round == 1 ? p.release_sized(row, 64) : p.release(row);
        }
        // Whoever hands on to glibc's free has just filled its cache.
        void* const last = p.allocate(64);
        p.release(last);
        void* next = std::malloc(64);
        asm volatile("" : "+r"(next)); // a compiler knows that a malloc's result is nobody else's
        return next == last ? found::handed_on : found::good;
    });
    if (!tried) return "its malloc and free crash or hang";
    switch (*tried) {
    case found::null: return "its malloc answers null";
    case found::unaligned: return "its rows are not aligned to 8 bytes";
    case found::overlapping: return "its rows overlap";
    case found::handed_on: return "its malloc hands on to glibc's";
    case found::good: break;
    }
    return nullptr;
}

// The first of the files that opens, the first of the prefixes that has a malloc of its own that works.
inline void open_peer(std::vector<peer>& to, const std::string& name, std::initializer_list<std::string> files,
                      std::initializer_list<std::string> prefixes, std::string (*version)(void*)) {
    void* library = nullptr;
    std::string why;
    for (const std::string& file : files) {
        if (library == nullptr && !file.empty()) library = dlopen(file.c_str(), RTLD_LOCAL | RTLD_NOW | RTLD_DEEPBIND);
        if (library == nullptr)
            if (const char* reported = dlerror()) why = reported;
    }
    const auto skip = [&](const std::string& because) {
        std::fprintf(stderr, "skipped - %s: %s\n", name.c_str(), because.c_str());
    };
    if (library == nullptr) return skip(why);
    why = "it has no malloc and free";
    for (const std::string& prefix : prefixes) {
        peer p{.name = name,
               .version = "",
               .allocate = symbol<void* (*)(std::size_t)>(library, prefix + "malloc"),
               .release = symbol<void (*)(void*)>(library, prefix + "free"),
               .resize = symbol<void* (*)(void*, std::size_t)>(library, prefix + "realloc")};
        if (p.allocate == nullptr || p.release == nullptr) continue;
        void* const taken = reinterpret_cast<void*>(p.allocate);
        if (object_of(taken) == libc() || object_of(reinterpret_cast<void*>(p.release)) == libc()) {
            why = "it has no malloc and free of its own, and answers with glibc's";
            continue;
        }
        for (const std::string& sized : {prefix + "free_sized", prefix + "free_size"})
            if (p.release_sized == nullptr) p.release_sized = symbol<void (*)(void*, std::size_t)>(library, sized);
        for (const peer& known : to)
            if (object_of(reinterpret_cast<void*>(known.allocate)) == object_of(taken))
                return skip("it is the same library as " + known.name);
        if (const auto with_flags = symbol<void (*)(void*, std::size_t, int)>(library, prefix + "sdallocx");
            with_flags != nullptr && p.release_sized == nullptr && jemalloc_sized == nullptr) {
            jemalloc_sized = with_flags;
            p.release_sized = [](void* block, std::size_t bytes) { jemalloc_sized(block, bytes, 0); };
        }
        if (const char* const fault = fault_of(p)) return skip(fault);
        p.version = version != nullptr ? version(library) : file_version(taken);
        to.push_back(std::move(p));
        return;
    }
    skip(why);
}

} // namespace detail

#ifndef ALLOT_BENCH_MIMALLOC
#define ALLOT_BENCH_MIMALLOC ""
#define ALLOT_BENCH_JEMALLOC ""
#define ALLOT_BENCH_TCMALLOC ""
#define ALLOT_BENCH_TBB ""
#endif

// jemalloc's thread-local state lies in the static TLS block, which glibc sizes before main.
inline void restart_with_room_for_tls(char** argv) {
    constexpr const char* wish = "glibc.rtld.optional_static_tls=16384";
    const char* const now = std::getenv("GLIBC_TUNABLES");
    if (now != nullptr && std::strstr(now, "optional_static_tls") != nullptr) return;
    setenv("GLIBC_TUNABLES", now != nullptr && *now != 0 ? (std::string(now) + ":" + wish).c_str() : wish, 1);
    execv("/proc/self/exe", argv); // comes back only when it failed: then a peer is skipped
}

// `more`: name and library, as the user gives them.
inline std::vector<peer> open_peers(const std::vector<std::pair<std::string, std::string>>& more) {
    using namespace detail;
    std::vector<peer> all{{.name = "glibc",
                           .version = gnu_get_libc_version(),
                           .allocate = &std::malloc,
                           .release = &std::free,
                           .resize = &std::realloc}};
    open_peer(all, "mimalloc", {ALLOT_BENCH_MIMALLOC, "libmimalloc.so.2", "libmimalloc.so.3", "libmimalloc.so"},
              {"mi_"}, &mimalloc_version);
    open_peer(all, "jemalloc", {ALLOT_BENCH_JEMALLOC, "libjemalloc.so.2", "libjemalloc.so"}, {"", "je_"},
              &jemalloc_version);
    open_peer(all, "tcmalloc", {ALLOT_BENCH_TCMALLOC, "libtcmalloc_minimal.so.4", "libtcmalloc_minimal.so"}, {"tc_"},
              &tcmalloc_version);
    open_peer(all, "tbb", {ALLOT_BENCH_TBB, "libtbbmalloc.so.2", "libtbbmalloc.so"}, {"scalable_"}, nullptr);
    for (const auto& [name, file] : more) {
        if (std::any_of(all.begin(), all.end(), [&](const peer& p) { return p.name == name; })) {
            std::fprintf(stderr, "skipped - %s: there is a peer of that name\n", name.c_str());
            continue;
        }
        open_peer(all, name, {file}, {"", "mi_", "je_", "tc_", "sn_", "rp", "scalable_"}, nullptr);
    }
    return all;
}

struct peer_traits {
    static constexpr bool threads = true, hands_over = true, any_size = true, any_order = true, one_size = true,
                          constants = false;
};

template <bool Rows, bool Sized> struct peer_subject : peer_traits {
    static constexpr bool walks = Rows && !Sized;
    peer_subject(const job&, const peer& from) noexcept : memory{from.allocate, from.release, from.release_sized} {}
    struct calls {
        void* (*take)(std::size_t);
        void (*give)(void*);
        void (*give_sized)(void*, std::size_t);
        BENCH_INLINE void* allocate(std::size_t bytes) noexcept { return take(bytes); }
        BENCH_INLINE void release(void* block, std::size_t bytes) noexcept {
            if constexpr (Sized) give_sized(block, bytes);
            else give(block);
        }
    } memory;
    struct user : counted_over<Rows, calls> {
        explicit user(peer_subject& of) noexcept : counted_over<Rows, calls>(of.memory) {}
    };
};

} // namespace bench
