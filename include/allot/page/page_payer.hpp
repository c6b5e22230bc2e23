// The payer of an arena: it is charged for committed pages, those that are taken, and free ones that may hold memory of
// the system. A private arena has one, its owner's ledger; a shared arena has none.
//
// The owner charges pages when they are committed (page/charged_pages.hpp). The arena asks the payer to refund them
// when they have returned to the system, by any thread.
// Invariant: committed pages x page size is charged. Cost: a virtual call per run of pages that returns. Threads: any.
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

class page_payer {
  public:
    // A run of free pages that has returned to the system, and that no request finds before free().
    class returned_run {
      public:
        virtual void free() noexcept = 0;

      protected:
        ~returned_run() = default;
    };

    page_payer() = default;
    page_payer(const page_payer&) = delete;
    page_payer& operator=(const page_payer&) = delete;

    // Whether a limit may bound the bytes: without one nothing is gained by counting what the system fills beside a
    // page.
    virtual bool is_limited() const noexcept = 0;
    // Refunds bytes of a run. Calls run.free() once others can charge them, before it calls listeners.
    virtual void refund(std::size_t bytes, returned_run& run) noexcept = 0;

  protected:
    ~page_payer() = default;
};

// Refunds to a ledger. It lives longer than the arena.
template <class Ledger> class ledger_payer final : public page_payer {
  public:
    explicit ledger_payer(Ledger& ledger) noexcept : ledger_(ledger) {}

    bool is_limited() const noexcept override {
        if constexpr (requires { Ledger::calls_listeners; }) return true; // by accounts above, too
        else if constexpr (requires(const Ledger& l) { l.limit(); }) return ledger_.limit() != SIZE_MAX;
        else return false;
    }
    void refund(std::size_t bytes, returned_run& run) noexcept override {
        if constexpr (requires { Ledger::calls_listeners; }) {
            ledger_.refund(bytes, [&] { run.free(); });
        } else {
            ledger_.refund(bytes);
            run.free();
        }
    }

  private:
    Ledger& ledger_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
