// The device memory that the adaptors of this folder need: a device_allocator, or any class with these members.
//
//   void* try_allocate(bytes, align, stream)     for later work of this stream; null on failure
//   deallocate(p, stream)                        or (p, bytes, stream): frees at this point of the stream
//   void* allocate(bytes, align, stream)         if there is one: called first, and may wait, and throw
//
// and for callers without a stream one of
//
//   void* try_allocate(bytes, align)             for any stream, at once; null on failure
//   deallocate(p)                                or (p, bytes): no stream uses the memory any more
//   api().synchronize(stream)                    then a fallback stream serves those callers, and is waited for
//
// So on a thread of a task a request of a device_allocator waits, and throws what allocate() throws: out_of_memory with
// its report, or the verdict of the arbiter. No face of Thrust or cuda::mr that allocates is noexcept, so it arrives.
// A request for 0 bytes returns null without a call of the memory. Cost and threads: those of the memory.
#pragma once

#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>

#include <concepts>
#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace adapt {

/// Allocates and frees in the order of a stream.
template <class D>
concept stream_ordered_memory = requires(D& d, void* p, std::size_t n, typename D::stream_type s) {
    { d.try_allocate(n, n, s) } -> std::same_as<void*>;
} && (requires(D& d, void* p, std::size_t n, typename D::stream_type s) { d.deallocate(p, n, s); } ||
      requires(D& d, void* p, typename D::stream_type s) { d.deallocate(p, s); });

/// Allocates and frees without a stream.
template <class D>
concept synchronous_memory = requires(D& d, std::size_t n) {
    { d.try_allocate(n, n) } -> std::same_as<void*>;
} && (requires(D& d, void* p, std::size_t n) { d.deallocate(p, n); } || requires(D& d, void* p) { d.deallocate(p); });

/// Stream-ordered, and able to serve callers without a stream.
template <class D>
concept device_memory =
    stream_ordered_memory<D> && (synchronous_memory<D> || requires(D& d, typename D::stream_type s) {
        { static_cast<bool>(d.api().synchronize(s)) };
    });

namespace detail {

// `why`: where it returns null. A set with oom::null does not say why: the request is made once more.
template <device_memory D>
void* allocate_on(D& d, std::size_t bytes, std::size_t align, typename D::stream_type stream, charge_status& why) {
    if (bytes == 0) return nullptr;
    if constexpr (requires {
                      { d.allocate(bytes, align, stream) } -> std::same_as<void*>;
                  })
        if (void* const p = d.allocate(bytes, align, stream); ALLOT_LIKELY(p != nullptr)) return p;
    if constexpr (requires { d.try_allocate(bytes, align, stream, &why); }) {
        return d.try_allocate(bytes, align, stream, &why);
    } else {
        why = {.outcome = charge_outcome::no_memory, .requested = bytes};
        return d.try_allocate(bytes, align, stream);
    }
}
template <device_memory D>
void deallocate_on(D& d, void* p, std::size_t bytes, typename D::stream_type stream) noexcept {
    if (p == nullptr) return;
    if constexpr (requires { d.deallocate(p, bytes, stream); }) d.deallocate(p, bytes, stream);
    else d.deallocate(p, stream);
}

// The stream is used only when the memory has no functions without one.
template <device_memory D>
void* allocate_any_stream(D& d, std::size_t bytes, std::size_t align, typename D::stream_type stream,
                          charge_status& why) {
    if (bytes == 0) return nullptr;
    if constexpr (synchronous_memory<D>) {
        why = {.outcome = charge_outcome::no_memory, .requested = bytes};
        return d.try_allocate(bytes, align);
    } else {
        void* const p = allocate_on(d, bytes, align, stream, why);
        if (p == nullptr || d.api().synchronize(stream)) return p;
        deallocate_on(d, p, bytes, stream);
        why = {.outcome = charge_outcome::no_memory, .requested = bytes};
        return nullptr;
    }
}
template <device_memory D>
void deallocate_any_stream(D& d, void* p, std::size_t bytes, typename D::stream_type stream) noexcept {
    if constexpr (!synchronous_memory<D>) deallocate_on(d, p, bytes, stream);
    else if (p == nullptr) return;
    else if constexpr (requires { d.deallocate(p, bytes); }) d.deallocate(p, bytes);
    else d.deallocate(p);
}

// The fallback stream unless one is passed: the legacy default stream, which synchronizes with all blocking streams.
template <device_memory D> typename D::stream_type default_stream() noexcept {
    if constexpr (requires { D::api_type::legacy_stream(); }) return D::api_type::legacy_stream();
    else return {};
}

} // namespace detail
} // namespace adapt
} // namespace allot::inline ALLOT_ABI
