// What a request throws that an arbiter ends: a rollback, a split, or the removal of its task.
//
// They are light: no text is written. Without exceptions the same verdicts come as charge_outcome.
// Cost: 96 bytes. Threads: values. Host only. Source: Spark-RAPIDS' RetryOOM and SplitAndRetryOOM, 2022.
#pragma once

#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/memory_error.hpp>
#include <allot/core/memory_kind.hpp>

namespace allot::inline ALLOT_ABI {

/// The base of all three.
class verdict_error : public memory_error {
  public:
    verdict_error(const charge_status& why, memory_kind kind) noexcept : memory_error(why), kind_(kind) {}
    memory_kind kind() const noexcept { return kind_; }

  private:
    memory_kind kind_;
};

/// The thread was rolled back: free what this attempt took, make the inputs spillable, wait, and begin it again.
/// with_retry() does all that.
class retry_out_of_memory : public verdict_error {
  public:
    retry_out_of_memory(const charge_status& why, memory_kind kind) noexcept
        : verdict_error(detail::with_verdict(why, charge_outcome::rolled_back), kind) {}
    const char* what() const noexcept override {
        return kind() == memory_kind::host
                   ? "allot: rolled back: free what this attempt took, and try again"
                   : "allot: rolled back: free the device memory of this attempt, and try again";
    }
};

/// The same, and the input must be made smaller: it does not fit though all others are rolled back.
class split_and_retry_out_of_memory : public verdict_error {
  public:
    ALLOT_OUTLINE split_and_retry_out_of_memory(const charge_status& why, memory_kind kind) noexcept
        : verdict_error(detail::with_verdict(why, charge_outcome::split), kind) {}
    const char* what() const noexcept override {
        return kind() == memory_kind::host ? "allot: the input needs more memory than there is: split it, and try again"
                                           : "allot: the input needs more device memory than there is: split it, and "
                                             "try again";
    }
};

/// The task was removed: its requests are refused for good.
class task_removed : public verdict_error {
  public:
    ALLOT_OUTLINE task_removed(const charge_status& why, memory_kind kind) noexcept
        : verdict_error(detail::with_verdict(why, charge_outcome::removed), kind) {}
    const char* what() const noexcept override { return "allot: the task was removed while it requested memory"; }
};

namespace detail {

#if ALLOT_EXCEPTIONS
// Throws the error of a verdict; returns for another refusal.
ALLOT_OUTLINE_COLD void raise_verdict(const charge_status& why, memory_kind kind) {
    if (why.outcome == charge_outcome::rolled_back) throw retry_out_of_memory(why, kind);
    if (why.outcome == charge_outcome::split) throw split_and_retry_out_of_memory(why, kind);
    if (why.outcome == charge_outcome::removed) throw task_removed(why, kind);
}
#else
inline void raise_verdict(const charge_status&, memory_kind) noexcept {}
#endif

} // namespace detail
} // namespace allot::inline ALLOT_ABI
