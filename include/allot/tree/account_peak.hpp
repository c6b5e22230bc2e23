// A copy of all accounts of a tree at its peak, including accounts that have ended since.
//
//     allot::account_line lines[64];   allot::account_peak fullest{lines};   root.keep_peak(&fullest);   ...
//     root.keep_peak(nullptr);
//
// Each time the root reaches a new peak, the holder of the tree's lock copies the statistics before it unlocks. So the
// copy is exact: no request of another thread comes between the peak and the copy.
// Invariant: in every line used = own + the subtree charges of the children; the first line is the root's, and its used
// is its peak. Held bytes are in no line.
// Cost: a copy of each account, under the lock, at each new peak, and a visit of each where charged() may grow; leaves
// keep no credit meanwhile. Without a copy, one load per request that climbs. Threads: read it after
// keep_peak(nullptr).
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>
#include <allot/tree/account_status.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace allot::inline ALLOT_ABI {

namespace detail {
class tree_change; // tree_change.hpp
} // namespace detail

/// One account's statistics and name; a longer name is cut.
struct account_line {
    account_stats stats;
    char name[48];
};

/// The copy that account::keep_peak fills. Parents come first, as many accounts as there are lines.
class account_peak {
  public:
    /// Requires: the lines outlive this object.
    explicit account_peak(std::span<account_line> lines) noexcept : lines_(lines) {}
    account_peak(const account_peak&) = delete;
    account_peak& operator=(const account_peak&) = delete;

    /// Bytes used at the root at its peak; 0 until something is charged.
    std::size_t used() const noexcept { return used_; }
    /// What of used() reservations kept, and nobody had charged.
    std::size_t promised() const noexcept { return promised_; }
    /// The most that was charged at one moment, without what was promised then: the memory that there was. In bytes.
    std::size_t charged() const noexcept { return charged_; }
    /// The root's limit when it was last copied.
    std::size_t limit() const noexcept { return n_ != 0 ? lines_[0].stats.limit : SIZE_MAX; }
    std::size_t size() const noexcept { return n_; }
    /// The account::tree_number() of the tree; 0 until something is charged.
    std::uint32_t tree_number() const noexcept { return tree_; }
    /// Accounts without a line.
    std::size_t missing() const noexcept { return missing_; }
    /// Calls visit(account_stats) for the root and all below, parents first. Committed and resident bytes are 0.
    template <class Visit> void visit(Visit visit) const {
        for (const account_line& line : lines_.first(n_)) {
            account_stats f = line.stats;
            f.name = line.name;
            visit(static_cast<const account_stats&>(f));
        }
    }

  private:
    friend class detail::tree_change; // in the tree's lock

    void note(std::size_t charged) noexcept { charged_ = charged > charged_ ? charged : charged_; }
    void begin(std::size_t used, std::size_t promised, std::uint32_t tree) noexcept {
        used_ = used, promised_ = promised, tree_ = tree, n_ = missing_ = 0;
    }
    void add(const account_stats& f) noexcept {
        if (n_ == lines_.size()) return void(++missing_);
        account_line& line = lines_[n_++];
        line.stats = f;
        text_writer{line.name}.put(f.name);
    }

    std::span<account_line> lines_;
    std::size_t used_ = 0, promised_ = 0, charged_ = 0, n_ = 0, missing_ = 0;
    std::uint32_t tree_ = 0;
};

} // namespace allot::inline ALLOT_ABI
