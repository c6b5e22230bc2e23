// The books of an object, charged to its account (account/books.hpp).
//
// The first 4 MiB of books below a root are charged to nobody: they are in the 16 MiB by which resident memory may
// exceed the root's limit. So few objects are charged for their pages alone.
// Books that end stay charged, as idle memory, until return_idle() or the end of the object: the end of a thread
// refunds nothing.
// Invariant: books in use, less those owed, are at most the bytes that are charged or taken from the 4 MiB.
// Cost: 56 bytes; a charge under the tree's lock beyond the 4 MiB. Threads: any.
// Source: metadata that counts in the limit, Linux's kernel memory accounting, 2013.
#pragma once

#include <allot/account/account_charge.hpp>
#include <allot/account/books.hpp>
#include <allot/config.hpp>
#include <allot/core/min_max.hpp>
#include <allot/ledger/rest.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/sync/full_fence.hpp>
#include <allot/sys/fork_gate.hpp>
#include <allot/tree/account_node.hpp>

#include <atomic>
#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

class account_books final : public books {
  public:
    static constexpr std::size_t most_uncharged = std::size_t{4} << 20; // below a root

    // `of`: the object whose books they are.
    account_books(account_node& payer, rest& of) noexcept : payer_(payer), of_(of) {}
    // The ledger refunds what is charged.
    ~account_books() { below_root().fetch_sub(uncharged_.load(), std::memory_order_relaxed); }

    // Refunds what pays for no book. It calls listeners.
    ALLOT_OUTLINE_WARM void return_idle() noexcept {
        if (ALLOT_LIKELY(!has_idle())) return;
        const std::size_t bytes = take_idle(), charged = take(charged_, bytes);
        below_root().fetch_sub(take(uncharged_, bytes - charged), std::memory_order_relaxed);
        if (charged != 0) refund_slow(payer_, charged, [] {});
    }
    std::size_t charged() const noexcept { return charged_.load(std::memory_order_relaxed); }

  private:
    ALLOT_OUTLINE bool pay_owed(memory_request& asked) noexcept override {
        const std::size_t more = take_owed();
        if (more == 0) return true;
        if (take_uncharged(more)) return uncharged_.fetch_add(more, std::memory_order_relaxed), true;
        const sys::section inside; // bytes that are held have an end
        const charge_status s = charge_slow(payer_, more, charge_mode::held, asked);
        if (s.charged()) {
            confirm(payer_, more);
            return charged_.fetch_add(more, std::memory_order_relaxed), true;
        }
        owe(more);
        return asked.refuse(s), false;
    }
    void note_idle() noexcept override {
        full_fence();
        of_.wake();
    }
    // Takes up to `most` bytes; returns how many.
    static std::size_t take(std::atomic<std::size_t>& from, std::size_t most) noexcept {
        std::size_t now = from.load(std::memory_order_relaxed);
        while (now != 0 && !from.compare_exchange_weak(now, now - min(now, most), std::memory_order_relaxed)) {
        }
        return min(now, most);
    }
    bool take_uncharged(std::size_t bytes) noexcept {
        std::size_t now = below_root().load(std::memory_order_relaxed);
        do {
            if (bytes > most_uncharged - now) return false;
        } while (!below_root().compare_exchange_weak(now, now + bytes, std::memory_order_relaxed));
        return true;
    }
    std::atomic<std::size_t>& below_root() const noexcept { return payer_.tree().uncharged_books; }

    account_node& payer_;
    rest& of_;
    std::atomic<std::size_t> uncharged_{0}, charged_{0}; // what pays for books, and what is idle
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
