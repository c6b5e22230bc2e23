// Memory over time: samples of charged, resident and spilled bytes, and marks of what happened, for
// html_page::timeline.
//
//     allot::memory_timeline line;                         // 2048 samples, 512 marks; allocated here, never again
//     line.add(ns, root, resident);                        // from a thread that samples an account
//     line.add(ns, charged, resident, spilled, promised);  // or numbers of anything
//     line.mark(ns, allot::timeline_event::wait, "query 7");
//
// With timeline_size{.by_account = true} the samples of an account say which accounts hold its memory
// (timeline_accounts.hpp). When the samples are full, those of one interval become one that has the most of each
// number, and the interval doubles. So a run of seconds and one of hours take the same memory, and the peak stays.
// Marks of one kind become one with their number: no mark is lost, only its text. The accounts of an interval are those
// of its sample with the most charged bytes, so they are of one moment.
// Invariant: samples and marks are ordered by time; at most as many are kept as the constructor was given.
// Cost: 40 bytes per sample, 168 by account, 64 per mark; add() of numbers and mark() some nanoseconds, and amortized one copy of an entry.
// Threads: any. Source: round-robin databases (RRDtool), 1999; here the interval follows from the run.
#pragma once

#include <allot/account/account.hpp>
#include <allot/config.hpp>
#include <allot/core/text.hpp>
#include <allot/report/json.hpp>
#include <allot/report/timeline_accounts.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sync/spin_lock.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace allot::inline ALLOT_ABI {

/// What a mark says.
enum class timeline_event : unsigned char { wait, rollback, split, spill, refusal, note };
namespace detail {

inline constexpr std::size_t timeline_events = 6;

} // namespace detail

constexpr std::string_view text_of(timeline_event e) noexcept {
    constexpr std::string_view texts[] = {"wait", "rollback", "split", "spill", "refusal", "note"};
    static_assert(std::size(texts) == detail::timeline_events);
    return texts[static_cast<std::size_t>(e)];
}

/// The most of each number from `ns` on, until the next sample.
struct timeline_sample {
    static constexpr std::size_t unknown = SIZE_MAX;

    std::uint64_t ns = 0; // since any start, the same for all samples and marks
    std::size_t charged = 0;
    std::size_t resident = unknown;
    std::size_t spilled = unknown;  // that have left memory so far
    std::size_t promised = unknown; // by reservations, beside what is charged
};

/// `count` events of one kind from `ns` on, within an interval.
struct timeline_mark {
    std::uint64_t ns = 0;
    std::uint32_t count = 1;
    timeline_event kind = timeline_event::note;
    char text[48] = {}; // of the first; a longer one is cut
};

/// How many samples and marks are kept; fewer than 16 count as 16.
struct timeline_size {
    std::size_t samples = 2048;
    std::size_t marks = 512;
    bool by_account = false; // and which accounts hold the memory
};

class memory_timeline {
  public:
    static constexpr std::size_t unknown = timeline_sample::unknown;

    /// Throws: std::bad_alloc.
    ALLOT_OUTLINE explicit memory_timeline(timeline_size most = {})
        : most_{std::max<std::size_t>(most.samples, 16), std::max<std::size_t>(most.marks, 16), most.by_account} {
        samples_.reserve(most_.samples);
        marks_.reserve(most_.marks);
        if (most.by_account) accounts_ = std::make_unique<detail::timeline_accounts>(most_.samples);
    }
    memory_timeline(const memory_timeline&) = delete;
    memory_timeline& operator=(const memory_timeline&) = delete;

    /// Adds a sample. A rise of the spilled bytes is marked, too. A time before the last one counts as the last one.
    void add(std::uint64_t ns, std::size_t charged, std::size_t resident = unknown, std::size_t spilled = unknown,
             std::size_t promised = unknown) noexcept {
        const detail::lock_guard hold(lock_);
        add_locked({ns, charged, resident, spilled, promised}, {});
    }
    /// Adds a sample of an account and all below, of one moment: charged, promised and spilled bytes, and by account.
    /// Complexity: O(accounts), under the tree's lock. Threads: any that is not inside a visit of the tree.
    ALLOT_OUTLINE void add(std::uint64_t ns, const account& of, std::size_t resident = unknown) noexcept {
        const detail::account_node& top = detail::node_of(of);
        timeline_sample s{.ns = ns, .resident = resident};
        detail::timeline_accounts::found found;
        const auto look = [&] {
            if (accounts_) {
                const detail::lock_guard hold(lock_);
                found.known = accounts_->known();
            }
            const detail::lock_guard whole(top.shape());
            const detail::locked_tree scope(top);
            const std::size_t kept = detail::kept(top), used = top.used() + kept;
            s.promised = detail::promised_below(top) + kept;
            s.charged = used > s.promised ? used - s.promised : 0;
            s.spilled = top.stats().spilled;
            if (accounts_) detail::timeline_accounts::count(found, top);
        };
        const auto adopts = [&] {
            const detail::lock_guard hold(lock_);
            return accounts_->adopt(found);
        };
        look();
        if (accounts_ && adopts()) look();
        const detail::lock_guard hold(lock_);
        add_locked(s, accounts_ ? accounts_->note(found) : detail::timeline_accounts::row{});
    }
    void mark(std::uint64_t ns, timeline_event kind, std::string_view text = {}) noexcept {
        const detail::lock_guard hold(lock_);
        put({later(ns), 1, kind, {}}, text);
    }

    /// Calls visit(timeline_sample) for each sample, oldest first. Requires: no other thread adds meanwhile.
    template <class Visit> void visit_samples(Visit visit) const {
        for (const timeline_sample& s : samples_) visit(s);
    }
    /// Calls visit(timeline_mark) for each mark, oldest first. Requires: as above.
    template <class Visit> void visit_marks(Visit visit) const {
        for (const timeline_mark& m : marks_) visit(m);
    }
    /// The accounts of the samples; null without timeline_size::by_account. Requires: as above.
    const detail::timeline_accounts* accounts() const noexcept { return accounts_.get(); }
    /// Returns: the least time between two samples, in nanoseconds; 0: each sample that was added is kept.
    std::uint64_t interval() const noexcept {
        const detail::lock_guard hold(lock_);
        return sample_ns_;
    }

  private:
    std::uint64_t later(std::uint64_t ns) noexcept {
        if (samples_.empty() && marks_.empty()) first_ = last_ = ns;
        return last_ = std::max(last_, ns);
    }
    bool is_one_interval(std::uint64_t a, std::uint64_t b, std::uint64_t interval) const noexcept {
        return interval != 0 && (a - first_) / interval == (b - first_) / interval;
    }
    static std::size_t larger(std::size_t a, std::size_t b) noexcept {
        return a == unknown ? b : b == unknown ? a : std::max(a, b);
    }
    using row = detail::timeline_accounts::row;

    void add_locked(timeline_sample s, const row& by_account) noexcept {
        s.ns = later(s.ns);
        if (s.spilled != unknown) {
            if (spilled_ != unknown && s.spilled > spilled_) put({s.ns, 1, timeline_event::spill, {}}, {});
            spilled_ = s.spilled;
        }
        put(s, by_account);
    }
    static void join(timeline_sample& to, const timeline_sample& s) noexcept {
        to.charged = std::max(to.charged, s.charged);
        to.resident = larger(to.resident, s.resident);
        to.spilled = larger(to.spilled, s.spilled);
        to.promised = larger(to.promised, s.promised);
    }
    static void join(timeline_mark& to, const timeline_mark& m) noexcept { to.count += m.count; }

    ALLOT_OUTLINE void put(const timeline_sample& s, const row& by_account) noexcept {
        const auto is_joined = [&] {
            if (samples_.empty() || !is_one_interval(samples_.back().ns, s.ns, sample_ns_)) return false;
            if (accounts_ && s.charged > samples_.back().charged) accounts_->rows().back() = by_account;
            join(samples_.back(), s);
            return true;
        };
        if (is_joined()) return;
        if (samples_.size() == most_.samples) {
            halve(samples_, most_.samples, sample_ns_, [this](std::size_t to, std::size_t from, bool joins) {
                if (!accounts_ || (joins && samples_[from].charged <= samples_[to].charged)) return;
                accounts_->rows()[to] = accounts_->rows()[from];
            });
            if (accounts_) accounts_->rows().resize(samples_.size());
            if (is_joined()) return;
        }
        samples_.push_back(s);
        if (accounts_) accounts_->rows().push_back(by_account);
    }
    void put(const timeline_mark& m, std::string_view text) noexcept {
        if (timeline_mark* const same = mark_of(m.kind, m.ns); same != nullptr) return join(*same, m);
        if (marks_.size() == most_.marks) {
            halve(marks_, most_.marks, mark_ns_, [](std::size_t, std::size_t, bool) {});
            if (timeline_mark* const same = mark_of(m.kind, m.ns); same != nullptr) return join(*same, m);
        }
        marks_.push_back(m);
        text_writer{marks_.back().text}.put(text);
    }
    // The mark of this kind in the interval of `ns`, or null.
    timeline_mark* mark_of(timeline_event kind, std::uint64_t ns) noexcept {
        for (auto m = marks_.rbegin(); m != marks_.rend() && is_one_interval(m->ns, ns, mark_ns_); ++m)
            if (m->kind == kind) return &*m;
        return nullptr;
    }

    static std::size_t kind_of(const timeline_sample&) noexcept { return 0; }
    static std::size_t kind_of(const timeline_mark& m) noexcept { return static_cast<std::size_t>(m.kind); }

    // Doubles the interval until the entries of one kind and interval, as one, take half of the room. Calls
    // moves(to, from, joins) before an entry moves to the place of another one, or joins it.
    template <class Entry, class Moves>
    void halve(std::vector<Entry>& all, std::size_t most, std::uint64_t& interval, Moves moves) const noexcept {
        interval = std::max(2 * interval, (last_ - first_) / most + 1);
        for (;; interval *= 2) {
            std::size_t n = 0;
            std::array<std::size_t, detail::timeline_events> last; // of each kind: the last entry that is kept
            last.fill(SIZE_MAX);
            for (std::size_t i = 0; i != all.size(); ++i) {
                std::size_t& same = last[kind_of(all[i])];
                const bool joins = same != SIZE_MAX && is_one_interval(all[same].ns, all[i].ns, interval);
                if (!joins) same = n++;
                moves(same, i, joins);
                if (joins) join(all[same], all[i]);
                else all[same] = all[i];
            }
            all.resize(n);
            if (n <= most / 2 || interval > UINT64_MAX / 4) return;
        }
    }

    const timeline_size most_;
    mutable detail::spin_lock lock_;
    std::vector<timeline_sample> samples_;
    std::vector<timeline_mark> marks_;
    std::unique_ptr<detail::timeline_accounts> accounts_; // a row for each sample
    std::uint64_t first_ = 0, last_ = 0;                  // times
    std::uint64_t sample_ns_ = 0, mark_ns_ = 0;           // intervals
    std::size_t spilled_ = timeline_sample::unknown;      // by the last sample that knew it
};

/// The account that a timeline was sampled of.
struct timeline_subject {
    std::string_view name; // its path: account::path()
    std::size_t limit;
};

/// Writes {"interval_ns": .., "samples": [..], "marks": [..]}, with samples {"ns": 0, "charged": .., "resident": ..,
/// "spilled": .., "promised": ..} and marks {"ns": .., "kind": "wait", "count": 1, "text": ".."}. Times count from the
/// first; an unknown number is left out. With a subject: also "account": {"name": .., "limit": ..}. By account: also
/// "accounts": [{"name": .., "most": ..}], the eight largest, and in each sample "accounts": [..], the bytes of these.
ALLOT_OUTLINE void write_timeline_json(text_writer& out, const memory_timeline& line,
                                       const timeline_subject* of = nullptr) noexcept {
    std::uint64_t first = UINT64_MAX;
    line.visit_samples([&](const timeline_sample& s) { first = std::min(first, s.ns); });
    line.visit_marks([&](const timeline_mark& m) { first = std::min(first, m.ns); });
    detail::json_writer json{out};
    json.open().put("interval_ns", line.interval());
    if (of != nullptr) json.key("account").open().put("name", of->name).put("limit", of->limit).close();
    const detail::timeline_accounts* const by = line.accounts();
    const auto shown = by != nullptr ? by->to_show() : decltype(by->to_show()){};
    if (!shown.empty()) {
        json.key("accounts").open('[');
        for (const auto& l : shown) json.open().put("name", by->known()[l.at].path.text()).put("most", l.most).close();
        json.close(']');
    }
    std::size_t at = 0;
    json.key("samples").open('[');
    line.visit_samples([&](const timeline_sample& s) {
        json.open().put("ns", s.ns - first).put("charged", s.charged);
        if (s.resident != memory_timeline::unknown) json.put("resident", s.resident);
        if (s.spilled != memory_timeline::unknown) json.put("spilled", s.spilled);
        if (s.promised != memory_timeline::unknown) json.put("promised", s.promised);
        if (!shown.empty()) {
            json.key("accounts").open('[');
            for (const auto& l : shown) json.value(by->rows()[at][l.at]);
            json.close(']');
        }
        ++at;
        json.close();
    });
    json.close(']').key("marks").open('[');
    line.visit_marks([&](const timeline_mark& m) {
        json.open().put("ns", m.ns - first).put("kind", text_of(m.kind)).put("count", m.count);
        if (m.text[0] != '\0') json.put("text", std::string_view{m.text});
        json.close();
    });
    json.close(']').close();
}

} // namespace allot::inline ALLOT_ABI
