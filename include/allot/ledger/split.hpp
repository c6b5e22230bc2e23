// ledger::split: the pages of an object are charged in equal parts to several accounts, and the rest to its own.
//
//     engine -- channel 0 -- global rows      1/n of each page that is shared
//            |- channel 1 -- global rows      the same
//            `- global                        bytes that n does not divide, and books
//
// Before a page is taken all accounts hold their parts of it, with one hold of the tree's lock, or none does; where one
// refuses, the request is that account's: its reclaimers are asked, and it waits there.
// Invariant: each part-paying account is charged the same, to the byte, once no request is under way; the sum of all is
// the pages. Cost: per page a short lock for each account. Threads: any.
// Source: the global and slave managers of HPCC roxiemem, 2015, which count a page for the limits alone.
#pragma once

#include <allot/account/account.hpp>
#include <allot/config.hpp>
#include <allot/core/category/ledger.hpp>
#include <allot/core/policies.hpp>
#include <allot/core/text.hpp>
#include <allot/core/units.hpp>
#include <allot/core/values.hpp>
#include <allot/ledger/page_ledger.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/request/shared_level.hpp>
#include <allot/request/tenant.hpp>

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

namespace detail {

class split_ledger : public tree_ledger, detail::charged_object {
  public:
    using values = types<allot::limit, allot::account, allot::split_among, judged_by>;
    static constexpr bool charges_others = true; // than its own account
    static constexpr std::size_t most_parts = 4096;

    explicit split_ledger(std::size_t limit = SIZE_MAX) noexcept : pages_(limit, "") {}
    template <class... Values>
    split_ledger(std::size_t limit, const char* text, Values&... given)
        : tree_ledger(SIZE_MAX, text, given...), pages_(limit, text) {
        for (allot::account* const a : value_or<split_among>({}, given...).accounts) parts_.emplace_back(*a, text);
    }
    // The object has reported what is left at its end.
    ALLOT_OUTLINE_WARM ~split_ledger() {
        leave();
        for (part& p : parts_)
            if (const std::size_t left = p.pays.used(); left != 0) p.pays.refund(left);
    }

    void waits_at(detail::shared_level& at) noexcept { pages_.waits_at(at); }
    bool try_charge(std::size_t bytes, detail::memory_request& asked) noexcept {
        if (!pages_.try_charge(bytes, asked)) return false;
        if (is_exceeded()) detail::return_idle_beyond_limits(account().node());
        const std::size_t each = part_of(bytes), rest = bytes - each * parts_.size();
        const auto need = [&](std::size_t i) {
            return i != parts_.size() ? detail::charge_need{&parts_[i].pays.node(), each}
                                      : detail::charge_need{&account().node(), rest};
        };
        const charge_status s = detail::hold_all(parts_.size() + (rest != 0), need, asked);
        if (!s) asked.refuse(s), pages_.cancel(bytes);
        return s.charged();
    }
    template <class GiveIdle> bool may_take(detail::memory_request& asked, GiveIdle give_idle) noexcept {
        for (const part& p : parts_)
            if (detail::goes_behind_due(p.pays.node(), asked, give_idle)) return false;
        return tree_ledger::may_take(asked, give_idle);
    }
    void took(const detail::memory_request& asked) noexcept {
        for (const part& p : parts_) detail::passes(p.pays.node(), asked);
    }
    void confirm(std::size_t bytes) noexcept {
        wake();
        pages_.confirm(bytes);
        const std::size_t each = part_of(bytes), rest = bytes - each * parts_.size();
        for (part& p : parts_) p.pays.confirm(each);
        if (rest != 0) tree_ledger::confirm(rest);
    }
    void cancel(std::size_t bytes) noexcept {
        const std::size_t each = part_of(bytes), rest = bytes - each * parts_.size();
        if (rest != 0) tree_ledger::cancel(rest);
        for (std::size_t n = parts_.size(); n != 0;) parts_[--n].pays.cancel(each);
        pages_.cancel(bytes);
    }
    void refund(std::size_t bytes) noexcept {
        refund(bytes, [] {});
    }
    template <class OnRefunded> void refund(std::size_t bytes, OnRefunded on_refunded) noexcept {
        pages_.refund(bytes);
        refund_parts(0, part_of(bytes), bytes, on_refunded);
    }
    ALLOT_OUTLINE_WARM bool is_exceeded() const noexcept {
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
        if (pages_.is_exceeded()) detail::note_exceeded(account().node());
        notify_unused();
    }
    void notify_unused() noexcept {
        tree_ledger::notify_unused();
        for (const part& p : parts_) static_cast<void>(detail::notify_unused(p.pays.node()));
    }
    void free_ahead() const noexcept {
        tree_ledger::free_ahead();
        for (const part& p : parts_) detail::free_ahead(p.pays.node());
    }
    ALLOT_OUTLINE_WARM void join(tenant& object) noexcept {
        tree_ledger::join(object);
        detail::set_object(account().node(), this);
        for (part& p : parts_) {
            p.idle.emplace(p.pays, caches(), parts_.size());
            p.pays.add(*p.idle);
            detail::set_object(p.pays.node(), &*p.idle);
            p.idle->settle_waits();
        }
    }
    void leave() noexcept {
        for (part& p : parts_) {
            detail::set_object(p.pays.node(), nullptr);
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

    bool is_paid_below(const detail::tree_node& at) const noexcept override {
        for (const part& p : parts_)
            if (p.pays.node().is_below(at)) return true;
        return false;
    }
    // Whole pages, and so each number of them, have whole parts: the same for two pages as for one twice.
    std::size_t part_of(std::size_t bytes) const noexcept {
        return parts_.empty() ? 0 : bytes / most_parts * (most_parts / parts_.size());
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

template <> struct ledger_state<ledger::split> {
    using type = split_ledger;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
