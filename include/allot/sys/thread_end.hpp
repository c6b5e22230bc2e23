// A call at the end of a thread. A thread without memory is refused one; a `thread_local` with a destructor, for which
// the C library allocates, would end the process there.
//
// Invariant: it runs after the destructors of the thread's thread_locals; for the first thread never, if it returns from
// main(). The library with its code stays loaded: no loader counts the threads that are to run it.
// Cost: one key of the 1,024 that POSIX threads have for each `End`; no allocation where it is among the first 32 of the
// process. Some microseconds for the first call of an `End`, with the loader's lock. Threads: any.
// Source: pthread_key_create; that a library keeps itself loaded: OpenSSL 1.1.0, 2016.
#pragma once

#include <allot/config.hpp>
#include <allot/sys/fault.hpp>

#include <atomic>
#include <cstdint>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/auxv.h>

namespace allot::inline ALLOT_ABI {
namespace detail::sys {
namespace detail {

// Weak: a static program has none of them.
[[gnu::weakref("dladdr")]] static decltype(::dladdr) loader_dladdr;
[[gnu::weakref("dlopen")]] static decltype(::dlopen) loader_dlopen;
// Keeps the library with this code loaded; a program stays anyway. False: out of memory.
[[maybe_unused]] static bool keep_loaded(void (*code)(void*)) noexcept {
    Dl_info mine{}, program{};
    if (&loader_dladdr == nullptr || &loader_dlopen == nullptr) return true;
    if (loader_dladdr(reinterpret_cast<void*>(code), &mine) == 0) return true;
    const auto headers = reinterpret_cast<void*>(::getauxval(AT_PHDR));
    if (loader_dladdr(headers, &program) != 0 && program.dli_fbase == mine.dli_fbase) return true;
    return loader_dlopen(mine.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) != nullptr;
}

} // namespace detail

// Has End(what) called at the end of the calling thread; `what` is not null, and replaces that of a call before. False:
// out of memory, or of keys.
template <void (*End)(void*) noexcept> bool at_thread_end(void* what) noexcept {
    static constinit std::atomic<std::uint64_t> made{0}; // the key, plus 1; 0: none yet
    if (fault::should_fail()) return false;
    std::uint64_t known = made.load(std::memory_order_acquire);
    if (known == 0) {
        pthread_key_t key{};
        if (!detail::keep_loaded(End) || ::pthread_key_create(&key, End) != 0) return false;
        if (made.compare_exchange_strong(known, std::uint64_t{key} + 1, std::memory_order_acq_rel))
            known = std::uint64_t{key} + 1;
        else ::pthread_key_delete(key);
    }
    return ::pthread_setspecific(static_cast<pthread_key_t>(known - 1), what) == 0;
}

} // namespace detail::sys
} // namespace allot::inline ALLOT_ABI
