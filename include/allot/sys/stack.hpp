// Where a thread is: the return addresses of its stack, and what they are called.
//
// Cost: some microseconds for 16 frames; neither allocates. Names come from the dynamic symbols (a program shows its
// own with -rdynamic); otherwise a module and an offset, for addr2line. Threads: any; not in a signal handler.
// Source: the unwinder of the Itanium C++ ABI.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>

#include <cstdint>
#include <dlfcn.h>
#include <unwind.h>

namespace allot::inline ALLOT_ABI {
namespace sys {
namespace detail {

struct frames {
    void** to;
    unsigned room, skip, n;
};
inline _Unwind_Reason_Code next_frame(_Unwind_Context* context, void* into) noexcept {
    auto& f = *static_cast<frames*>(into);
    const std::uintptr_t at = _Unwind_GetIP(context);
    if (at == 0) return _URC_END_OF_STACK;
    if (f.skip != 0) return --f.skip, _URC_NO_REASON;
    if (f.n == f.room) return _URC_END_OF_STACK;
    f.to[f.n++] = reinterpret_cast<void*>(at);
    return _URC_NO_REASON;
}

} // namespace detail

// Up to `room` return addresses, the caller's first; `skip` leaves out so many callers. Returns how many.
ALLOT_NOINLINE inline unsigned stack(void** to, unsigned room, unsigned skip = 0) noexcept {
    detail::frames f{to, room, skip + 1, 0};
    _Unwind_Backtrace(&detail::next_frame, &f);
    return f.n;
}

// "0x7f.. name+12 (module+0x1234)", as much of it as is known.
inline void write_address(text_writer& out, const void* address) noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    out.hex(at);
    Dl_info info{};
    if (::dladdr(address, &info) == 0) return;
    if (info.dli_sname != nullptr)
        out.put(' ').put(info.dli_sname).put('+').number(at - reinterpret_cast<std::uintptr_t>(info.dli_saddr));
    if (info.dli_fname != nullptr)
        out.put(" (").put(info.dli_fname).put('+').hex(at - reinterpret_cast<std::uintptr_t>(info.dli_fbase)).put(')');
}

} // namespace sys
} // namespace allot::inline ALLOT_ABI
