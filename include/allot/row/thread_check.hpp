// Reports a handle of one thread that a second thread uses. The first use sets the owner.
//
// Cost: checked builds only; no code and no bytes otherwise. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/row/row_context.hpp>
#include <allot/sys/thread_owner.hpp>

namespace allot::inline ALLOT_ABI {
namespace detail {

class thread_check {
  public:
    ALLOT_ALWAYS_INLINE void check_thread(const row_context& context, const char* heap, const row_type* type) noexcept {
        if (!owner_.claim_or_check()) context.report(misuse::wrong_thread, heap, type, this);
    }

  private:
    ALLOT_NO_UNIQUE_ADDRESS thread_owner owner_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
