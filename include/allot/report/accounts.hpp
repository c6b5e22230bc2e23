// Reports of a tree of accounts as text and JSON: one line per account, indented by depth; on demand its items and
// events.
//
// Allocates nothing. Each line is consistent; charges go on meanwhile, so two lines may not match. If the buffer is too
// small, the text is cut and is_truncated() is true: a line takes about 150 characters, in JSON 350, an event of a log
// 1 to 2 KiB. Complexity: O(accounts), and what the items' own statistics cost. Threads: any that is not inside a visit
// of the tree. Source: Drill's toVerboseString, 2014.
#pragma once

#include <allot/account/account.hpp>
#include <allot/config.hpp>
#include <allot/core/text.hpp>
#include <allot/report/json.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

/// What a report writes of each account: its statistics, also its items, also the events of its log.
enum class account_detail : unsigned char { stats, items, events };

/// Which numbers JSON has of each account: all, or none that is 0, and no limit or watermark where there is none.
enum class account_numbers : unsigned char { all, known };

namespace detail {

ALLOT_OUTLINE void write_account(text_writer& out, const account_stats& f) noexcept {
    for (unsigned i = 0; i <= f.depth; ++i) out.put("  ");
    out.name(f.name).put(": ").bytes(f.used).put(" used");
    if (f.limit != SIZE_MAX) out.put(" of ").bytes(f.limit);
    if (f.used > f.limit && f.lowered) out.put(" (a limit that was lowered)");
    if (f.watermark != SIZE_MAX) out.put(" (watermark ").bytes(f.watermark).put(")");
    out.put(", peak ").bytes(f.peak);
    if (f.children != 0 && f.own != 0) out.put(", own ").bytes(f.own);
    if (f.reservation != 0) out.put(", reserved ").bytes(f.reservation);
    if (f.owed != 0) out.put(" (").bytes(f.owed).put(" owed by pools)");
    if (f.credit != 0) out.put(", credit ").bytes(f.credit);
    if (f.committed != 0) out.put(", committed ").bytes(f.committed).put(", resident ").bytes(f.resident);
    if (f.buffers != 0) out.put(", ").number(f.buffers).put(" buffers");
    if (f.refused != 0) out.put(", refused ").number(f.refused);
    if (f.waiting != 0) out.put(", ").number(f.waiting).put(" waiting");
    if (f.passed != 0) out.put(", passed by ").number(f.passed);
    if (f.spilled != 0) out.put(", spilled ").bytes(f.spilled);
    if (f.beyond != 0) out.put(", charged beyond its limit by force ").number(f.beyond);
    out.newline();
}
// The two parts of what is used, where there are two: bytes of memory, and promises.
inline void write_parts(text_writer& out, std::size_t charged, std::size_t promised, std::size_t limit) noexcept {
    if (promised == 0) return;
    out.put(": ").bytes(charged).put(" charged, ").bytes(promised).put(" promised");
    if (limit != SIZE_MAX) out.put(", of ").bytes(limit).put(" each");
}
ALLOT_OUTLINE void put_account(json_writer& json, const account_stats& f, account_numbers which) noexcept {
    const auto put = [&](const char* name, auto value, decltype(value) none = 0) {
        if (which == account_numbers::all || value != none) json.put(name, value);
    };
    json.put("name", f.name);
    put("used", f.used), put("own", f.own), put("credit", f.credit);
    put("subtree_charge", f.subtree_charge), put("peak", f.peak);
    put("limit", f.limit, SIZE_MAX), put("watermark", f.watermark, SIZE_MAX);
    put("reservation", f.reservation), put("owed", f.owed), put("committed", f.committed);
    put("resident", f.resident);
    put("buffers", f.buffers), put("refused", f.refused), put("waiting", f.waiting), put("passed", f.passed);
    put("beyond", f.beyond), put("lowered", f.lowered), put("spilled", f.spilled);
}

} // namespace detail

/// Writes this account and all below as text.
ALLOT_OUTLINE void write_accounts(text_writer& out, const account& top,
                                  account_detail more = account_detail::stats) noexcept {
    out.put("accounts of ").name(top.name());
    const std::size_t used = top.used(), promised = top.promised();
    detail::write_parts(out, used > promised ? used - promised : 0, promised, top.limit());
    out.newline();
    top.visit([&](const account_stats& f, const account& a) {
        detail::write_account(out, f);
        if (more == account_detail::stats) return;
        a.each_item([&](const account_item& i) {
            const item_stats its = i.stats();
            for (unsigned n = 0; n <= f.depth; ++n) out.put("  ");
            out.put("  - ").put(i.kind()).put(' ').name(i.name());
            if (its.charged != 0) out.put(": ").bytes(its.charged);
            out.newline();
        });
        if (const account_log* const log = a.log(); log != nullptr && more == account_detail::events)
            log->visit([&](const account_event& e) { write(out, e); });
    });
}

namespace detail {

// visit(f) calls f(account_stats) for each account, parents first. `of_top(json)` adds fields to the first.
template <class Visit, class OfTop>
void put_accounts(text_writer& out, account_numbers which, Visit visit, OfTop of_top) noexcept {
    json_writer json{out};
    unsigned open = 0, base = 0; // accounts whose children are being written
    visit([&](const account_stats& f) {
        const bool is_top = open == 0;
        if (is_top) base = f.depth;
        for (; open > f.depth - base; --open) json.close(']').close();
        json.open();
        put_account(json, f, which);
        if (is_top) of_top(json);
        json.key("children").open('[');
        ++open;
    });
    if (open == 0) json.open().close(); // no account
    for (; open != 0; --open) json.close(']').close();
}

} // namespace detail

/// Writes this account and all below as one JSON object; `children` nest. A root has the number of its `tree`, which
/// its copy at the peak has, too; another account has its `path`.
inline void write_accounts_json(text_writer& out, const account& top,
                                account_numbers which = account_numbers::all) noexcept {
    const detail::account_path path = top.path();
    detail::put_accounts(
        out, which, [&](auto put) { top.visit([&](const account_stats& f, const account&) { put(f); }); },
        [&](detail::json_writer& json) {
            if (&top == &top.root()) json.put("tree", top.tree_number());
            else json.put("path", path.text());
        });
}

/// Writes the tree at its peak; all lines are of one moment. Without a peak it says so; the JSON object is empty then.
/// Where something was promised then, the first line has the most that was charged at one moment, and what was promised
/// at the peak; the JSON object of the root has both.
ALLOT_OUTLINE void write_accounts(text_writer& out, const account_peak& at) noexcept {
    if (at.size() == 0 && at.missing() == 0) out.put("accounts at the peak: nothing was charged yet").newline();
    at.visit([&](const account_stats& f) {
        if (f.depth == 0) {
            out.put("accounts of ").name(f.name).put(" at the peak");
            detail::write_parts(out, at.charged(), at.promised(), at.limit());
            out.newline();
        }
        detail::write_account(out, f);
    });
    if (at.missing() != 0) out.put("  and ").number(at.missing()).put(" more accounts").newline();
}
inline void write_accounts_json(text_writer& out, const account_peak& at,
                                account_numbers which = account_numbers::all) noexcept {
    detail::put_accounts(
        out, which, [&](auto put) { at.visit(put); },
        [&](detail::json_writer& json) {
            json.put("tree", at.tree_number()).put("charged", at.charged()).put("promised", at.promised());
        });
}

} // namespace allot::inline ALLOT_ABI
