// Tells when a handle of one thread is used by a second one: checked builds only, no code and no bytes otherwise.
//
// The first use decides whose the handle is. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/row/row_context.hpp>
#include <allot/sys/thread_owner.hpp>

namespace allot::inline ALLOT_ABI {
namespace detail {

class thread_check {
  public:
    ALLOT_ALWAYS_INLINE void check_thread(const row_context& context, const char* heap, const row_type* type) noexcept {
        if (!owner_.is_mine()) context.report(misuse::wrong_thread, heap, type, this);
    }

  private:
    ALLOT_NO_UNIQUE_ADDRESS thread_owner owner_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
