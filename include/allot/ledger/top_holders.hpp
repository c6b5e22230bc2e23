// The accounts of a tree that hold the most memory, for out-of-memory reports.
//
// Invariant: at most eight are kept, the largest first; their names are copied, since an account may end after its
// visit. Allocates nothing. Complexity: O(accounts). Threads: any that is not inside a visit of the same tree.
#pragma once

#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/text.hpp>
#include <allot/ledger/account.hpp>

#include <array>
#include <cstddef>

namespace allot::inline ALLOT_ABI {

/// Writes "over the limit: query 7 uses 95 MiB of 100 MiB", or "closed: query 7".
inline void write(text_writer& out, const charge_status& s) noexcept {
    out.put(text_of(s.outcome));
    if (s.at == nullptr) return;
    out.put(": ").put(s.at->name());
    if (s.outcome == charge_outcome::closed) return;
    out.put(" uses ").bytes(s.used).put(" of ");
    if (s.outcome == charge_outcome::over_limit && s.limit >= detail::most_charged)
        out.put("2^63 - 1 bytes, which no sum may exceed");
    else if (s.limit == SIZE_MAX) out.put("no limit");
    else out.bytes(s.limit);
}

/// Collects accounts, and writes one line for each of the eight largest.
class top_holders {
  public:
    void add(const account_stats& f) noexcept {
        if (f.own == 0 && f.reservation == 0) return;
        ++all_;
        std::size_t at = n_ < kept_.size() ? n_++ : kept_.size();
        const std::size_t bytes = weight(f);
        for (; at > 0 && weight(kept_[at - 1].stats) < bytes; --at)
            if (at < kept_.size()) kept_[at] = kept_[at - 1];
        if (at == kept_.size()) return;
        kept_[at].stats = f;
        text_writer{kept_[at].name}.put(f.name);
    }
    void write(text_writer& out) const noexcept {
        for (std::size_t i = 0; i != n_; ++i) {
            const account_stats& f = kept_[i].stats;
            out.put("    ").put(static_cast<const char*>(kept_[i].name)).put(": ").bytes(f.own).put(" charged");
            if (f.reservation != 0) out.put(", ").bytes(f.reservation).put(" reserved");
            out.put(", peak ").bytes(f.peak);
            if (f.limit != SIZE_MAX) out.put(", limit ").bytes(f.limit);
            out.newline();
        }
        if (all_ > n_) out.put("    and ").number(all_ - n_).put(" more accounts").newline();
    }
    std::size_t size() const noexcept { return n_; }
    const account_stats& operator[](std::size_t i) const noexcept { return kept_[i].stats; }

  private:
    // Bytes that become free when the account ends: its own charges, or its reservation if that is larger.
    static std::size_t weight(const account_stats& f) noexcept {
        return f.children == 0 && f.reservation > f.own ? f.reservation : f.own;
    }
    struct entry {
        account_stats stats;
        char name[48];
    };
    std::array<entry, 8> kept_{};
    std::size_t n_ = 0, all_ = 0;
};

/// Writes "accounts of root: .. used of .., peak ..; largest holders:", then one line for each of them.
inline void write_top_holders(text_writer& out, const account& root) noexcept {
    top_holders top;
    account_stats whole;
    root.visit([&](const account_stats& f, const account&) {
        if (f.depth == 0) whole = f;
        top.add(f);
    });
    out.put("  accounts of ").put(root.name()).put(": ").bytes(whole.used).put(" used of ");
    if (whole.limit == SIZE_MAX) out.put("no limit");
    else out.bytes(whole.limit);
    out.put(", peak ").bytes(whole.peak).put("; largest holders:").newline();
    top.write(out);
}

[[noreturn]] ALLOT_COLD inline void account::raise_refused(const charge_status& s) const {
    char line[out_of_memory::line_bytes];
    text_writer text{line};
    text.put("allot: out of memory: ").bytes(s.requested).put(" for account ").put(name()).put(": ");
    write(text, s);
    raise(out_of_memory(text.view(), [&](text_writer& out) {
        out.put("out of memory: ").bytes(s.requested).put(" for account ").put(name()).put(" refused: ");
        write(out, s);
        out.newline();
        write_top_holders(out, root());
    }));
}

[[noreturn]] ALLOT_COLD inline void account::raise_not_opened() const {
    if (refusal_.outcome != charge_outcome::misused || refusal_.at != this) raise_refused(refusal_);
    char line[out_of_memory::line_bytes];
    text_writer text{line};
    text.put("allot: the credit step of account ").put(name()).put(" is ").bytes(refusal_.requested);
    text.put("; pass at most ").bytes(refusal_.limit);
    raise(out_of_memory(text.view(), [&](text_writer& out) { out.put(text.view()).newline(); }));
}

} // namespace allot::inline ALLOT_ABI
