// A charge for memory that is not taken yet: charge, take the memory, then confirm or cancel.
//
//     detail::pending_charge<Ledger> charge{ledger};
//     if (!charge.hold(bytes, asked)) return nullptr;        // refused: nothing is charged
//     void* const p = take(bytes);
//     if (p != nullptr) charge.confirm();                    // else the charge is cancelled at the end
//     return p;
//
// Invariant: bytes that have no memory at the end are cancelled, so a refusal of the memory counts in no peak.
// Cost: two words of stack; none where the compiler sees the whole life. Threads: one.
// Source: charge before use, as in Velox's memory pools, 2022.
#pragma once

#include <allot/config.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/sys/fork_gate.hpp>

#include <cstddef>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

// Ledger: what a set charges (ledger/page_ledger.hpp, ledger/tree.hpp).
template <class Ledger> class pending_charge {
  public:
    explicit pending_charge(Ledger& ledger) noexcept : ledger_(ledger) {}
    pending_charge(const pending_charge&) = delete;
    pending_charge& operator=(const pending_charge&) = delete;
    ALLOT_ALWAYS_INLINE ~pending_charge() { settle(); }

    // False: refused. Requires a settled charge: a thread must not charge while it holds bytes.
    ALLOT_ALWAYS_INLINE bool hold(std::size_t bytes, memory_request& asked) noexcept {
        if (!ledger_.try_charge(bytes, asked)) return false;
        held_ = bytes;
        return true;
    }
    // Bytes that are charged and have no memory.
    std::size_t held() const noexcept { return held_; }
    // All bytes have memory, or none has.
    ALLOT_ALWAYS_INLINE void confirm() noexcept { ledger_.confirm(std::exchange(held_, 0)); }
    ALLOT_ALWAYS_INLINE void cancel() noexcept { ledger_.cancel(std::exchange(held_, 0)); }
    // These bytes have memory; they are confirmed by settle(), in a place where the ledger may be called.
    void use(std::size_t bytes) noexcept {
        held_ -= bytes;
        used_ += bytes;
    }
    ALLOT_ALWAYS_INLINE void settle() noexcept {
        if (used_ != 0) ledger_.confirm(std::exchange(used_, 0));
        if (held_ != 0) cancel();
    }

  private:
    ALLOT_NO_UNIQUE_ADDRESS sys::section inside_; // a child of fork() would have them held for ever
    Ledger& ledger_;
    std::size_t held_ = 0; // charged, without memory
    std::size_t used_ = 0; // charged, with memory, not confirmed
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
