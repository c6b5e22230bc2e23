// The accounts of a tree that hold the most memory, what was asked to free some, and the errors of requests of
// accounts.
//
// Invariant: at most eight are kept, the largest first, each with its path (account_path.hpp). Allocates nothing.
// Complexity: O(accounts). Threads: any that is not inside a visit of the same tree.
#pragma once

#include <allot/account/account_life.hpp>
#include <allot/account/account_waiting.hpp>
#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/error.hpp>
#include <allot/core/text.hpp>
#include <allot/core/top_n.hpp>
#include <allot/reclaim/reclaimer.hpp>
#include <allot/tree/account_node.hpp>
#include <allot/tree/account_numbers.hpp>
#include <allot/tree/account_path.hpp>
#include <allot/tree/account_status.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

/// Collects accounts, and writes one line for each of the eight largest.
class top_holders {
  public:
    /// `path`: of the account, once it is needed.
    template <class Path> void add(const account_stats& f, Path path) noexcept {
        if (f.own == 0 && f.reservation == 0 && f.credit == 0) return;
        kept_.add(entry{f, path()}, [](const entry& of) { return weight(of.stats); });
    }
    void write(text_writer& out) const noexcept {
        for (const entry& e : kept_) {
            const account_stats& f = e.stats;
            out.put("    ").name(e.path.text()).put(": ").bytes(f.own).put(" charged");
            if (f.credit != 0) out.put(", ").bytes(f.credit).put(" credit");
            if (f.reservation != 0) out.put(", ").bytes(f.reservation).put(" reserved");
            out.put(", peak ").bytes(f.peak);
            if (f.limit != SIZE_MAX) out.put(", limit ").bytes(f.limit);
            out.newline();
        }
        kept_.write_others(out, "accounts");
    }
    bool empty() const noexcept { return kept_.empty(); }

  private:
    // Bytes that become free when the account ends: its own charges, or its reservation if that is larger.
    static std::size_t weight(const account_stats& f) noexcept {
        const std::size_t held = f.own + f.credit;
        return f.children == 0 && f.reservation > held ? f.reservation : held;
    }
    struct entry {
        account_stats stats;
        account_path path;
    };
    detail::top_n<entry, 8> kept_;
};

// For the account `at` of a tree and those below it. False, and nothing, if it has ended.
ALLOT_OUTLINE_WARM bool write_holders(text_writer& out, const account_node& root, const account* at) noexcept {
    top_holders top;
    account_stats whole;
    account_path::visit paths;
    account_path of;
    bool inside = false, found = false;
    visit_numbers(root, [&](const account_stats& f, const account& a) { // parents before their children
        paths.enter(a);
        if (&a == at) {
            found = inside = true;
            whole = f;
            of = paths.path();
        } else if (inside && f.depth <= whole.depth) inside = false;
        if (inside) top.add(f, [&] { return paths.path(); });
    });
    if (!found) return false;
    out.put("  accounts of ").name(of.text()).put(": ").bytes(whole.used).put(" used of ");
    if (whole.limit == SIZE_MAX) out.put("no limit");
    else out.bytes(whole.limit);
    out.put(", peak ").bytes(whole.peak);
    out.put(top.empty() ? "; no account holds bytes" : "; largest holders:").newline();
    top.write(out);
    return true;
}
// Calls visit(const reclaimer&) for those at and below the account, the lowest cost first.
template <class Visit> void visit_reclaimers(const account_node& at, Visit visit) noexcept {
    at.tree().reclaimers.visit(at.shape(), [&](const reclaimer& r, const account& home) {
        if (is_asked_at(at, r, home)) visit(r);
    });
}
// The reclaimers that were called for the account: up to eight reclaimers, and all idle memory in one line.
ALLOT_OUTLINE_WARM void write_reclaimers(text_writer& out, const account_node& at) noexcept {
    struct given {
        std::size_t objects = 0, calls = 0, freed = 0, nanoseconds = 0;
    } idle, others;
    const auto write = [&out](std::size_t calls, std::size_t freed, std::uint64_t nanoseconds) {
        out.number(calls).put(calls == 1 ? " call freed " : " calls freed ").bytes(freed);
        out.put(" in ").number(nanoseconds / 1000).put(" us");
    };
    out.put("  asked to free memory:").newline();
    visit_reclaimers(at, [&](const reclaimer& r) {
        const bool is_idle = r.cost() == reclaimer::idle;
        given& all = is_idle ? idle : others;
        ++all.objects, all.calls += r.calls(), all.freed += r.freed(), all.nanoseconds += r.nanoseconds();
        if (is_idle || others.objects > 8) return;
        out.put("    ").brief(r.name()).put(", cost ").number(r.cost()).put(": ");
        write(r.calls(), r.freed(), r.nanoseconds());
        const std::size_t more = r.reclaimable(at.face);
        if (more != SIZE_MAX) out.put(", ").bytes(more).put(" reclaimable");
        r.describe(out);
        out.newline();
    });
    if (others.objects > 8) out.put("    and ").number(others.objects - 8).put(" more reclaimers").newline();
    out.put("    unused memory of ").number(idle.objects).put(idle.objects == 1 ? " object: " : " objects: ");
    write(idle.calls, idle.freed, idle.nanoseconds);
    out.newline();
}
// Both, for a root account.
inline void write_memory(text_writer& out, const account_node& root) noexcept {
    if (write_holders(out, root, &root.face)) write_reclaimers(out, root);
}
// Those that an error keeps from freeing memory; of a request of the account that ended with this status.
inline void write_failures(text_writer& out, const account_node& at) noexcept {
    visit_reclaimers(at, [&](const reclaimer& r) { r.describe_failure(out); });
}
ALLOT_OUTLINE_WARM void write_failures(text_writer& out, const account_node& by, const charge_status& why) noexcept {
    if (!waiting_request::may_be_granted_later(why)) return;
    if (why.by != refuser::account) return write_failures(out, by.root());
    const account_node* at = &by; // another one that refused may have ended
    {
        const locked_tree scope(by);
        while (at != nullptr && &at->face != why.at) at = at->above();
    }
    write_failures(out, at != nullptr ? *at : by);
}
inline void write_tasks(text_writer& out, const account_node& in) noexcept {
    if (const judge* const by = in.tree().judged.by) by->write_tasks(out);
}

} // namespace detail

/// Writes "accounts of root: .. used of .., peak ..; largest holders:", then one line for each of them, or "; no
/// account holds bytes"; then the tasks of its arbiter.
inline void write_top_holders(text_writer& out, const account& root) noexcept {
    detail::write_holders(out, detail::node_of(root), &root);
    detail::write_tasks(out, detail::node_of(root));
}
/// The same for the account that refused a request and those below it, unless it is the root; and what was asked to
/// free memory there, with all calls so far. Nothing where no account refused.
inline void write_top_holders(text_writer& out, const account& root, const charge_status& why) noexcept {
    const bool lives =
        why.at == &root || (why.at != nullptr && detail::write_holders(out, detail::node_of(root), why.at));
    if (lives && why.outcome == charge_outcome::over_limit) detail::write_reclaimers(out, *detail::refuser_in(why));
}

namespace detail {

[[noreturn]] ALLOT_OUTLINE_COLD void raise_refused(const account_node& by, const charge_status& s) {
    char line[out_of_memory::line_bytes];
    text_writer text{line};
    const account_path path = path_of(by);
    text.put("allot: out of memory: ").bytes(s.requested).put(" for account ").name(path.text()).put(": ");
    write(text, s, s.requested);
    write_failures(text, by, s);
    raise(out_of_memory(
        text.view(),
        [&](text_writer& out) {
            out.put("out of memory: ").bytes(s.requested).put(" for account ").name(path.text()).put(" refused: ");
            write(out, s, s.requested);
            out.newline();
            write_top_holders(out, by.root().face, s);
            write_top_holders(out, by.root().face);
        },
        s));
}

[[noreturn]] ALLOT_OUTLINE_COLD void raise_not_opened(const account_node& a) {
    charge_status why = a.refusal;
    const bool own_step = why.outcome == charge_outcome::misused && why.at == &a.face;
    if (why.at == &a.face) why.at = nullptr; // it ends with the exception
    if (!own_step) raise_refused(a, why);
    char line[out_of_memory::line_bytes];
    text_writer text{line};
    text.put("allot: the credit step of account ").name(a.name()).put(" is ").bytes(why.requested);
    text.put("; pass at most ").bytes(why.limit);
    raise(out_of_memory(text.view(), [&](text_writer& out) { out.put(text.view()).newline(); }, why));
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
