// The base of all errors about memory that was not granted.
//
// The account that refused may end while the error unwinds the stack: the error has a copy of its name, cut to 31
// characters; why().at may dangle.
// Cost: 88 bytes; no other text is written, so an error that is thrown to free memory and to retry derives from it
// directly.
// Threads: as any value. Host only.
#pragma once

#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/text.hpp>

#include <new>

namespace allot::inline ALLOT_ABI {

/// A request that was not granted. why() is what refused and why; its name is part of this error.
class memory_error : public std::bad_alloc {
  public:
    memory_error() noexcept = default;
    explicit memory_error(const charge_status& why) noexcept : why_(why) { keep_name(); }
    memory_error(const memory_error& o) noexcept : std::bad_alloc(o), why_(o.why_) { keep_name(); }
    memory_error& operator=(const memory_error& o) noexcept {
        if (&o == this) return *this;
        why_ = o.why_;
        return keep_name(), *this;
    }
    ~memory_error() override = default;

    const char* what() const noexcept override { return "allot: memory was not granted"; }
    const charge_status& why() const noexcept { return why_; }

  private:
    void keep_name() noexcept {
        if (why_.by == refuser::none) return; // a text that is no name, and stays
        text_writer{name_}.put(why_.name);
        why_.name = name_;
    }

    charge_status why_{.outcome = charge_outcome::no_memory};
    char name_[32];
};

} // namespace allot::inline ALLOT_ABI
