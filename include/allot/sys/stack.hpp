// The return addresses of the calling thread's stack, and their symbols.
//
// Cost: some microseconds for 16 frames; no allocation. Symbols come from the dynamic symbol table (link a program
// with -rdynamic to show its own); otherwise a module and an offset, for addr2line. Threads: any; not in a signal
// handler.
// Source: the unwinder of the Itanium C++ ABI.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>

#include <cstdint>
#include <dlfcn.h>
#include <unwind.h>

namespace allot::inline ALLOT_ABI {
namespace detail::sys {
namespace detail {

struct frames {
    void** to;
    unsigned capacity, skip, n;
};
inline _Unwind_Reason_Code next_frame(_Unwind_Context* context, void* into) noexcept {
    auto& f = *static_cast<frames*>(into);
    const std::uintptr_t at = _Unwind_GetIP(context);
    if (at == 0) return _URC_END_OF_STACK;
    if (f.skip != 0) return --f.skip, _URC_NO_REASON;
    if (f.n == f.capacity) return _URC_END_OF_STACK;
    f.to[f.n++] = reinterpret_cast<void*>(at);
    return _URC_NO_REASON;
}

} // namespace detail

// Writes up to `capacity` return addresses, the caller's first, after leaving out `skip` callers. Returns their number.
ALLOT_NOINLINE inline unsigned stack(void** to, unsigned capacity, unsigned skip = 0) noexcept {
    detail::frames f{to, capacity, skip + 1, 0};
    _Unwind_Backtrace(&detail::next_frame, &f);
    return f.n;
}

// Writes "0x7f.. name+12 (module+0x1234)", without the parts that are unknown.
ALLOT_OUTLINE void write_address(text_writer& out, const void* address) noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    out.hex(at);
    Dl_info info{};
    if (::dladdr(address, &info) == 0) return;
    if (info.dli_sname != nullptr)
        out.put(' ').put(info.dli_sname).put('+').number(at - reinterpret_cast<std::uintptr_t>(info.dli_saddr));
    if (info.dli_fname != nullptr)
        out.put(" (").put(info.dli_fname).put('+').hex(at - reinterpret_cast<std::uintptr_t>(info.dli_fbase)).put(')');
}

} // namespace detail::sys
} // namespace allot::inline ALLOT_ABI
