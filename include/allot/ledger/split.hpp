// ledger::split: the pages of an object are charged in equal parts to several accounts, and the rest to its own.
//
//     engine -- channel 0 -- global rows      1/n of each page that is shared
//            |- channel 1 -- global rows      the same
//            `- global                        bytes that n does not divide, and books
//
// A part of a page is held by each account before the page is taken, always in the same order; where one refuses, all
// are cancelled, and the request is that account's: its reclaimers are asked, and it waits there.
// Invariant: each part-paying account is charged the same, to the byte, once no request is under way; the sum of all is
// the pages. Cost: per page a short lock for each account. Threads: any.
// Source: the global and slave managers of HPCC roxiemem, 2015, which count a page for the limits alone.
#pragma once

#include <allot/account/account.hpp>
#include <allot/account/memory_request.hpp>
#include <allot/account/tenant.hpp>
#include <allot/config.hpp>
#include <allot/core/category/ledger.hpp>
#include <allot/core/policies.hpp>
#include <allot/core/text.hpp>
#include <allot/core/units.hpp>
#include <allot/core/values.hpp>
#include <allot/ledger/page_ledger.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/sync/pause.hpp>

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace allot::inline ALLOT_ABI {

namespace ledger {

/// Pages are charged in equal parts to the accounts of a split_among.
struct split {
    using category = category::ledger;
    using needs = types<>;
    using provides = types<property::accounts>;
    static constexpr bool charges = true;
    static constexpr std::string_view about =
        "equal parts to the accounts of a split_among; the rest to an account of the object";
    static constexpr std::string_view cost = "a short lock per page for each account";
};

static_assert(category::ledger::takes<split>);

} // namespace ledger

/// For the constructor of an object under ledger::split: the accounts that pay equal parts, of one tree, 4096 at most.
/// They outlive it.
struct split_among {
    std::span<account* const> accounts;
};

class split_ledger : public tree_ledger, detail::part_payers {
  public:
    using values = types<allot::limit, allot::account, allot::split_among, judged_by>;
    static constexpr bool charges_others = true; // than its own account
    static constexpr std::size_t most_parts = 4096;
    static constexpr unsigned most_tries = 1000;

    explicit split_ledger(std::size_t limit = SIZE_MAX) noexcept : pages_(limit, "") {}
    template <class... Values>
    split_ledger(std::size_t limit, const char* text, Values&... given)
        : tree_ledger(SIZE_MAX, text, given...), pages_(limit, text) {
        for (allot::account* const a : value_or<split_among>({}, given...).accounts) parts_.emplace_back(*a, text);
        account().node().parts = this;
    }
    // The object has reported what is left at its end.
    ~split_ledger() {
        leave();
        for (part& p : parts_)
            if (const std::size_t left = p.pays.used(); left != 0) p.pays.refund(left);
    }

    bool try_charge(std::size_t bytes, detail::memory_request& asked) noexcept {
        if (!pages_.try_charge(bytes, asked)) return false;
        if (is_exceeded()) detail::return_idle_beyond_limits(account().node());
        for (unsigned tries = 1;; ++tries) {
            if (hold_all(bytes, asked)) return true;
            if (tries == most_tries || !is_beside_held_bytes(asked.why)) return pages_.cancel(bytes), false;
            yield(); // two that hold parts are in each other's way
        }
    }
    void confirm(std::size_t bytes) noexcept {
        pages_.confirm(bytes);
        const std::size_t each = part_of(bytes), rest = bytes - each * parts_.size();
        for (part& p : parts_) p.pays.confirm(each);
        if (rest != 0) tree_ledger::confirm(rest);
    }
    void cancel(std::size_t bytes) noexcept {
        const std::size_t each = part_of(bytes), rest = bytes - each * parts_.size();
        if (rest != 0) tree_ledger::cancel(rest);
        undo(parts_.size(), each);
        pages_.cancel(bytes);
    }
    void refund(std::size_t bytes) noexcept {
        refund(bytes, [] {});
    }
    template <class OnRefunded> void refund(std::size_t bytes, OnRefunded on_refunded) noexcept {
        pages_.refund(bytes);
        refund_parts(0, part_of(bytes), bytes, on_refunded);
    }
    bool is_exceeded() const noexcept {
        if (pages_.is_exceeded() || tree_ledger::is_exceeded()) return true;
        if (!may_be_exceeded()) return false;
        for (const part& p : parts_)
            if (p.pays.over_limit()) return true;
        return false;
    }

    // Of all pages, and books, which the limit does not count.
    std::size_t used() const noexcept { return pages_.used() + books().charged(); }
    std::size_t peak() const noexcept { return pages_.peak(); }
    std::size_t limit() const noexcept { return pages_.limit(); }
    void set_limit(std::size_t bytes) noexcept {
        pages_.set_limit(bytes);
        notify_unused();
    }
    void notify_unused() const noexcept {
        tree_ledger::notify_unused();
        for (const part& p : parts_) p.pays.notify_unused();
    }
    void free_ahead() const noexcept {
        tree_ledger::free_ahead();
        for (const part& p : parts_) detail::free_ahead(p.pays.node());
    }
    void join(tenant& object) noexcept {
        tree_ledger::join(object);
        for (part& p : parts_) {
            p.idle.emplace(p.pays, caches(), parts_.size());
            p.pays.add(*p.idle);
            p.idle->settle_waits();
        }
    }
    void leave() noexcept {
        for (part& p : parts_) {
            if (p.idle) static_cast<void>(p.pays.remove(*p.idle)); // waits for a call of it
            p.idle.reset();
        }
        tree_ledger::leave();
    }

  private:
    struct part {
        part(allot::account& of, const char* what) noexcept : pays(of, named(what, of.name())) {}
        name named(const char* what, const char* of) noexcept {
            text_writer{text}.put(*what != 0 ? what : "shared").put(" of ").put(of);
            return name{text};
        }
        char text[64] = "";
        mutable allot::account pays; // below the account that was passed
        std::optional<idle_pages> idle;
    };

    bool has_one_below(const detail::tree_node& at) const noexcept override {
        for (const part& p : parts_)
            if (p.pays.node().is_below(at)) return true;
        return false;
    }
    // Whole pages, and so each number of them, have whole parts: the same for two pages as for one twice.
    std::size_t part_of(std::size_t bytes) const noexcept {
        return parts_.empty() ? 0 : bytes / most_parts * (most_parts / parts_.size());
    }
    // Of all parts, or of none. Where it holds some, it waits for no others that do.
    bool hold_all(std::size_t bytes, detail::memory_request& asked) noexcept {
        const std::size_t each = part_of(bytes), rest = bytes - each * parts_.size();
        std::size_t n = 0;
        const auto hold = [&](allot::account& by, std::size_t some) {
            const detail::charge_wait most{.wait = asked.wait, .judged = asked.judged, .holds = n != 0};
            const charge_status s = detail::charge_slow(by.node(), some, detail::charge_mode::held, most);
            return s || (asked.refuse(s), false);
        };
        while (n != parts_.size() && hold(parts_[n].pays, each)) ++n;
        if (n == parts_.size() && (rest == 0 || hold(account(), rest))) return true;
        undo(n, each);
        return false;
    }
    void undo(std::size_t parts, std::size_t each) noexcept {
        while (parts != 0) parts_[--parts].pays.cancel(each);
    }
    // Whether the refused part fits beside what is confirmed: held bytes of others, or of other parts, were in its way.
    static bool is_beside_held_bytes(const charge_status& why) noexcept {
        const detail::account_node* const at = detail::refuser_in(why);
        if (at == nullptr || why.outcome != charge_outcome::over_limit) return false;
        const detail::locked_tree scope(*at, detail::leave_drained);
        return why.requested <= at->totals().limit() &&
               at->totals().confirmed() <= at->totals().limit() - why.requested;
    }
    // Each before the listeners of the ones before it.
    template <class OnRefunded>
    void refund_parts(std::size_t from, std::size_t each, std::size_t bytes, OnRefunded& on_refunded) noexcept {
        if (from != parts_.size())
            return parts_[from].pays.refund(each, [&] { refund_parts(from + 1, each, bytes, on_refunded); });
        const std::size_t rest = bytes - each * parts_.size();
        if (rest == 0) on_refunded();
        else tree_ledger::refund(rest, on_refunded);
    }

    page_ledger pages_;
    std::deque<part> parts_;
};

namespace detail {

template <> struct ledger_state<ledger::split> {
    using type = split_ledger;
};

} // namespace detail

} // namespace allot::inline ALLOT_ABI
