// The accounts of a memory_timeline: of each sample, the bytes of those that hold the most, by their paths.
//
// Invariant: at most 16 paths have a line, of which the page shows the eight largest. A path gets a line once an account
// of it holds more than the least of the lines ever did; what that one had counts as of the rest then. So an account's
// bytes are in its line from the first sample in which it is among the 16 largest so far. Accounts of one path are one.
// Cost: 128 bytes per sample. A sample compares names of the accounts that hold bytes, under the tree's lock.
// Threads: each function says which lock it requires.
#pragma once

#include <allot/account/account.hpp>
#include <allot/config.hpp>
#include <allot/core/top_n.hpp>
#include <allot/tree/account_path.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

namespace allot::inline ALLOT_ABI {
namespace detail {

class timeline_accounts {
  public:
    static constexpr std::size_t lines = 16, shown = 8;
    struct line {
        account_path path;
        std::size_t most = 0; // 0: it is free
    };
    using row = std::array<std::size_t, lines>;

    // What a walk of a tree finds.
    struct found {
        std::array<line, lines> known; // a copy, since the timeline is not locked meanwhile
        row bytes{};
        top_n<line, lines> others; // that have no line
    };

    explicit timeline_accounts(std::size_t samples) { rows_.reserve(samples); }

    // Requires the tree's mutex and its lock.
    static void count(found& f, const account_node& top) noexcept {
        const std::size_t least = least_of(f.known)->most;
        account_path::visit paths;
        f.bytes = {}, f.others = {};
        top.walk([&](const tree_node& n) {
            paths.enter(account_node::of(n).face);
            const std::size_t bytes = n.credit().charged() + (&n != &top ? n.credit().unused() : 0);
            if (bytes == 0) return;
            const std::string_view name{n.name()};
            account_path path; // it is made where one of the lines may be the account's
            const auto is_its = [&](const line& l) {
                const bool may_be = name.size() > account_path::name_bytes || l.path.text().ends_with(name);
                if (l.most == 0 || !may_be) return false;
                if (path.text().empty()) path = paths.path();
                return l.path.text() == path.text();
            };
            const auto at = std::find_if(f.known.begin(), f.known.end(), is_its);
            if (at != f.known.end()) f.bytes[static_cast<std::size_t>(at - f.known.begin())] += bytes;
            else if (bytes > least) f.others.add({paths.path(), bytes}, [](const line& l) { return l.most; });
        });
    }

    // The others require the timeline's lock.

    const std::array<line, lines>& known() const noexcept { return lines_; }
    // Gives lines to accounts that held more than others did. Returns: whether it has, so that count() finds more.
    ALLOT_OUTLINE bool adopt(const found& f) noexcept {
        bool any = false;
        for (const line& other : f.others) {
            line* const least = least_of(lines_);
            if (other.most <= least->most) break;
            const auto is_same = [&](const line& l) { return l.most != 0 && l.path.text() == other.path.text(); };
            if (std::any_of(lines_.begin(), lines_.end(), is_same)) continue;
            *least = other;
            for (row& r : rows_) r[static_cast<std::size_t>(least - lines_.data())] = 0;
            any = true;
        }
        return any;
    }
    // Of what was found, the lines that there still are.
    row note(const found& f) noexcept {
        row bytes{};
        for (std::size_t i = 0; i != lines; ++i) {
            if (lines_[i].path.text() != f.known[i].path.text()) continue;
            bytes[i] = f.bytes[i];
            lines_[i].most = std::max(lines_[i].most, bytes[i]);
        }
        return bytes;
    }
    std::vector<row>& rows() noexcept { return rows_; } // one for each sample
    const std::vector<row>& rows() const noexcept { return rows_; }

    // The lines to show, the largest first: their numbers, and the most of each that is in a row.
    struct largest {
        std::size_t at = 0, most = 0;
    };
    top_n<largest, shown> to_show() const noexcept {
        top_n<largest, shown> top;
        for (std::size_t i = 0; i != lines; ++i) {
            largest l{i};
            for (const row& r : rows_) l.most = std::max(l.most, r[i]);
            if (l.most != 0) top.add(l, [](const largest& of) { return of.most; });
        }
        return top;
    }

  private:
    template <class Lines> static auto least_of(Lines& all) noexcept -> decltype(all.data()) {
        return std::min_element(all.data(), all.data() + lines,
                                [](const line& a, const line& b) { return a.most < b.most; });
    }

    std::array<line, lines> lines_;
    std::vector<row> rows_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
