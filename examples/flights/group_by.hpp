// Group-by in two steps: each thread groups its chunks into its own hash table; then each thread merges one part of all
// tables. No step shares mutable data (partitioned aggregation, Leis et al. 2014).
//
// A Group is a row with a key `of`, add(row) and merge(other). Rows come from one unique heap, through one handle per
// thread; the grouping releases them all at once.
#pragma once
#include "hash_table.hpp"
#include "tables.hpp"
#include "team.hpp"
#include <algorithm>
#include <utility>

namespace flights {

/// A heap whose rows are released, all at once, when it is destroyed.
template <class Heap> struct emptied_heap {
    Heap heap;
    ~emptied_heap() { heap.release_all(); }
};

template <class Group, class Rows> class grouping {
  public:
    /// Groups the rows of `from` for which key_of(row, key) is true.
    template <class Row, class KeyOf>
    grouping(Rows& rows, std::pmr::memory_resource& memory, team& workers, const table<Row, Rows>& from, KeyOf key_of)
        : rows_{rows.heap(allot::as<allot::heap::unique, allot::size::packed>, sizeof(Group), type)}, merged_(&memory) {
        std::pmr::vector<hash_table<Group>> mine(&memory);
        mine.reserve(workers.workers());
        merged_.reserve(workers.workers());
        for (unsigned w = 0; w != workers.workers(); ++w) {
            mine.emplace_back(&memory);
            merged_.emplace_back(&memory);
        }
        morsels chunks(workers, from.chunks());
        workers.run([&](unsigned worker) {
            auto groups = rows_.heap.local();
            for (std::size_t c = 0; chunks.next(c);) {
                each_row<Row>(from[c], [&](const Row& row) {
                    typename Group::key key;
                    if (!key_of(row, key)) return;
                    auto same = [&](const Group& g) { return g.of == key; };
                    auto make = [&] { return ::new (groups.allocate()) Group(key); };
                    mine[worker].find_or_put(key.hash(), same, make).add(row);
                });
            }
        });
        workers.run([&](unsigned worker) {
            for (const hash_table<Group>& table : mine) {
                table.each([&](std::uint64_t hash, Group& group) {
                    if (part_of(hash, mine.size()) != worker) return;
                    auto same = [&](const Group& g) { return g.of == group.of; };
                    Group& kept = merged_[worker].find_or_put(hash, same, [&] { return &group; });
                    if (&kept != &group) kept.merge(group);
                });
            }
        });
    }
    std::size_t size() const {
        std::size_t sum = 0;
        for (const hash_table<Group>& part : merged_) sum += part.size();
        return sum;
    }

    /// The groups, sorted; the list is in `memory`.
    template <class Before>
    std::pmr::vector<const Group*> sorted(std::pmr::memory_resource& memory, Before before) const {
        std::pmr::vector<const Group*> list(&memory);
        list.reserve(size());
        for (const hash_table<Group>& part : merged_)
            part.each([&](std::uint64_t, const Group& g) { list.push_back(&g); });
        std::sort(list.begin(), list.end(), [&](const Group* a, const Group* b) { return before(*a, *b); });
        return list;
    }

  private:
    static constexpr allot::row_type type{.name = Group::row_name, .align = alignof(Group)};
    using heap_handle =
        decltype(std::declval<Rows&>().heap(allot::as<allot::heap::unique, allot::size::packed>, 1, type));

    emptied_heap<heap_handle> rows_;
    std::pmr::vector<hash_table<Group>> merged_; // one per worker: the hashes of its part
};

} // namespace flights
