// The books of an object: what the library allocates for it beside its pages, such as heaps, caches of threads, tables.
//
//     if (!books.pay(asked)) return nullptr;   // for those that were made before; refused: nothing has changed
//     heap* const h = new (std::nothrow) heap;
//     if (h != nullptr) books.owe(sizeof *h);  // also with a lock held, where nothing may be charged
//
// ledger/account_books.hpp charges them to an account. An object without an account, or of a device's memory, has none.
// Invariant: what is owed is one book, or the growth of one, and caches of threads until that is much.
// Cost: a virtual call per book; nothing on a warm path. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/request/memory_request.hpp>

#include <atomic>
#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

class books {
  public:
    books() = default;
    books(const books&) = delete;
    books& operator=(const books&) = delete;

    // Charges what is owed. False: refused, and it is still owed. Call with no lock held: it calls listeners.
    ALLOT_ALWAYS_INLINE bool pay(memory_request& asked) noexcept {
        return ALLOT_LIKELY(owed_.load(std::memory_order_relaxed) <= 0) || pay_owed(asked);
    }
    // Books were made.
    void owe(std::size_t bytes) noexcept { owed_.fetch_add(signed_of(bytes), std::memory_order_relaxed); }
    // No cache is made for a further thread: that is done where nothing may be charged.
    bool owes_much() const noexcept { return owed_.load(std::memory_order_relaxed) > std::ptrdiff_t{8} << 10; }
    // Books were freed. They pay for what is owed; the rest is idle: the next ones need no charge.
    void end(std::size_t bytes) noexcept {
        if (owed_.fetch_sub(signed_of(bytes), std::memory_order_relaxed) < signed_of(bytes)) note_idle();
    }

  protected:
    ~books() = default;
    virtual bool pay_owed(memory_request& asked) noexcept = 0;
    virtual void note_idle() noexcept = 0; // under any lock

    static constexpr std::ptrdiff_t signed_of(std::size_t bytes) noexcept { return static_cast<std::ptrdiff_t>(bytes); }
    // Takes all bytes that are owed, or that are idle; returns how many.
    std::size_t take_owed() noexcept { return take(1); }
    std::size_t take_idle() noexcept { return take(-1); }
    bool has_idle() const noexcept { return owed_.load(std::memory_order_relaxed) < 0; }

  private:
    std::size_t take(std::ptrdiff_t sign) noexcept {
        std::ptrdiff_t now = owed_.load(std::memory_order_relaxed);
        while (now * sign > 0 && !owed_.compare_exchange_weak(now, 0, std::memory_order_relaxed)) {
        }
        return now * sign > 0 ? static_cast<std::size_t>(now * sign) : 0;
    }

    // Bytes, in one word: so nothing is idle while as much is owed. Less than 0: paid, and idle.
    std::atomic<std::ptrdiff_t> owed_{0};
};

// As books, for an object that may have none (null).
class books_of_object {
  public:
    explicit books_of_object(books* of) noexcept : of_(of) {}
    explicit operator bool() const noexcept { return of_ != nullptr; }
    ALLOT_ALWAYS_INLINE bool pay(memory_request& asked) const noexcept { return of_ == nullptr || of_->pay(asked); }
    bool owes_much() const noexcept { return of_ != nullptr && of_->owes_much(); }
    // Of malloc: a quarter more, since it has gaps, and keeps what is freed.
    void owe(std::size_t bytes) const noexcept { owe_pages(bytes + bytes / 4); }
    void end(std::size_t bytes) const noexcept { end_pages(bytes + bytes / 4); }
    // Of mappings.
    void owe_pages(std::size_t bytes) const noexcept {
        if (of_ != nullptr) of_->owe(bytes);
    }
    void end_pages(std::size_t bytes) const noexcept {
        if (of_ != nullptr) of_->end(bytes);
    }

  private:
    books* of_;
};

// Of the object that charges this ledger, and whose memory the host touches, or not.
template <class Ledger> books_of_object books_of(Ledger& ledger, bool host_access) noexcept {
    if constexpr (requires { ledger.books(); }) return books_of_object{host_access ? &ledger.books() : nullptr};
    else return books_of_object{nullptr};
}

// In bytes.
template <class Ledger> std::size_t charged_books([[maybe_unused]] const Ledger& ledger) noexcept {
    if constexpr (requires { ledger.books(); }) return ledger.books().charged();
    else return 0;
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
