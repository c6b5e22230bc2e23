// ledger::tree: an object has its own account, a child of the account passed in, or a root without one.
//
// A page is held before it is taken and confirmed afterwards, so a page that could not be taken counts in no peak.
// Invariant: the account's; nothing but pages and books is charged to it. Cost: one account; per page one request under
// the tree's lock, per row nothing. Threads: any. Source: Velox's leaf pools, 2022.
#pragma once

#include <allot/account/account.hpp>
#include <allot/account/account_climb.hpp>
#include <allot/config.hpp>
#include <allot/core/category/ledger.hpp>
#include <allot/core/policies.hpp>
#include <allot/core/raise_refused.hpp>
#include <allot/core/text.hpp>
#include <allot/core/values.hpp>
#include <allot/ledger/account_books.hpp>
#include <allot/ledger/page_ledger.hpp>
#include <allot/ledger/rest.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/request/tenant.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace allot::inline ALLOT_ABI {

namespace ledger {

/// Pages are charged to a tree of accounts.
struct tree {
    using category = category::ledger;
    using needs = types<>;
    using provides = types<property::accounts>;
    static constexpr bool charges = true;
    static constexpr std::string_view about =
        "an account of the object, a child of the account passed to its constructor (docs/accounts.md)";
    static constexpr std::string_view cost = "one short lock per page";
};

static_assert(category::ledger::takes<tree>);

} // namespace ledger

namespace detail {

template <class... Values> constexpr void check_arbiter_of_account() noexcept {
    static_assert(!given<judged_by, Values&...> || !given<account, Values&...>,
                  "allot: an arbiter decides over a whole tree of accounts; give it to the root account");
}
// Outside the class, whose member `account` nvcc confuses with the type.
template <class... Values>
account account_for(std::size_t most, const char* text, [[maybe_unused]] Values&... values) noexcept {
    static_assert(
        !given<credit_step, Values&...>,
        "allot: the account of a row manager, chunk arena or device allocator takes no credit_step, since it is "
        "charged whole pages; remove it, or give it to an account that buffers are charged to");
    check_arbiter_of_account<Values...>();
    const name who{*text != 0 ? text : "pages"};
    const watermark ahead = value_or<watermark>({SIZE_MAX}, values...);
    if constexpr (given<account, Values&...>)
        return account{pick<account>(values...), who, limit{most}, ahead, std::nothrow};
    else return account{who, limit{most}, ahead, value_or<judged_by>({}, values...)};
}

class tree_ledger {
  public:
    // credit_step has its own error, in account_for().
    using values = types<allot::limit, allot::account, allot::watermark, allot::credit_step, allot::judged_by>;
    static constexpr bool calls_listeners = true;

    // An account among the values is the parent.
    template <class... Values>
    tree_ledger(std::size_t limit, const char* name, Values&... given) noexcept
        : account_(detail::account_for(limit, name, given...)) {}
    explicit tree_ledger(std::size_t limit = SIZE_MAX) noexcept : account_(detail::account_for(limit, "")) {}
    // make() returns the account.
    template <class Make> tree_ledger(std::in_place_t, Make make) noexcept : account_(make()) {}
    // The object has reported what is left at its end.
    ~tree_ledger() {
        leave();
        if (const std::size_t left = account_.used(); left != 0) account_.refund(left);
    }

    // A refusal changes nothing.
    bool try_charge(std::size_t bytes, detail::memory_request& asked) noexcept {
        // Bytes that are reserved are asked of no level: where one is exceeded, idle memory goes first.
        if (ALLOT_UNLIKELY(may_be_exceeded())) return_idle_beyond_limits();
        const charge_status s = detail::charge_slow(account_.node(), bytes, detail::charge_mode::held, asked);
        if (ALLOT_UNLIKELY(!s)) asked.refuse(s);
        return s.charged();
    }
    // Makes an attempt again that a limit refused, as long as others return idle memory: what is good to have.
    template <class Attempt> bool try_from_idle(const charge_status& why, Attempt attempt) noexcept {
        return detail::request_from_idle(account_.node(), why, &idle_, attempt);
    }
    // What a request looks at before it takes unused memory of the object; where it is not 0, it calls may_take(), and
    // took() once it has the memory without a charge.
    const std::atomic<std::uint32_t>& strain() const noexcept { return account_.node().tree().strain; }
    // Idle memory beyond a limit leaves first. False: the request goes behind one that is due.
    // give_idle() gives that of the object to its arena.
    template <class GiveIdle> bool may_take(detail::memory_request& asked, GiveIdle give_idle) noexcept {
        if (may_be_exceeded()) return_idle_beyond_limits();
        return !detail::goes_behind_due(account_.node(), asked, give_idle);
    }
    void took(const detail::memory_request& asked) noexcept { detail::passes(account_.node(), asked); }
    void confirm(std::size_t bytes) noexcept {
        wake(); // what is taken may be given back at once: it is asked, and that waited for
        account_.confirm(bytes);
    }
    void cancel(std::size_t bytes) noexcept { account_.cancel(bytes); }
    void refund(std::size_t bytes) noexcept { account_.refund(bytes); }
    template <class OnRefunded> void refund(std::size_t bytes, OnRefunded on_refunded) noexcept {
        account_.refund(bytes, on_refunded);
    }

    // Whether a limit is exceeded, here or above. A load, until one was in the tree.
    bool is_exceeded() const noexcept { return may_be_exceeded() && account_.over_limit(); }

    std::size_t used() const noexcept { return account_.used(); }
    std::size_t peak() const noexcept { return account_.peak(); }
    std::size_t limit() const noexcept { return account_.limit(); }
    void set_limit(std::size_t bytes) noexcept { account_.set_limit(bytes); }

    allot::account& account() const noexcept { return account_; }
    // What the library allocates for the object beside its pages.
    detail::account_books& books() noexcept { return books_; }
    const detail::account_books& books() const noexcept { return books_; }
    // What the account adds to the ladder of the object's requests. `most_cost`: of the reclaimers that are called.
    detail::request_steps steps(std::uint32_t most_cost) const noexcept { return steps(account_.node(), most_cost); }
    // The same for a request that charges another account, too.
    detail::request_steps steps(const detail::account_node& by, std::uint32_t most_cost) const noexcept {
        return {by, most_cost, &idle_};
    }
    // Behind a charge that is confirmed, with no lock held.
    void free_ahead() const noexcept { detail::free_ahead(account_.node()); }
    // Pages or slots of the object have become unused: requests ask for them, also those that wait.
    void notify_unused() noexcept {
        wake();
        static_cast<void>(detail::notify_unused(account_.node()));
    }
    // The object is asked again, since it may have something that no request waits for.
    void wake() noexcept { caches_.rest.wake(); }
    // The same, since it refills a cache: its caches are open again, unless requests wait.
    void open_caches() noexcept {
        caches_.open();
        wake();
    }
    // For the object's constructor: the books of the object itself. False: refused.
    bool open_books(std::size_t bytes, detail::memory_request& asked) noexcept {
        books_.owe(bytes);
        const auto pay = [&] { return books_.pay(asked); };
        return pay() || detail::request_again(account_.node(), asked, pay);
    }
    [[noreturn]] ALLOT_COLD void raise_no_books(const detail::memory_request& asked, const char* set,
                                                const char* name) const {
        const auto request = [&](text_writer& out) {
            out.put("out of memory: ").bytes(asked.why.requested).put(" for the object itself");
        };
        const auto page = [&](text_writer& out) { write_top_holders(out, account_.root(), asked.why); };
        raise_refused(request, set, name, asked.why, asked.why.requested, page,
                      [&](text_writer& out) { account_.write_failures(out, asked.why); });
    }
    // Adds the object whose pages are charged here to its account. leave() removes it, and waits for calls of it.
    ALLOT_OUTLINE_WARM void join(tenant& object) noexcept {
        item_.of = caches_.of = &object;
        account_.add(item_);
        account_.add(idle_);
        detail::set_object(account_.node(), &idle_);
        idle_.settle_waits(); // requests may wait already
    }
    ALLOT_OUTLINE_WARM void leave() noexcept {
        if (item_.of == nullptr) return;
        static_cast<void>(caches_.of->return_idle(SIZE_MAX, false)); // from here on, nobody can ask for it
        detail::set_object(account_.node(), nullptr);
        static_cast<void>(account_.remove(idle_)); // waits for a call of it
        caches_.open();                            // nobody asks it any more
        account_.remove(item_);
        item_.of = nullptr;
    }
    // Writes the top holders of the whole tree, for out-of-memory reports.
    void report(text_writer& out) const noexcept { write_top_holders(out, account_.root()); }

  protected:
    // The caches of an object are shut while requests wait for its memory, at any of its accounts, and while it rests.
    struct object_caches {
        // Until the next refill. False: they are not empty, or the object cannot rest.
        bool shut() noexcept { return set_rests(true) || (set_rests(false), false); }
        void open() noexcept {
            if (of != nullptr) set_rests(false);
        }
        tenant* of = nullptr;
        detail::rest rest;

      private:
        bool set_rests(bool now) noexcept {
            return of->settle(rests_, [=] { return now; });
        }
        bool rests_ = false;
    };
    // The object's idle memory, as a reclaimer of an account that pays for `parts`th parts of it.
    struct idle_pages final : reclaimer, detail::charged_object {
        idle_pages(const allot::account& a, object_caches& by, std::size_t n = 1) noexcept
            : reclaimer(a.name(), reclaimer::idle), at(a), caches(by), parts(n) {}
        bool helps(const shortage&) const noexcept override { return !caches.rest.rests(); } // ahead of need, too
        // One that has nothing, with its caches empty, rests. What it has at hand needs no look into them.
        ALLOT_OUTLINE_WARM bool reclaim(const shortage& s) noexcept override {
            caches.rest.begin();
            const bool is_shut = caches.of->unused() == 0 && caches.shut();
            const std::size_t missing = s.missing();
            const bool some =
                caches.of->return_idle(missing > SIZE_MAX / parts ? SIZE_MAX : missing * parts, s.waits) != 0;
            caches.rest.end(!is_shut || some || caches.of->unused() != 0);
            return some;
        }
        std::size_t reclaimable(const allot::account&) const noexcept override { return unused_bytes(); }
        std::size_t unused_bytes() const noexcept override { return caches.of->unused() / parts; }
        void settle_waits() noexcept override {
            static_cast<void>(caches.of->settle(shut, [this] { return detail::is_waited_for(at.node()); }));
        }
        const allot::account& at;
        object_caches& caches;
        const std::size_t parts;
        bool shut = false;
    };
    bool may_be_exceeded() const noexcept { return account_.node().tree().was_exceeded(); }
    object_caches& caches() noexcept { return caches_; }

  private:
    ALLOT_OUTLINE void return_idle_beyond_limits() const noexcept {
        detail::return_idle_beyond_limits(account_.node());
    }
    struct pages : account_item {
        explicit pages(const char* name) noexcept : account_item("pages", name, &stats_of_pages) {}
        static item_stats stats_of_pages(const account_item& item) noexcept {
            return static_cast<const pages&>(item).of->stats();
        }
        const tenant* of = nullptr;
    };

    mutable allot::account account_;
    object_caches caches_;
    idle_pages idle_{account_, caches_};
    detail::account_books books_{account_.node(), caches_.rest}; // of the object
    pages item_{account_.name()};
};

template <> struct ledger_state<ledger::tree> {
    using type = tree_ledger;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
