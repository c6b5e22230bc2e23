// ledger::pool: for a pool of memory whose blocks are charged to other accounts, as those of buffers are.
//
//     engine (limit) -- scan                      a buffer: its block
//                    `- the pool's own account    the pages of the pool, but for blocks of buffers
//
// Pages are charged to the pool's own account, a child of the account passed in. A buffer of an account below that one
// takes its block over, so that the levels above count each byte once, and gives it back when it is released. The
// pool's own limit counts all its pages.
// What that account has reserved pays for new pages, too, where levels above both have no more room: the pool owes
// these bytes to it then, as those of a block that comes back beside what is reserved (tree/account_tree.hpp).
// Invariant: the own account is charged for the pages, less the blocks that are lent. Cost: that of ledger::tree, a
// compare-and-swap per page, and 48 bytes; two compare-and-swaps more for a buffer and its release within the credits,
// else one short lock. Threads: any.
// Source: Drill's root allocator, 2014, which counts buffers alone: what its pool keeps is in no limit.
#pragma once

#include <allot/account/account.hpp>
#include <allot/config.hpp>
#include <allot/core/category/ledger.hpp>
#include <allot/core/policies.hpp>
#include <allot/core/units.hpp>
#include <allot/core/values.hpp>
#include <allot/ledger/page_ledger.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/request/memory_request.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <utility>

namespace allot::inline ALLOT_ABI {

namespace ledger {

/// Pages are charged once: to the accounts of the buffers that use them, the rest to an account of the pool.
struct pool {
    using category = category::ledger;
    using needs = types<>;
    using provides = types<property::accounts>;
    static constexpr bool charges = true;
    static constexpr std::string_view about =
        "the accounts of its buffers; for other pages an account of the pool, a child of the account passed to it";
    static constexpr std::string_view cost = "one short lock per page; for a buffer two compare-and-swaps more";
};

static_assert(category::ledger::takes<pool>);

} // namespace ledger

namespace detail {

class pool_ledger : public tree_ledger {
  public:
    using values = types<allot::limit, allot::account, judged_by>;

    explicit pool_ledger(std::size_t limit = SIZE_MAX) noexcept : pool_ledger(limit, "") {}
    template <class... Values>
    // g++ -Wshadow takes what a lambda captures for a declaration that may shadow the user's.
    pool_ledger(std::size_t limit, const char* its_name, Values&... given) noexcept
        : tree_ledger(std::in_place, [&] { return account_of(its_name, given...); }), pages_(limit, its_name) {}

    void waits_at(detail::shared_level& at) noexcept { pages_.waits_at(at); }
    ALLOT_OUTLINE_WARM bool try_charge(std::size_t bytes, detail::memory_request& asked) noexcept {
        if (!pages_.try_charge(bytes, asked)) return false;
        charge_status beside; // of what is reserved
        if (asked.promised != nullptr && asked.promised->hold(account().node(), bytes, beside)) return true;
        if (tree_ledger::try_charge(bytes, asked)) return true;
        if (!beside) asked.refuse(beside);
        return pages_.cancel(bytes), false;
    }
    void confirm(std::size_t bytes) noexcept {
        pages_.confirm(bytes);
        tree_ledger::confirm(bytes);
    }
    void cancel(std::size_t bytes) noexcept {
        pages_.cancel(bytes);
        tree_ledger::cancel(bytes);
    }
    void refund(std::size_t bytes) noexcept {
        refund(bytes, [] {});
    }
    template <class OnRefunded> void refund(std::size_t bytes, OnRefunded on_refunded) noexcept {
        pages_.refund(bytes);
        tree_ledger::refund(bytes, on_refunded);
        if (pages_.used() == 0) return_credit();
    }
    bool is_exceeded() const noexcept { return pages_.is_exceeded() || tree_ledger::is_exceeded(); }

    // Of all pages, and books, which the limit does not count.
    std::size_t used() const noexcept { return pages_.used() + books().charged(); }
    std::size_t peak() const noexcept { return pages_.peak(); }
    std::size_t limit() const noexcept { return pages_.limit(); }
    void set_limit(std::size_t bytes) noexcept {
        pages_.set_limit(bytes);
        if (pages_.is_exceeded()) detail::note_exceeded(account().node());
        notify_unused();
    }

    // From which account buffers of `by` take their blocks over; null: it is in another tree.
    allot::account* lender_to(const allot::account& by) const noexcept {
        return &by.root() == &account().root() ? &account() : nullptr;
    }

  private:
    void return_credit() noexcept {
        detail::change_tree(account().node(), [&](detail::tree_change&) { account().node().close_credit(); });
    }
    template <class... Values>
    static allot::account account_of(const char* text, [[maybe_unused]] Values&... values) noexcept {
        detail::check_arbiter_of_account<Values...>();
        const name who{*text != 0 ? text : "pool"};
        if constexpr (given<allot::account, Values&...>)
            return allot::account{pick<allot::account>(values...), who, credit_step{}, std::nothrow};
        else return allot::account{who, credit_step{}, value_or<judged_by>({}, values...), std::nothrow};
    }

    page_ledger pages_;
};

template <> struct ledger_state<ledger::pool> {
    using type = pool_ledger;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
