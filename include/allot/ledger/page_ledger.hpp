// The states behind ledger::counter and ledger::none: count the bytes of pages that an object uses.
//
// A charge is checked and committed by one compare-and-swap, so a charge that does not fit is never visible, neither to
// another request nor in the peak.
// Invariant: used <= limit after every charge. A limit set below used refuses charges until enough is refunded.
// Cost: one compare-and-swap per charge; 56 bytes, none for ledger::none. Threads: any.
// Source: Drill's accountant, 2014, which charges first and checks then: the mistake that this avoids.
#pragma once

#include <allot/config.hpp>
#include <allot/core/category/ledger.hpp>
#include <allot/core/policies.hpp>
#include <allot/core/units.hpp>
#include <allot/request/ladder.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/request/shared_level.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace allot::inline ALLOT_ABI {
namespace detail {

// Counts bytes against a hard limit. A page is charged, then taken, then confirmed, or cancelled if there is none.
class page_ledger {
  public:
    using values = types<allot::limit>; // what an object's constructor takes for it

    explicit page_ledger(std::size_t limit = SIZE_MAX) noexcept : limit_(limit) {}
    template <class... Values>
    page_ledger(std::size_t limit, const char* name, const Values&...) noexcept : limit_(limit), name_(name) {}

    // False if used + bytes would exceed the limit; nothing has changed then, and the request says so.
    bool try_charge(std::size_t bytes, detail::memory_request& asked) noexcept {
        std::size_t used = used_.load(std::memory_order_relaxed);
        do {
            const std::size_t most = limit_.load(std::memory_order_relaxed);
            if (ALLOT_UNLIKELY(used > most || bytes > most - used)) return refuse(asked, bytes, used, most);
        } while (
            !used_.compare_exchange_weak(used, used + bytes, std::memory_order_acquire, std::memory_order_relaxed));
        return true;
    }
    static detail::no_level steps(std::uint32_t) noexcept { return {}; }
    // Requests that the limit refuses wait there: the level of the object's pages, which serve them, too.
    void waits_at(detail::shared_level& of_pages) noexcept { at_ = &of_pages; }
    // Charged bytes are in use now: they count in the peak.
    void confirm(std::size_t bytes) noexcept {
        const std::size_t now = confirmed_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
        std::size_t peak = peak_.load(std::memory_order_relaxed);
        while (peak < now && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
        }
    }
    // Returns charged bytes that were not confirmed.
    void cancel(std::size_t bytes) noexcept {
        used_.fetch_sub(bytes, std::memory_order_seq_cst);
        gave();
    }
    // Returns charged and confirmed bytes.
    void refund(std::size_t bytes) noexcept {
        confirmed_.fetch_sub(bytes, std::memory_order_relaxed);
        used_.fetch_sub(bytes, std::memory_order_seq_cst); // a later charge of these bytes sees the lower confirmed_
        gave();
    }

    bool is_exceeded() const noexcept { return used() > limit(); }
    // Not 0: the limit was set below what was used, once (ledger/tree.hpp).
    const std::atomic<std::uint32_t>& strain() const noexcept { return strain_; }

    std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
    std::size_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }
    std::size_t limit() const noexcept { return limit_.load(std::memory_order_relaxed); }
    void set_limit(std::size_t bytes) noexcept {
        limit_.store(bytes, std::memory_order_seq_cst);
        if (is_exceeded()) strain_.store(1, std::memory_order_relaxed);
        gave();
    }

  private:
    void gave() const noexcept { at_->gave(); }
    ALLOT_COLD bool refuse(detail::memory_request& asked, std::size_t bytes, std::size_t used,
                           std::size_t limit) const noexcept {
        asked.refuse({charge_outcome::over_limit, {}, refuser::limit, 0, nullptr, bytes, used, limit, name_}, at_);
        return false;
    }

    std::atomic<std::size_t> used_{0};      // charged: held and confirmed
    std::atomic<std::size_t> confirmed_{0}; // the confirmed part of used_
    std::atomic<std::size_t> peak_{0};
    std::atomic<std::size_t> limit_;
    std::atomic<std::uint32_t> strain_{0};
    const char* name_ = ""; // of the object whose limit this is
    detail::shared_level* at_ = &detail::the_system();
};

// Charges nothing; only the arena bounds the pages.
class no_ledger {
  public:
    using values = types<>;

    explicit no_ledger(std::size_t = SIZE_MAX) noexcept {}
    template <class... Values> no_ledger(std::size_t, const char*, const Values&...) noexcept {}
    bool try_charge(std::size_t, detail::memory_request&) noexcept { return true; }
    static bool is_exceeded() noexcept { return false; }
    static const std::atomic<std::uint32_t>& strain() noexcept {
        static constinit const std::atomic<std::uint32_t> none{0};
        return none;
    }
    static detail::no_level steps(std::uint32_t) noexcept { return {}; }
    void confirm(std::size_t) noexcept {}
    void cancel(std::size_t) noexcept {}
    void refund(std::size_t) noexcept {}
};

template <class Answer> struct ledger_state;
template <> struct ledger_state<ledger::counter> {
    using type = page_ledger;
};
template <> struct ledger_state<ledger::none> {
    using type = no_ledger;
};

template <class Answer> using ledger_of = typename detail::ledger_state<Answer>::type;

} // namespace detail

static_assert(std::is_empty_v<detail::no_ledger>);

} // namespace allot::inline ALLOT_ABI
