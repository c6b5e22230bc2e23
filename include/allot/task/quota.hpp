// A quota: bytes that are promised to several accounts, all of them or none, before they are charged.
//
//     allot::account sort{engine, name{"sort"}}, merge{engine, name{"merge"}};
//     allot::quota sure{engine};
//     if (const charge_status s = sure.request({{sort, 2_GiB}, {merge, 1_GiB}}, 10_s); !s) return s;
//     ...                                                  // what these two charge now fits, up to that
//     sure.request({{sort, 3_GiB}, {merge, 512_MiB}}, 0_ms);    // other promises, or these stay
//     sure.hold(sort);                                          // what it uses now stays promised
//
// A promise is a floor of the account: what is promised and what is charged are one number, and promises of several
// quotas to one account add up. What a batch needs is computed when it is granted, from what is in use then, and is
// granted in one step. While it waits it keeps nothing that it had not before: it is one request in the queue of the
// account that refuses it, patiently; so one that is large is passed by others a bounded number of times
// (docs/short-of-memory.md). One that cannot fit is refused at once; one of whose accounts closes, or gets too low a
// limit, then.
// Invariant: at any moment the parent counts all promises of a batch, or those before. Cost: 512 bytes, and 104 bytes
// per promise; the tree's lock for each batch. Threads: one at a time; while a request is queued: cancel() alone, by
// any.
// Source: Mars' QuotaActor, 2018, which computed what a batch adds when it was queued, and promised more than it had.
#pragma once

#include <allot/account/account.hpp>
#include <allot/account/account_reservation.hpp>
#include <allot/account/queued_reservation.hpp>
#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/reclaim/wait_limit.hpp>

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

namespace allot::inline ALLOT_ABI {

/// Requires: the accounts outlive it.
class quota {
  public:
    /// That many bytes are to be promised to the account in all, by this quota.
    struct share {
        account& of;
        std::size_t bytes;
    };
    /// Of accounts that are made below `parent`.
    explicit quota(account& parent) noexcept : parent_(parent.node()) {}
    quota(const quota&) = delete;
    quota& operator=(const quota&) = delete;
    /// Calls cancel() and release().
    ~quota() { static_cast<void>(cancel()); }

    /// Promises what the batch says; accounts that it does not name keep what they have. Bytes that one gives up, and
    /// does not use, serve the others first.
    /// Returns: a status that fits. Else nothing has changed: it says which account refused, or is `misused`: an
    /// account twice, or of another parent; or a request is queued.
    /// Throws: std::bad_alloc; nothing has changed then.
    charge_status request(std::span<const share> batch, const wait_limit& wait) {
        if (const charge_status s = prepare(batch); !s || promises_.empty()) return s;
        return end(detail::reserving::reserve({parent_, promises_}, wait));
    }
    charge_status request(std::initializer_list<share> batch, const wait_limit& wait) {
        return request(std::span(batch.begin(), batch.size()), wait);
    }
    /// The same, and no thread waits: `then` is called once, as the callback of a reservation_request, if the status is
    /// `queued`.
    ALLOT_OUTLINE charge_status request(std::span<const share> batch, std::function<void(const charge_status&)> then) {
        if (const charge_status s = prepare(batch); !s || promises_.empty()) return s;
        then_ = std::move(then);
        const charge_status s = later_.reserve_or_queue({parent_, promises_});
        return s.outcome != charge_outcome::queued ? end(s) : s;
    }
    charge_status request(std::initializer_list<share> batch, std::function<void(const charge_status&)> then) {
        return request(std::span(batch.begin(), batch.size()), std::move(then));
    }
    /// Any thread. True: a request was queued, and its callback is never called.
    bool cancel() noexcept { return later_.cancel(); }

    /// Promises no more than the account uses now.
    void hold(const account& of) noexcept {
        if (promise* const p = find(of)) p->made.shrink_to(of.used());
    }
    /// Promises it nothing.
    void release(const account& of) noexcept {
        if (promise* const p = find(of)) p->made.release();
    }
    void release() noexcept { std::exchange(promises_, {}).clear(); } // a callback of others may request here
    /// Bytes that this quota promises to the account.
    std::size_t promised(const account& of) const noexcept {
        const promise* const p = find(of);
        return p != nullptr ? p->made.bytes() : 0;
    }

  private:
    using promise = detail::reservation_change;

    promise* find(const account& of) noexcept {
        for (promise& p : promises_)
            if (p.of == &of.node()) return &p;
        return nullptr;
    }
    const promise* find(const account& of) const noexcept { return const_cast<quota*>(this)->find(of); }

    charge_status prepare(std::span<const share> batch) {
        const auto misused = [](std::size_t bytes, const char* what) {
            return charge_status{.outcome = charge_outcome::misused, .requested = bytes, .name = what};
        };
        if (later_.is_queued()) return misused(0, "a request of this quota is queued");
        for (std::size_t i = 0; i != batch.size(); ++i) {
            if (batch[i].of.node().above() != &parent_)
                return misused(batch[i].bytes, "the account is no child of the quota's");
            for (std::size_t j = 0; j != i; ++j)
                if (&batch[i].of == &batch[j].of) return misused(batch[i].bytes, "an account is twice in a batch");
        }
        static_cast<void>(end({}));
        promises_.reserve(promises_.size() + batch.size());
        for (promise& p : promises_) p.wanted = p.made.bytes();
        for (const share& s : batch) {
            if (promise* const p = find(s.of)) p->wanted = s.bytes;
            else if (s.bytes != 0) promises_.push_back({&s.of.node(), detail::reserves::floor, s.bytes, {}});
        }
        return {};
    }
    // Forgets promises of nothing, which would delay the end of a closing account.
    const charge_status& end(const charge_status& s) noexcept {
        std::erase_if(promises_, [](const promise& p) { return p.made.bytes() == 0; });
        return s;
    }
    static void granted(void* context, account_reservation&& how) {
        auto& me = *static_cast<quota*>(context);
        std::exchange(me.then_, nullptr)(me.end(how.status())); // the last access
    }

    detail::account_node& parent_;
    std::vector<promise> promises_;
    std::function<void(const charge_status&)> then_;
    detail::queued_reservation later_{&granted, this}; // ends first
};

} // namespace allot::inline ALLOT_ABI
