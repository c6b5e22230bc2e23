// Sorts rows that do not fit into memory: runs are sorted one by one, and merged.
//
//   run_writer    rows of one task, sorted by their keys when they are taken: a run
//   merge         the rows of all runs in order, or of those with keys of a range
//
// A run is batches in order. Keys are 64 bits; no two rows have the same one.
#pragma once

#include "batches.hpp"
#include "query.hpp"
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace tpch {

struct sorted_run {
    std::vector<batch> batches;
    std::vector<std::uint64_t> first; // keys: that of the first row of each batch
};

/// Row has a key().
template <class Row> class run_writer {
    static constexpr std::size_t block = std::size_t{1} << 17;
    struct place {
        std::uint64_t key;
        const Row* row;
    };

  public:
    run_writer(engine& in, allot::account& by, std::size_t batch_bytes) : in_(in), by_(by), batch_bytes_(batch_bytes) {}

    void add(const Row& r, const char* tail) {
        const std::size_t n = bytes_of(r);
        if (n > room_) {
            rows_.push_back(in_.allocate(by_, block));
            at_ = rows_.back().data(), room_ = block;
        }
        std::memcpy(at_, &r, sizeof(Row));
        std::memcpy(at_ + sizeof(Row), tail, r.tail());
        if (n_ * sizeof(place) == order_.size()) grow_order();
        places()[n_++] = {r.key(), reinterpret_cast<const Row*>(at_)};
        at_ += n, room_ -= n;
    }
    sorted_run take() {
        std::sort(places(), places() + n_, [](const place& a, const place& b) { return a.key < b.key; });
        sorted_run made;
        batch_writer<Row> out{in_, by_, batch_bytes_};
        for (std::size_t i = 0; i != n_; ++i) out.add(*places()[i].row, tail_of(*places()[i].row));
        made.batches = out.take();
        std::size_t i = 0;
        for (const batch& b : made.batches) made.first.push_back(places()[i].key), i += b.rows;
        return made;
    }

  private:
    void grow_order() {
        allot::buffer larger = in_.allocate(by_, std::max(2 * order_.size(), std::size_t{4096} * sizeof(place)));
        if (n_ != 0) std::memcpy(larger.data(), order_.data(), n_ * sizeof(place));
        order_ = std::move(larger);
    }
    place* places() { return reinterpret_cast<place*>(order_.data()); }

    engine& in_;
    allot::account& by_;
    std::size_t batch_bytes_, n_ = 0, room_ = 0;
    allot::buffer order_;
    std::vector<allot::buffer> rows_;
    std::byte* at_ = nullptr;
};

/// Rows with keys of [from, to), or up to the last for to == 0.
struct key_range {
    std::uint64_t from = 0, to = 0;
};

/// Calls f(row) for the rows of these runs in order. Holds one batch of each run in memory. Throws: what pin() throws.
template <class Row, class F> void merge(std::vector<const sorted_run*> runs, const key_range& range, F&& f) {
    struct cursor {
        const sorted_run* of;
        std::size_t at; // the batch
        std::optional<decltype(std::declval<const batch&>().data.pin())> pin{};
        const std::byte *p = nullptr, *end = nullptr;

        const Row& row() const { return *reinterpret_cast<const Row*>(p); }
        bool load() {
            pin.reset();
            if (at == of->batches.size()) return false;
            pin.emplace(of->batches[at].data.pin());
            p = (*pin)->data(), end = p + of->batches[at].bytes;
            return true;
        }
        bool next() {
            p += bytes_of(row());
            if (p != end) return true;
            ++at;
            return load();
        }
    };
    struct head {
        std::uint64_t key;
        std::uint32_t run;
    };
    std::vector<cursor> cursors;
    std::vector<head> heads; // a heap, the least key first
    cursors.reserve(runs.size());
    const auto later = [](const head& a, const head& b) { return a.key > b.key; };
    for (const sorted_run* const r : runs) {
        const auto after = std::upper_bound(r->first.begin(), r->first.end(), range.from);
        cursor c{r, static_cast<std::size_t>(after - r->first.begin()) - (after != r->first.begin())};
        bool has = c.load();
        while (has && c.row().key() < range.from) has = c.next();
        if (!has) continue;
        heads.push_back({c.row().key(), static_cast<std::uint32_t>(cursors.size())});
        cursors.push_back(std::move(c));
    }
    std::make_heap(heads.begin(), heads.end(), later);
    while (!heads.empty() && (range.to == 0 || heads[0].key < range.to)) {
        cursor& c = cursors[heads[0].run];
        f(c.row());
        if (c.next()) {
            const head now{c.row().key(), heads[0].run};
            std::size_t at = 0;
            for (std::size_t child; (child = 2 * at + 1) < heads.size(); at = child) {
                child += child + 1 < heads.size() && heads[child + 1].key < heads[child].key;
                if (heads[child].key >= now.key) break;
                heads[at] = heads[child];
            }
            heads[at] = now;
        } else {
            std::pop_heap(heads.begin(), heads.end(), later);
            heads.pop_back();
        }
    }
}

} // namespace tpch
