// The base of all errors about memory that was not granted.
//
// Cost: 56 bytes; no text is written, so an error that is thrown to free memory and to retry derives from it directly.
// Threads: as any value. Host only.
#pragma once

#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>

#include <new>

namespace allot::inline ALLOT_ABI {

/// A request that was not granted. why() is what refused and why: its account and name may have ended since.
class memory_error : public std::bad_alloc {
  public:
    memory_error() noexcept = default;
    explicit memory_error(const charge_status& why) noexcept : why_(why) {}

    const char* what() const noexcept override { return "allot: memory was not granted"; }
    const charge_status& why() const noexcept { return why_; }

  protected:
    // The derived error has a copy of the name, as long as it lives.
    void set_name(const char* name) noexcept { why_.name = name; }

  private:
    charge_status why_{.outcome = charge_outcome::no_memory};
};

} // namespace allot::inline ALLOT_ABI
