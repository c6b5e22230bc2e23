// Calls at the end of a thread. A thread without memory is refused one; a `thread_local` with a destructor, for which
// the C library allocates, would end the process there.
//
// Invariant: a thread's calls run after the destructors of its thread_locals, the newest first; those of the first
// thread never, if it returns from main(). An object file with such a call stays loaded: no loader counts them.
// Cost: one key of the 1,024 that POSIX threads have, for all kinds of calls; no allocation where it is among the first
// 32 of the process. Some microseconds for the first call of a kind. Threads: any.
// Source: pthread_key_create; that a library keeps itself loaded: OpenSSL 1.1.0, 2016.
#pragma once

#include <allot/config.hpp>
#include <allot/sys/fault.hpp>

#include <atomic>
#include <cstdint>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/auxv.h>

// Weak: a static program has no loader, and none of them.
#pragma weak dladdr
#pragma weak dlopen

namespace allot::inline ALLOT_ABI {
namespace sys {

// A thread's, with static storage and without a destructor.
struct thread_end {
    void (*call)() noexcept = nullptr;
    thread_end* next = nullptr;
};

namespace detail {

// Keeps the library with this code loaded. False: out of memory.
inline bool stays_loaded(void (*code)()) noexcept {
    if (&::dlopen == nullptr || &::dladdr == nullptr) return true;
    Dl_info mine{}, program{};
    if (::dladdr(reinterpret_cast<void*>(code), &mine) == 0) return true;
    if (::dladdr(reinterpret_cast<void*>(::getauxval(AT_PHDR)), &program) != 0 && program.dli_fbase == mine.dli_fbase)
        return true;
    return ::dlopen(mine.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) != nullptr;
}

inline void run_thread_ends(void* first) noexcept {
    for (auto* e = static_cast<thread_end*>(first); e != nullptr;) {
        const thread_end now = *e;
        e = now.next;
        now.call();
    }
}

inline constinit std::atomic<std::uint64_t> thread_end_key{0}; // the key, plus 1; 0: none yet

inline bool key_of_thread_ends(pthread_key_t& key) noexcept {
    std::uint64_t made = thread_end_key.load(std::memory_order_acquire);
    if (made == 0) {
        if (!stays_loaded(reinterpret_cast<void (*)()>(&run_thread_ends))) return false;
        if (::pthread_key_create(&key, [](void* first) { run_thread_ends(first); }) != 0) return false;
        if (thread_end_key.compare_exchange_strong(made, std::uint64_t{key} + 1, std::memory_order_acq_rel))
            return true;
        ::pthread_key_delete(key);
    }
    key = static_cast<pthread_key_t>(made - 1);
    return true;
}

} // namespace detail

// Has `Call` called at the end of the calling thread. Requires that `mine` is not in use. False: out of memory, or of
// keys.
template <void (*Call)() noexcept> bool at_thread_end(thread_end& mine) noexcept {
    static constinit std::atomic<bool> is_kept{false};
    if (fault::should_fail()) return false;
    if (!is_kept.load(std::memory_order_relaxed)) {
        if (!detail::stays_loaded(Call)) return false;
        is_kept.store(true, std::memory_order_relaxed);
    }
    pthread_key_t key{};
    if (!detail::key_of_thread_ends(key)) return false;
    mine = {Call, static_cast<thread_end*>(::pthread_getspecific(key))};
    return ::pthread_setspecific(key, &mine) == 0;
}

} // namespace sys
} // namespace allot::inline ALLOT_ABI
