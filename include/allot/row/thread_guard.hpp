// Tells when a handle of one thread is used by a second one: checked builds only, no code and no bytes otherwise.
//
// The first use decides whose the handle is. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/row/row_context.hpp>
#include <allot/sys/thread.hpp>

#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

#if ALLOT_CHECKED
class thread_guard {
  public:
    void used(const row_context& context, const char* heap, const row_type* type) noexcept {
        const std::uintptr_t now = sys::thread_token();
        if (owner_ == 0) owner_ = now;
        if (owner_ != now) context.tell(misuse::wrong_thread, heap, type, this);
    }

  private:
    std::uintptr_t owner_ = 0;
};
#else
class thread_guard {
  public:
    void used(const row_context&, const char*, const row_type*) const noexcept {}
};
#endif

} // namespace detail
} // namespace allot::inline ALLOT_ABI
