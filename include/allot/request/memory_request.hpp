// A request for memory, on its way from the product that was asked down to what grants or refuses it, and back.
//
// It is made on the stack where a request leaves the warm path, and is passed by reference. What refuses an attempt
// writes the reason here; the product that was asked reports it.
// Invariant: `why` is that of the last attempt that was refused. Cost: 128 bytes of stack, nothing on a warm path.
// Threads: its own.
#pragma once

#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/function_ref.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
struct wait_limit; // reclaim/wait_limit.hpp

namespace detail {

// A request for what is in caches alone.
struct from_caches {};
class promised_pages; // account_transfer.hpp
class reserved_need;  // wait_queue.hpp
class shared_level;   // shared_level.hpp

// What a reservation is (account/account_reservation.hpp), or that a request only hears that bytes are free.
enum class reserves : std::uint8_t { to_come, floor, look };

// An attempt of a request: whether it was granted. It gets `Args` by reference.
template <class... Args> using attempt_with = function_ref<bool(Args&...)>;
using attempt_ref = attempt_with<>;

// Memory that a request holds beside what its next attempt asks for, while it takes steps: never while it waits.
class held_memory {
  public:
    // Gives it to its source, and calls then(), in which that returns it to its levels: what the request had does not
    // wake it.
    virtual void let_go(attempt_ref then) noexcept = 0;

  protected:
    ~held_memory() = default;
};

// How far a request goes.
struct charge_wait {
    const wait_limit* wait = nullptr; // null: it does not wait, unless:
    bool judged = false;              // it waits on a thread that the root's arbiter knows
    bool is_attempt = false;          // of a charge: the caller climbs, and makes its request again
};
inline constexpr charge_wait never_waits{}, judged_on_its_thread{.judged = true};

struct memory_request : charge_wait {
    explicit memory_request(std::size_t requested, const charge_wait& most = {}) noexcept
        : charge_wait(most), bytes(requested) {}
    memory_request(const memory_request&) = delete;
    memory_request& operator=(const memory_request&) = delete;

    // Each returns null or false, as the function that refuses does. `by`: the level that refuses, if it is no account;
    // null: the system. It outlives the request.
    ALLOT_COLD std::nullptr_t refuse(const charge_status& s, shared_level* by = nullptr) noexcept {
        return why = s, refused_at = by, nullptr;
    }
    // A refusal without numbers: a misuse, which `what` describes, or no memory of the host.
    ALLOT_COLD std::nullptr_t refuse(charge_outcome outcome, std::size_t requested, const char* what = "") noexcept {
        return refuse({.outcome = outcome, .requested = requested, .name = what});
    }
    // Why it is refused; what gives no reason has no memory.
    ALLOT_OUTLINE_WARM charge_status refusal() const noexcept {
        if (why.outcome == charge_outcome::no_address_space && stays)
            return {
                .outcome = charge_outcome::misused, .requested = bytes, .name = "it would have to move, and cannot"};
        return why.charged() ? charge_status{.outcome = charge_outcome::no_memory, .requested = bytes} : why;
    }
    // For the out parameter of a product, which may be null.
    void report(charge_status* to, bool granted) const noexcept {
        if (to != nullptr) *to = granted ? charge_status{} : refusal();
    }

    const std::size_t bytes; // that the caller of the product asked for
    charge_status why;
    shared_level* refused_at = nullptr; // where no account has: as refuse() says
    std::size_t returned = 0;           // idle pages that attempts have returned to the system, in bytes

    // ---- how it climbs (ladder.hpp)
    bool charges_others = false; // it needs further accounts, which its account does not know
    bool stays = false;          // it is for what cannot move, so only pages at one place serve it
    bool of_charge = false;      // `why` is that of a charge, which is counted where the request waits or fails
    bool is_in_turn = false;     // this attempt may take unused memory: it was asked (page/charged_pages.hpp)
    const reserved_need* reserves = nullptr;
    promised_pages* promised = nullptr;            // what may pay for pages of a pool; null: its own account alone
    held_memory* holds = nullptr;                  // null: nothing
    std::atomic<std::uint32_t>* waiting = nullptr; // of the product: requests that wait for what it has in pages
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
