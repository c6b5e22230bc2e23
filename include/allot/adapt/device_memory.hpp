// Device memory that the faces of others stand on: what a device_allocator is, and whatever else offers the same.
//
//   void* try_allocate(bytes, align, stream)     for work of this stream from now on; null on failure
//   deallocate(p, stream)                        or (p, bytes, stream): at this point of the stream
//
// and for callers without streams one of
//
//   void* try_allocate(bytes, align)             for any stream, at once; null on failure
//   deallocate(p)                                or (p, bytes): nobody uses it any more
//   api().synchronize(stream)                    then a stream that is named serves those callers, and is waited for
//
// 0 bytes are null here, and not asked for. Cost and threads: those of the memory.
#pragma once

#include <allot/config.hpp>

#include <concepts>
#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace adapt {

template <class D>
concept stream_ordered_memory = requires(D& d, void* p, std::size_t n, typename D::stream_type s) {
    { d.try_allocate(n, n, s) } -> std::same_as<void*>;
} && (requires(D& d, void* p, std::size_t n, typename D::stream_type s) { d.deallocate(p, n, s); } ||
      requires(D& d, void* p, typename D::stream_type s) { d.deallocate(p, s); });

template <class D>
concept synchronous_memory = requires(D& d, std::size_t n) {
    { d.try_allocate(n, n) } -> std::same_as<void*>;
} && (requires(D& d, void* p, std::size_t n) { d.deallocate(p, n); } || requires(D& d, void* p) { d.deallocate(p); });

template <class D>
concept device_memory =
    stream_ordered_memory<D> && (synchronous_memory<D> || requires(D& d, typename D::stream_type s) {
        { static_cast<bool>(d.api().synchronize(s)) };
    });

namespace detail {

template <device_memory D> void* take_from(D& d, std::size_t bytes, std::size_t align, typename D::stream_type stream) {
    return bytes == 0 ? nullptr : d.try_allocate(bytes, align, stream);
}
template <device_memory D> void give_to(D& d, void* p, std::size_t bytes, typename D::stream_type stream) noexcept {
    if (p == nullptr) return;
    if constexpr (requires { d.deallocate(p, bytes, stream); }) d.deallocate(p, bytes, stream);
    else d.deallocate(p, stream);
}

// The stream is only for memory that has no pair without one.
template <device_memory D>
void* take_for_all(D& d, std::size_t bytes, std::size_t align, typename D::stream_type stream) {
    if (bytes == 0) return nullptr;
    if constexpr (synchronous_memory<D>) {
        return d.try_allocate(bytes, align);
    } else {
        void* const p = d.try_allocate(bytes, align, stream);
        if (p == nullptr || d.api().synchronize(stream)) return p;
        give_to(d, p, bytes, stream);
        return nullptr;
    }
}
template <device_memory D>
void give_from_all(D& d, void* p, std::size_t bytes, typename D::stream_type stream) noexcept {
    if constexpr (!synchronous_memory<D>) give_to(d, p, bytes, stream);
    else if (p == nullptr) return;
    else if constexpr (requires { d.deallocate(p, bytes); }) d.deallocate(p, bytes);
    else d.deallocate(p);
}

// Where a stream is needed and none was named: the legacy default stream, whose wait is for all blocking streams.
template <device_memory D> typename D::stream_type stream_for_all() noexcept {
    if constexpr (requires { D::api_type::legacy_stream(); }) return D::api_type::legacy_stream();
    else return {};
}

} // namespace detail
} // namespace adapt
} // namespace allot::inline ALLOT_ABI
