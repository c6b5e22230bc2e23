// Compiler, platform and switches. The only header that asks which compiler and platform this is.
//
// Every macro is ALLOT_* and, but for ALLOT_ABI_NAME, always defined. Switches are 0 or 1, so that -Wundef finds a
// misspelt one. Set them before the first include, or in the build:
//   ALLOT_CHECKED   misuse aborts with a message, invariants are asserted    (default 0)
//   ALLOT_FAULTS    tests can make every system call fail, and direct threads (default 0)
//   ALLOT_FORK      a child of fork() may use what it inherits: docs/rules.md (default 0)
//   ALLOT_VALGRIND  client requests for valgrind                              (default 0)
//   ALLOT_XXHASH    spill files have checksums of xxhash.h, else CRC-32C      (default 1 where that header is found)
//   ALLOT_LZ4       spill files can be compressed; the program links liblz4   (default 0)
//   ALLOT_URING     spill files can use io_uring; the program links liburing  (default 0)
//   ALLOT_ABI_NAME  a name of your own for a copy that you vendor: ALLOT_ABI_NAME=engine gives allot::v0_2_0_engine
//                   (default: none)
// A large project compiles once what no set changes: allot/compiled.hpp, and these two names, which need no value:
//   ALLOT_COMPILED  this file links the compiled library, and has no copy of its functions
//   ALLOT_DEFINE    this file is that library
//   ALLOT_DEFINE_SETS  this file has the code of the project's own sets (ALLOT_COMPILED_ROWS, ALLOT_COMPILED_CHUNKS)
//   ALLOT_SHARED_LIBRARY  it is a shared library: given to all files, so that hidden symbols are found, too
// The inline namespace ALLOT_ABI has the version, that name, and each switch and mode of the compiler that changes a
// layout or a function: checked, faults, fork, valgrind, no exceptions, no RTTI, sanitizers. So translation units that
// disagree fail to link, and copies that differ live side by side in a program. ALLOT_COMPILED is not in it: files with
// and without it link.
#pragma once

#include <allot/version.hpp>

#if __cplusplus < 202002L
#error "allot needs C++20: compile with -std=c++20"
#endif

// --- switches ----------------------------------------------------------------------------------------------
#ifndef ALLOT_CHECKED
#define ALLOT_CHECKED 0
#endif
#ifndef ALLOT_FAULTS
#define ALLOT_FAULTS 0
#endif
#ifndef ALLOT_FORK
#define ALLOT_FORK 0
#endif
#ifndef ALLOT_VALGRIND
#define ALLOT_VALGRIND 0
#endif
#ifndef ALLOT_XXHASH
#if __has_include(<xxhash.h>)
#define ALLOT_XXHASH 1
#else
#define ALLOT_XXHASH 0
#endif
#endif
#ifndef ALLOT_LZ4
#define ALLOT_LZ4 0
#endif
#ifndef ALLOT_URING
#define ALLOT_URING 0
#endif

// --- compiler and platform ---------------------------------------------------------------------------------
#if defined(__cpp_exceptions)
#define ALLOT_EXCEPTIONS 1
#else
#define ALLOT_EXCEPTIONS 0
#endif

#if defined(__cpp_rtti)
#define ALLOT_RTTI 1
#else
#define ALLOT_RTTI 0
#endif

#if defined(__SANITIZE_ADDRESS__)
#define ALLOT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ALLOT_ASAN 1
#endif
#endif
#ifndef ALLOT_ASAN
#define ALLOT_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__)
#define ALLOT_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ALLOT_TSAN 1
#endif
#endif
#ifndef ALLOT_TSAN
#define ALLOT_TSAN 0
#endif

#if defined(__CUDACC__)
#define ALLOT_CUDA 1
#define ALLOT_HOST_DEVICE __host__ __device__
#else
#define ALLOT_CUDA 0
#define ALLOT_HOST_DEVICE
#endif

#if defined(__x86_64__)
#define ALLOT_X86_64 1
#else
#define ALLOT_X86_64 0
#endif
#if defined(__SSE4_2__) && ALLOT_X86_64
#define ALLOT_SSE42 1
#else
#define ALLOT_SSE42 0
#endif
// Code for processors that have SSE 4.2, where the program is compiled for others, too.
#if ALLOT_X86_64 && !ALLOT_CUDA
#define ALLOT_FOR_SSE42 __attribute__((target("sse4.2")))
#define ALLOT_HAS_SSE42() (ALLOT_SSE42 != 0 || __builtin_cpu_supports("sse4.2"))
#else
#define ALLOT_FOR_SSE42
#define ALLOT_HAS_SSE42() (ALLOT_SSE42 != 0)
#endif
#if defined(__aarch64__)
#define ALLOT_AARCH64 1
#else
#define ALLOT_AARCH64 0
#endif

// 1 while nvcc compiles for the device.
#if defined(__CUDA_ARCH__)
#define ALLOT_DEVICE_PASS 1
#else
#define ALLOT_DEVICE_PASS 0
#endif

// --- attributes --------------------------------------------------------------------------------------------
#define ALLOT_NO_UNIQUE_ADDRESS [[no_unique_address]]

#if defined(__GNUC__)
#if defined(__OPTIMIZE__)
#define ALLOT_ALWAYS_INLINE inline __attribute__((always_inline))
#define ALLOT_ALWAYS_INLINE_LAMBDA __attribute__((always_inline))
#else
#define ALLOT_ALWAYS_INLINE inline // -O0 would copy the body into each caller, and compile a third longer
#define ALLOT_ALWAYS_INLINE_LAMBDA
#endif
#define ALLOT_NOINLINE __attribute__((noinline))
#define ALLOT_NO_THREAD_CHECK __attribute__((noinline, no_sanitize("thread"))) // it reads what other threads write
#define ALLOT_NO_ADDRESS_CHECK __attribute__((noinline, no_sanitize_address))  // it uses what others must not
#define ALLOT_COLD __attribute__((cold, noinline))
// A function that no set of policies changes, outside the paths of rows and charges. Header-only, each file that calls
// it has its code; with ALLOT_COMPILED only the library has (ALLOT_DEFINE). The compiler reads its body, and drops it:
// g++ before it is lowered, since it is neither to be emitted nor optimized; clang after it was lowered, unoptimized.
// None has a static variable, which by clang would be its file's own.
// Header-only, a warm one may be inlined; a cold one is for the error path.
#if defined(ALLOT_SHARED_LIBRARY) // the library is a shared one
#define ALLOT_OF_LIBRARY __attribute__((visibility("default")))
#else
#define ALLOT_OF_LIBRARY
#endif
#if defined(ALLOT_DEFINE)
#if defined(__clang__) // weak, else it emits but one of the two symbols of a constructor or destructor
#define ALLOT_OUTLINE_WARM ALLOT_OF_LIBRARY __attribute__((used, weak)) inline
#else
#define ALLOT_OUTLINE_WARM ALLOT_OF_LIBRARY __attribute__((used)) inline
#endif
#define ALLOT_OUTLINE __attribute__((noinline)) ALLOT_OUTLINE_WARM
#elif !defined(ALLOT_COMPILED) || ALLOT_CUDA
#define ALLOT_OUTLINE __attribute__((noinline)) inline
#define ALLOT_OUTLINE_WARM inline
#else
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wgnu-inline-cpp-without-extern"
#define ALLOT_OUTLINE ALLOT_OF_LIBRARY __attribute__((gnu_inline, noinline, optnone)) inline
#else
#define ALLOT_OUTLINE ALLOT_OF_LIBRARY __attribute__((gnu_inline, optimize(0))) inline
#endif
#define ALLOT_OUTLINE_WARM ALLOT_OUTLINE
#endif
#define ALLOT_OUTLINE_COLD __attribute__((cold)) ALLOT_OUTLINE
// ALLOT_INSTANCES(list, of): instances of class templates that the library has. list(X, of) is X(class) for each, with
// names as in allot; at global scope. Files with ALLOT_COMPILED emit none of their members; g++ does not optimize those
// with ALLOT_OUTLINE_OF(class) either, as ALLOT_OUTLINE says. Other instances are compiled as with -O2 there.
// ALLOT_SET_INSTANCES: the same for a project's own set, which the file with ALLOT_DEFINE or ALLOT_DEFINE_SETS has. It
// has no visibility of its own.
#define ALLOT_INSTANCE(...) template class ALLOT_OF_LIBRARY __VA_ARGS__;
#define ALLOT_EXTERN_INSTANCE(...) extern ALLOT_INSTANCE(__VA_ARGS__)
#define ALLOT_SET_INSTANCE(...) template class __VA_ARGS__;
#define ALLOT_EXTERN_SET_INSTANCE(...) extern ALLOT_SET_INSTANCE(__VA_ARGS__)
#define ALLOT_PLACED_INSTANCE(...) in_library place_of(instance<__VA_ARGS__>);
#define ALLOT_NEW_INSTANCE(...)                                                                                        \
    static_assert(decltype(place_of(instance<__VA_ARGS__>{}))::level != 0,                                             \
                  "allot: the library, or a line above, has the code of a set with these answers: leave this out");
#define ALLOT_NEW_INSTANCES(each, list, ...)                                                                           \
    namespace allot::inline ALLOT_ABI {                                                                                \
    namespace detail {                                                                                                 \
    list(ALLOT_NEW_INSTANCE, __VA_ARGS__)                                                                              \
    }                                                                                                                  \
    list(each, __VA_ARGS__) namespace detail { list(ALLOT_PLACED_INSTANCE, __VA_ARGS__) }                              \
    }
#define ALLOT_PLACED_INSTANCES(each, list, ...)                                                                        \
    namespace allot::inline ALLOT_ABI {                                                                                \
    namespace detail {                                                                                                 \
    list(ALLOT_PLACED_INSTANCE, __VA_ARGS__)                                                                           \
    }                                                                                                                  \
    list(each, __VA_ARGS__)                                                                                            \
    }
#if defined(ALLOT_DEFINE)
#define ALLOT_DEFINES 1
#define ALLOT_INSTANCES(...) ALLOT_NEW_INSTANCES(ALLOT_INSTANCE, __VA_ARGS__)
#define ALLOT_SET_INSTANCES(...) ALLOT_NEW_INSTANCES(ALLOT_SET_INSTANCE, __VA_ARGS__)
#elif !defined(ALLOT_COMPILED) || ALLOT_CUDA
#define ALLOT_DEFINES 0
#define ALLOT_INSTANCES(...)
#define ALLOT_SET_INSTANCES(...)
#else
#define ALLOT_DEFINES 0
#define ALLOT_INSTANCES(...) ALLOT_PLACED_INSTANCES(ALLOT_EXTERN_INSTANCE, __VA_ARGS__)
#if defined(ALLOT_DEFINE_SETS)
#define ALLOT_SET_INSTANCES(...) ALLOT_NEW_INSTANCES(ALLOT_SET_INSTANCE, __VA_ARGS__)
#else
#define ALLOT_SET_INSTANCES(...) ALLOT_PLACED_INSTANCES(ALLOT_EXTERN_SET_INSTANCE, __VA_ARGS__)
#endif
#if defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__) && !defined(__clang__)
#define ALLOT_OUTLINE_OF(...) __attribute__((optimize(::allot::detail::optimization_of<__VA_ARGS__>)))
#endif
#endif
#ifndef ALLOT_OUTLINE_OF
#define ALLOT_OUTLINE_OF(...)
#endif
#define ALLOT_LIKELY(x) __builtin_expect(!!(x), 1)
#define ALLOT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define ALLOT_SIGNATURE __PRETTY_FUNCTION__
#define ALLOT_SHARED __attribute__((visibility("default"))) // shared between libraries, even when they hide symbols
#define ALLOT_FORGET(pointer) __asm__("" : "+r"(pointer))   // the compiler drops what it knows of the pointer
#else
#error "allot needs g++ 12, clang 14, nvcc 13, or a later one of them"
#endif

// A use of the declaration is a warning with this text.
#define ALLOT_WARN_USE(text) [[deprecated(text)]]

// A read-write lock that new readers do not take while a writer waits; glibc's default lets them.
#if defined(_GNU_SOURCE) && __has_include(<gnu/libc-version.h>)
#define ALLOT_FAIR_RWLOCK PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP
#else
#define ALLOT_FAIR_RWLOCK PTHREAD_RWLOCK_INITIALIZER
#endif

// --- the inline namespace ----------------------------------------------------------------------------------
#define ALLOT_ABI_OF_(major, minor, patch, name, checked, faults, fork, valgrind, exceptions, rtti, sanitizer)         \
    v##major##_##minor##_##patch##name##checked##faults##fork##valgrind##exceptions##rtti##sanitizer
#define ALLOT_ABI_OF(...) ALLOT_ABI_OF_(__VA_ARGS__)
#define ALLOT_ABI_OWN_(name) _##name
#define ALLOT_ABI_OWN_OF(name) ALLOT_ABI_OWN_(name)
#ifdef ALLOT_ABI_NAME
#define ALLOT_ABI_OWN ALLOT_ABI_OWN_OF(ALLOT_ABI_NAME)
#else
#define ALLOT_ABI_OWN
#endif
#if ALLOT_CHECKED
#define ALLOT_ABI_CHECKED _checked
#else
#define ALLOT_ABI_CHECKED
#endif
#if ALLOT_FAULTS
#define ALLOT_ABI_FAULTS _faults
#else
#define ALLOT_ABI_FAULTS
#endif
#if ALLOT_FORK
#define ALLOT_ABI_FORK _fork
#else
#define ALLOT_ABI_FORK
#endif
#if ALLOT_VALGRIND
#define ALLOT_ABI_VALGRIND _valgrind
#else
#define ALLOT_ABI_VALGRIND
#endif
#if !ALLOT_EXCEPTIONS
#define ALLOT_ABI_EXCEPTIONS _noexceptions
#else
#define ALLOT_ABI_EXCEPTIONS
#endif
#if !ALLOT_RTTI
#define ALLOT_ABI_RTTI _nortti
#else
#define ALLOT_ABI_RTTI
#endif
#if ALLOT_ASAN
#define ALLOT_ABI_SANITIZER _asan
#elif ALLOT_TSAN
#define ALLOT_ABI_SANITIZER _tsan
#else
#define ALLOT_ABI_SANITIZER
#endif
#define ALLOT_ABI                                                                                                      \
    ALLOT_ABI_OF(ALLOT_VERSION_MAJOR, ALLOT_VERSION_MINOR, ALLOT_VERSION_PATCH, ALLOT_ABI_OWN, ALLOT_ABI_CHECKED,      \
                 ALLOT_ABI_FAULTS, ALLOT_ABI_FORK, ALLOT_ABI_VALGRIND, ALLOT_ABI_EXCEPTIONS, ALLOT_ABI_RTTI,           \
                 ALLOT_ABI_SANITIZER)
// Of spill/store, whose switches change no other room.
#define ALLOT_STORE_ABI_(a, b, c) files_xxhash##a##_lz4##b##_uring##c
#define ALLOT_STORE_ABI_OF(a, b, c) ALLOT_STORE_ABI_(a, b, c)
#define ALLOT_STORE_ABI ALLOT_STORE_ABI_OF(ALLOT_XXHASH, ALLOT_LZ4, ALLOT_URING)
#define ALLOT_TEXT_(x) #x
#define ALLOT_TEXT(x) ALLOT_TEXT_(x)

#if defined(ALLOT_COMPILED) || defined(ALLOT_DEFINE)
namespace allot::inline ALLOT_ABI {
namespace detail {
// Where an instance of a class template is compiled, and how its members with ALLOT_OUTLINE_OF are optimized here.
struct in_library {
    static constexpr int level = 0;
};
struct in_each_file {
    static constexpr int level = 2;
};
template <class Class> struct instance {};
in_each_file place_of(...);
template <class Class> inline constexpr int optimization_of = decltype(place_of(instance<Class>{}))::level;
} // namespace detail
} // namespace allot::inline ALLOT_ABI
#endif

// --- assertions of checked builds --------------------------------------------------------------------------
// ALLOT_ASSERT(condition, "what must hold"): aborts when the condition is false. Unchecked builds do not evaluate it.
#if ALLOT_CHECKED
#include <cstdio>
#include <cstdlib>
namespace allot::inline ALLOT_ABI {
namespace detail {
[[noreturn]] ALLOT_HOST_DEVICE inline void assertion_failed(const char* what, const char* file, int line) {
#if ALLOT_DEVICE_PASS
    printf("allot: %s (%s:%d)\n", what, file, line);
    __trap();
#else
    std::fprintf(stderr, "allot: %s (%s:%d)\n", what, file, line);
    std::abort();
#endif
}
} // namespace detail
} // namespace allot::inline ALLOT_ABI
#define ALLOT_ASSERT(condition, what)                                                                                  \
    (ALLOT_LIKELY(condition) ? static_cast<void>(0) : ::allot::detail::assertion_failed(what, __FILE__, __LINE__))
#else
#define ALLOT_ASSERT(condition, what) static_cast<void>(sizeof((condition) ? 1 : 0))
#endif
