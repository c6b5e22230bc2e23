// Lets requests of tasks fail on purpose, for tests: rolled back, split, or refused, at the n-th one.
//
//     allot::oom::injection faults{memory};                      // a root account that has an arbiter
//     faults.add({.fails = allot::charge_outcome::rolled_back, .skip = 3, .times = 2, .task = query.id()});
//
// Counted are the requests that reach an account: charges, pages of rows and blocks, pieces of a device. A product may
// charge several times for one request, as after it emptied its caches: each of these charges is refused. A request by
// a try_ function sees a refusal: injected. So do the next ones of its size, eight at most, until one that throws has
// failed.
// A rollback or split hits only requests that an arbiter may roll back: in a retry scope, under no no_rollback. It
// counts in task_stats, and not among rules::most_attempts.
// Cost: while it lives, leaves keep no credit, and each request takes the tree's lock and one of the arbiter's. Threads:
// any.
// Source: RmmSpark.forceRetryOOM, 2022.
#pragma once

#include <allot/account/account.hpp>
#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/error.hpp>
#include <allot/oom/task.hpp>
#include <allot/request/judge.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/tree/account_listener.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace allot::inline ALLOT_ABI {
namespace oom {

struct fault {
    charge_outcome fails = charge_outcome::rolled_back; // or split; another one: out_of_memory
    std::uint64_t skip = 0;                             // requests that pass first
    std::uint64_t times = 1;                            // that fail then
    task_id task = no_id;                               // of this task alone; no_id: of all
    thread_id thread = no_id;                           // of this thread alone
    std::size_t least_bytes = 0;                        // of these bytes or more
};

class injection final : allot::detail::injector {
  public:
    /// Requires: it outlives no account of the tree. `root`: of one kind of memory, with an arbiter.
    /// Throws: out_of_memory, as misused, where it has none.
    explicit injection(account& root) : root_(root.node()), by_(judge_of(root)) { allot::detail::add(root_, *this); }
    ~injection() { allot::detail::remove(root_, *this); }

    void add(const fault& f) {
        const allot::detail::lock_guard hold(by_.injecting);
        faults_.push_back(f);
    }
    /// Requests that have failed by it.
    std::uint64_t failed() const noexcept {
        const allot::detail::lock_guard hold(by_.injecting);
        return failed_;
    }

  private:
    static allot::detail::judge& judge_of(account& root) {
        allot::detail::judge* const by = root.node().tree().judged.by;
        if (by == nullptr)
            allot::raise(out_of_memory{"allot: an injection at an account without an arbiter: give the root one",
                                       "",
                                       {.outcome = charge_outcome::misused}});
        return *by;
    }
    static constexpr unsigned most_charges = 8; // of one request; rows make seven

    // The request of a thread that was refused last.
    struct request {
        thread_id thread;
        const account* by;
        std::size_t bytes;
        unsigned charges;
    };
    static bool may_fail(const task_thread& here, charge_outcome as) noexcept {
        return (as != charge_outcome::rolled_back && as != charge_outcome::split) || here.may_be_rolled_back();
    }
    // Whether this charge is of the request that a fault has refused before.
    bool fails_still(task_thread& here, const account& by, std::size_t bytes) noexcept {
        for (request& r : refused_)
            if (r.thread == here.id() && r.by == &by && r.bytes == bytes && here.injected() != charge_outcome::fits) {
                if (r.charges++ < most_charges && may_fail(here, here.injected())) return true;
                here.inject(charge_outcome::fits); // of a try_ function
            }
        return false;
    }
    void refuse(task_thread& here, const account& by, std::size_t bytes, charge_outcome as) noexcept {
        ++failed_;
        here.inject(as);
        std::erase_if(refused_, [&](const request& r) { return r.thread == here.id(); });
        refused_.push_back({here.id(), &by, bytes, 1});
    }
    ALLOT_OUTLINE bool refuses(const account& by, std::size_t bytes) noexcept override {
        if (allot::detail::user_call::is_inside_any()) return false; // of a reclaimer or listener: no verdict ends it
        task_thread* const here = task_thread::now();
        if (here == nullptr || &by.node().root() != &root_) return false;
        const task_id mine = here->task_now();
        if (fails_still(*here, by, bytes)) return true;
        for (fault& f : faults_) {
            if (f.times == 0 || bytes < f.least_bytes || (f.task != no_id && f.task != mine)) continue;
            if (f.thread != no_id && f.thread != here->id()) continue;
            if (!may_fail(*here, f.fails)) continue;
            if (f.skip != 0) {
                --f.skip;
                continue;
            }
            --f.times;
            refuse(*here, by, bytes, f.fails);
            return true;
        }
        return false;
    }

    allot::detail::account_node& root_;
    allot::detail::judge& by_; // its lock of injectors guards all below
    std::vector<fault> faults_;
    std::vector<request> refused_;
    std::uint64_t failed_ = 0;
};

/// Reports the requests of tasks that are in no retry scope: one that is refused fails its task. For tests.
class coverage final : account_listener {
  public:
    /// `found(context, account, bytes)`: called on the thread of the request, after each charge, granted or refused.
    coverage(account& root, void (*found)(void*, const account&, std::size_t) noexcept, void* context = nullptr)
        : root_(root), found_(found), context_(context) {
        root_.add(static_cast<account_listener&>(*this));
    }
    ~coverage() { root_.remove(static_cast<account_listener&>(*this)); }

  private:
    void after(const account& by, std::size_t bytes, const charge_status&) noexcept override { look(by, bytes); }
    void refused(const account& by, const charge_status& why) noexcept override { look(by, why.requested); }
    void look(const account& by, std::size_t bytes) noexcept {
        const task_thread* const here = task_thread::now();
        if (here != nullptr && !here->is_in_scope()) found_(context_, by, bytes);
    }

    account& root_;
    void (*const found_)(void*, const account&, std::size_t) noexcept;
    void* const context_;
};

} // namespace oom
} // namespace allot::inline ALLOT_ABI
