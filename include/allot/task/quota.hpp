// A quota: bytes that are promised to several accounts, all of them or none, before they are charged.
//
//     allot::account sort{engine, name{"sort"}}, merge{engine, name{"merge"}};
//     allot::quota sure{engine};
//     if (const charge_status s = sure.request({{sort, 2_GiB}, {merge, 1_GiB}}, 10_s); !s) return s;
//     ...                                                  // what these two charge now fits, up to that
//     sure.request({{sort, 3_GiB}, {merge, 512_MiB}}, 0_ms);    // other promises, or these stay
//     sure.hold(sort);                                          // what it uses now stays promised
//
// A promise is a floor of the account: what is promised and what is charged are one number. A batch waits in the queue
// of the account that refuses it, as one request for what its shares have more than now, patiently; so one that is
// large is passed by others a bounded number of times (docs/reclaim.md), and one that cannot fit is refused at once.
// One of whose accounts closes, or gets a lower limit, while it waits is refused when it would be granted.
// Invariant: at any moment the parent counts all promises of a batch, or those before. Cost: 1 KiB, and 100 bytes per
// promise; the tree's lock for each share. Threads: one at a time; while a request is queued: cancel() alone, by any.
// Source: Mars' QuotaActor, 2018, which computed what a batch adds when it was queued, and promised more than it had.
#pragma once

#include <allot/account/account.hpp>
#include <allot/account/account_reservation.hpp>
#include <allot/account/reservation_request.hpp>
#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/min_max.hpp>
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
    /// Of accounts that are made below `parent`. Requires: the name outlives it. Throws: out_of_memory if the parent is
    /// closed.
    explicit quota(account& parent, allot::name called = allot::name{"quota"}) : next_(parent, called) {}
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
        if (const charge_status s = prepare(batch); !s) return s;
        for (unsigned tries = 1;; ++tries) {
            account_reservation sure = next_.reserve_floor_for(missing(), wait);
            const charge_status s = settle(sure);
            if (s || !may_try_again(sure, s, tries)) return end(s);
        }
    }
    charge_status request(std::initializer_list<share> batch, const wait_limit& wait) {
        return request(std::span(batch.begin(), batch.size()), wait);
    }
    /// The same, and no thread waits: `then` is called once, as the callback of a reservation_request, if the status is
    /// `queued`.
    charge_status request(std::span<const share> batch, std::function<void(const charge_status&)> then) {
        if (const charge_status s = prepare(batch); !s) return s;
        then_ = std::move(then);
        tries_ = 0;
        return settle_or_queue(next_.reserve_floor_for(missing(), later_));
    }
    charge_status request(std::initializer_list<share> batch, std::function<void(const charge_status&)> then) {
        return request(std::span(batch.begin(), batch.size()), std::move(then));
    }
    /// Any thread. True: a request was queued, and its callback is never called.
    bool cancel() noexcept {
        const bool was_queued = later_.cancel();
        if (was_queued) static_cast<void>(end({.outcome = charge_outcome::cancelled}));
        return was_queued;
    }

    /// Promises no more than the account uses now.
    void hold(const account& of) noexcept {
        if (promise* const p = find(of)) p->floor.shrink_to(of.used());
    }
    /// Promises it nothing.
    void release(const account& of) noexcept {
        if (promise* const p = find(of)) p->floor.release();
    }
    void release() noexcept { promises_.clear(); }
    /// Bytes that this quota promises to the account.
    std::size_t promised(const account& of) const noexcept {
        const promise* const p = find(of);
        return p != nullptr ? p->floor.bytes() : 0;
    }

  private:
    struct promise {
        account* of;
        account_reservation floor;
        std::size_t wanted = 0; // by the batch; else what it has
        std::size_t before = 0;
        std::size_t more() const noexcept { return wanted - detail::min(wanted, floor.bytes()); }
        // That it has beyond that, and does not use: what it uses stays charged.
        std::size_t gives() const noexcept {
            return floor.bytes() - detail::min(detail::max(wanted, of->used()), floor.bytes());
        }
    };

    promise* find(const account& of) noexcept {
        for (promise& p : promises_)
            if (p.of == &of) return &p;
        return nullptr;
    }
    const promise* find(const account& of) const noexcept { return const_cast<quota*>(this)->find(of); }

    charge_status prepare(std::span<const share> batch) {
        const auto misused = [](const share& s, const char* what) {
            return charge_status{.outcome = charge_outcome::misused, .requested = s.bytes, .name = what};
        };
        if (later_.is_queued())
            return {.outcome = charge_outcome::misused, .name = "a request of this quota is queued"};
        for (std::size_t i = 0; i != batch.size(); ++i) {
            if (batch[i].of.node().above() != next_.node().above())
                return misused(batch[i], "the account is no child of the quota's");
            if (batch[i].bytes > batch[i].of.limit())
                return batch[i].of.node().status(charge_outcome::over_limit, batch[i].bytes, 0, batch[i].of.limit());
            for (std::size_t j = 0; j != i; ++j)
                if (&batch[i].of == &batch[j].of) return misused(batch[i], "an account is twice in a batch");
        }
        std::erase_if(promises_, [](const promise& p) { return p.floor.bytes() == 0; });
        promises_.reserve(promises_.size() + batch.size());
        for (promise& p : promises_) p.wanted = p.before = p.floor.bytes();
        for (const share& s : batch) {
            promise* p = find(s.of);
            if (p == nullptr) {
                promises_.push_back({&s.of, s.of.reserve_floor_for(0, time_span{0})});
                p = &promises_.back();
                if (!p->floor) return p->floor.status();
            }
            p->wanted = s.bytes;
        }
        for (promise& p : promises_) promise_used(p);
        return {};
    }
    // What it uses is counted already.
    static void promise_used(promise& p) noexcept {
        const std::size_t has = p.floor.bytes(), most = detail::min(p.wanted, p.of->used());
        if (most <= has) return;
        account_reservation more = p.of->reserve_floor_for(most - has, time_span{0});
        if (more) static_cast<void>(more.move_to(p.floor, more.bytes()));
    }
    std::size_t missing() const noexcept {
        std::size_t more = 0, fewer = 0;
        for (const promise& p : promises_) {
            more = detail::sum_or_max(more, p.more());
            fewer += p.gives();
        }
        return more - detail::min(more, fewer);
    }
    // `sure`: what is missing; what it has in the end returns with it. Where it fails, promises are as before.
    charge_status settle(account_reservation& sure) noexcept {
        charge_status s = sure.status();
        const auto move = [&](account_reservation& from, account_reservation& to, std::size_t bytes) {
            if (s && bytes > from.bytes()) // an account has charged more than when it was computed
                s = next_.node().above()->refused(charge_outcome::over_limit, bytes);
            else if (s && bytes != 0) s = from.move_to(to, bytes);
        };
        for (promise& p : promises_) move(p.floor, sure, p.gives());
        for (promise& p : promises_) move(sure, p.floor, p.more());
        if (!s && sure) {
            for (promise& p : promises_)
                if (p.floor.bytes() > p.before) static_cast<void>(p.floor.move_to(sure, p.floor.bytes() - p.before));
            for (promise& p : promises_)
                if (p.floor.bytes() < p.before) static_cast<void>(sure.move_to(p.floor, p.before - p.floor.bytes()));
        }
        return s;
    }
    // It is computed again what is missing.
    bool may_try_again(const account_reservation& sure, const charge_status& s, unsigned tries) const noexcept {
        return sure && s.outcome == charge_outcome::over_limit && tries < most_tries;
    }
    charge_status end(const charge_status& s) noexcept {
        for (promise& p : promises_) p.floor.shrink_to(s ? p.wanted : p.before);
        return s;
    }
    charge_status settle_or_queue(account_reservation sure) {
        while (sure.status().outcome != charge_outcome::queued) {
            const charge_status s = settle(sure);
            if (s || !may_try_again(sure, s, ++tries_)) return end(s);
            sure.release();
            next_.reserve_floor_for(missing(), later_).swap(sure);
        }
        return sure.status();
    }
    void granted(account_reservation sure) {
        const charge_status s = settle_or_queue(std::move(sure));
        if (s.outcome != charge_outcome::queued) std::exchange(then_, nullptr)(s); // the last access
    }
    struct call_granted {
        quota* to;
        void operator()(account_reservation sure) const { to->granted(std::move(sure)); }
    };

    static constexpr unsigned most_tries = 8;

    account next_; // what a batch adds, from its grant until it is settled
    std::vector<promise> promises_;
    std::function<void(const charge_status&)> then_;
    unsigned tries_ = 0; // of the request that is queued
    reservation_request<call_granted> later_{call_granted{this}};
};

} // namespace allot::inline ALLOT_ABI
