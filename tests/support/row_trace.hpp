// Random traces of a row manager, held against a model that knows which rows live, with how many holders, and
// what is written in them: rows are allocated, linked, released, resized and compacted.
#pragma once

#include <support/sets_home.hpp>

#include <allot/row_manager.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace {

inline std::array<int, 3> rows_ended; // rows destroyed, by type
template <int N> void end(void*) noexcept { ++rows_ended[N]; }
// Rows of the first and the third may move.
inline constexpr allot::row_type traced_types[] = {
    {.name = "first", .destroy = &end<0>, .align = 8, .relocate = &allot::relocate_bytes},
    {.name = "second", .destroy = &end<1>, .align = 16},
    {.name = "third", .destroy = &end<2>, .relocate = &allot::relocate_bytes}};

// The reference: rows as a list, and what must come out of every question about them.
struct model_row {
    unsigned char* at;
    std::size_t bytes;
    unsigned char mark;
    int holders;
    bool finalized;
    std::size_t type;
    int heap; // -1: the manager's own
};
struct model {
    std::vector<model_row> rows;
    std::array<int, 3> ended{};

    void add(void* p, std::size_t bytes, std::size_t type, int heap, std::mt19937& random) {
        model_row r{static_cast<unsigned char*>(p), bytes, static_cast<unsigned char>(random()), 1, false, type, heap};
        std::memset(r.at, r.mark, r.bytes);
        rows.push_back(r);
    }
    static bool intact(const model_row& r) {
        for (std::size_t i = 0; i < r.bytes; i += r.bytes < 5000 ? 1 : 997)
            if (r.at[i] != r.mark) return false;
        return true;
    }
    // Takes a holder away; the caller releases the row.
    model_row drop(std::size_t i) {
        const model_row was = rows[i];
        if (--rows[i].holders != 0) return was;
        ended[was.type] += was.finalized;
        rows[i] = rows.back();
        rows.pop_back();
        return was;
    }
    void drop_heap(int heap) {
        for (std::size_t i = rows.size(); i-- > 0;)
            if (rows[i].heap == heap) {
                rows[i].holders = 1;
                drop(i);
            }
    }
};

template <class Set> class row_trace {
    using manager = allot::row_manager<Set>;
    using heap_type =
        decltype(std::declval<manager&>().heap(allot::as<allot::heap::unique>, std::size_t{1}, traced_types[0]));
    using local_type = std::optional<allot::local_rows<Set>>;
    static constexpr bool links = sets::links<manager>;
    static constexpr bool typed = links; // rows know their types
    static constexpr int heap_count = 6;

    std::mt19937 random;
    sets::home<Set> home;
    manager& rows = home.rows;
    model expected;
    std::array<std::unique_ptr<heap_type>, heap_count> heaps;
    std::array<std::size_t, heap_count> bytes_of{}, type_of{};
    std::array<int, heap_count> id{};
    int next_id = 0;
    local_type local;

    std::size_t below(std::size_t n) { return random() % n; }
    std::size_t a_size() {
        const auto kind = below(20);
        return kind == 0 ? 60000 + below(300000) : kind < 4 ? below(20000) : below(300);
    }

    bool allocate() {
        const std::size_t type = below(3), n = a_size();
        const std::size_t count = n < 2000 && below(8) == 0 ? 60 : 1; // many of a kind fill pages
        for (std::size_t i = 0; i < count; ++i) {
            const bool by_handle = local && below(2) != 0;
            void* const p =
                by_handle ? local->try_allocate(n, traced_types[type]) : rows.try_allocate(n, traced_types[type]);
            if (p == nullptr) return true; // at the limit
            if (reinterpret_cast<std::uintptr_t>(p) % (type == 1 ? 16 : 8) != 0 || rows.capacity(p) < n) return false;
            expected.add(p, n, type, -1, random);
        }
        return true;
    }
    bool allocate_fixed(std::size_t h) {
        if (!heaps[h]) return true;
        void* const p = heaps[h]->try_allocate();
        if (p == nullptr) return true;
        if (rows.capacity(p) < bytes_of[h]) return false;
        expected.add(p, bytes_of[h], type_of[h], id[h], random);
        return true;
    }
    bool release_one() {
        if (expected.rows.empty()) return true;
        const model_row was = expected.drop(below(expected.rows.size()));
        if (!model::intact(was)) return false;
        if constexpr (links)
            if (allot::is_shared(was.at) != (was.holders > 1)) return false;
        switch (below(local ? 3 : 2)) {
        case 0: rows.release(was.at); break;
        case 1: allot::release(was.at); break;
        default: local->release(was.at);
        }
        return true;
    }
    bool release() {
        for (std::size_t n = below(8) == 0 ? 60 : 1; n != 0; --n)
            if (!release_one()) return false;
        return true;
    }
    void link() {
        if constexpr (links)
            if (!expected.rows.empty()) {
                model_row& r = expected.rows[below(expected.rows.size())];
                rows.link(r.at);
                ++r.holders;
                if (below(3) == 0) {
                    rows.finalize(r.at);
                    r.finalized = true;
                }
            }
    }
    // Some rows, in any order, with what is no row among them.
    bool compact() {
        std::shuffle(expected.rows.begin(), expected.rows.end(), random);
        const std::size_t n = below(expected.rows.size() + 1), no_rows = below(3);
        std::vector<void*> span(no_rows, nullptr);
        for (std::size_t i = 0; i != n; ++i) span.push_back(expected.rows[i].at);
        const allot::compaction_budget budget{.rows = below(4) == 0 ? below(50) : SIZE_MAX};
        const allot::compaction done = rows.compact(span, budget);
        std::size_t moved = 0;
        for (std::size_t i = 0; i != n; ++i) {
            model_row& r = expected.rows[i];
            if (span[no_rows + i] == r.at) continue;
            if (r.holders != 1 || (typed && r.type == 1)) return false;
            r.at = static_cast<unsigned char*>(span[no_rows + i]);
            if (!model::intact(r) || rows.capacity(r.at) < r.bytes) return false;
            ++moved;
        }
        return moved == done.moved && moved <= budget.rows && done.ignored == no_rows &&
               done.moved + done.kept + done.shared + done.pinned == n && done.pages_after <= done.pages_before;
    }
    bool resize() {
        if (expected.rows.empty()) return true;
        model_row& r = expected.rows[below(expected.rows.size())];
        const std::size_t n = a_size(), had = rows.capacity(r.at);
        allot::charge_status why;
        void* const now = below(5) != 0 ? rows.try_resize(r.at, r.bytes, n, &why)
                                        : rows.try_resize(r.at, r.bytes, n, [](auto) {}, &why); // not published
        if (now == nullptr) return why.charged() == false && model::intact(r) && rows.capacity(r.at) == had;
        if (now != r.at && (r.holders != 1 || (typed && r.type == 1))) return false;
        if (now != r.at) r.heap = -1;
        r.at = static_cast<unsigned char*>(now);
        r.bytes = r.bytes < n ? r.bytes : n;
        if (!model::intact(r) || rows.capacity(now) < n) return false;
        r.bytes = n;
        std::memset(r.at, r.mark, r.bytes);
        return true;
    }
    void make_or_drop_heap(std::size_t h) {
        if (heaps[h]) {
            if (below(3) == 0) {
                expected.drop_heap(id[h]);
                heaps[h]->release_all();
            } else heaps[h].reset(); // its rows outlive it
            return;
        }
        bytes_of[h] = 1 + below(500);
        type_of[h] = below(3);
        id[h] = next_id++;
        heaps[h] = std::make_unique<heap_type>(
            rows.heap(allot::as<allot::heap::unique>, bytes_of[h], traced_types[type_of[h]]));
    }
    bool agrees() {
        for (const model_row& r : expected.rows)
            if (!model::intact(r)) return false;
        return rows.live_rows() == expected.rows.size() && rows.valid() && rows.arena().valid() &&
               rows_ended == expected.ended && rows.stats().charged - rows.stats().idle == rows.arena().stats().taken;
    }
    bool step() {
        switch (below(64)) {
        case 0: make_or_drop_heap(below(heap_count)); return true;
        case 1: rows.release_empty_pages(); return true;
        case 2:
            if (local) local.reset();
            else local.emplace(rows);
            return true;
        case 3:
            if constexpr (sets::charges<manager>) rows.set_limit(sets::room / (1 + below(4)));
            return true;
        case 4: return compact();
        case 5:
        case 6:
        case 7: return resize();
        default: break;
        }
        // Phases of growth and of shrinking.
        const bool grows = (steps++ / 400) % 2 == 0;
        const auto choice = below(10);
        if (choice == 9) {
            link();
            return true;
        }
        if (choice < (grows ? 5u : 2u)) return below(2) != 0 ? allocate() : allocate_fixed(below(heap_count));
        if constexpr (sets::charges<manager>) {
            if (rows.used() > rows.peak()) return false;
        }
        return release();
    }
    unsigned steps = 0;

  public:
    explicit row_trace(unsigned seed) : random(seed) {}

    bool run(int count) {
        rows_ended = {};
        for (int i = 0; i < count; ++i)
            if (!step() || (i % 250 == 0 && !agrees())) return false;
        local.reset();
        while (!expected.rows.empty())
            if (!release_one()) return false;
        if (!agrees()) return false;
        for (auto& heap : heaps) heap.reset();
        rows.release_empty_pages();
        return rows.arena().stats().taken == 0;
    }
};

} // namespace
