// Random traces of a row manager, held against a model that knows which rows live, with how many holders, and
// what is written in them. The seed of a trace that fails is told; MODEL_SEED=n runs that one alone.
#include <support/catch.hpp>
#include <support/sets_home.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace {

std::array<int, 3> ended; // rows destroyed, by type
template <int N> void end(void*) noexcept { ++ended[N]; }
const allot::row_type types[] = {{"first", &end<0>, 8}, {"second", &end<1>, 16}, {"third", &end<2>, 0}};

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

template <class Set> class trace {
    using manager = allot::row_manager<Set>;
    using heap_type = decltype(std::declval<manager&>().heap(allot::as<allot::heap::unique>, std::size_t{1}, types[0]));
    using local_type = std::optional<allot::local_rows<Set>>;
    static constexpr bool links = sets::links<manager>;
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
            void* const p = by_handle ? local->try_allocate(n, types[type]) : rows.try_allocate(n, types[type]);
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
        heaps[h] =
            std::make_unique<heap_type>(rows.heap(allot::as<allot::heap::unique>, bytes_of[h], types[type_of[h]]));
    }
    bool agrees() {
        for (const model_row& r : expected.rows)
            if (!model::intact(r)) return false;
        return rows.live_rows() == expected.rows.size() && rows.valid() && rows.arena().valid() &&
               ended == expected.ended && rows.stats().charged == rows.arena().stats().taken;
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
    explicit trace(unsigned seed) : random(seed) {}

    bool run(int count) {
        ended = {};
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

struct linked : allot::policies<allot::slots::linked, allot::oom::null> {};
struct bitmap : allot::policies<allot::slots::bitmap, allot::size::bucketed<allot::size::list::fine>> {};
struct out_of_band : allot::policies<allot::slots::bitmap, allot::count::links_out_of_band, allot::size::packed> {};
struct uncounted : allot::policies<allot::count::none, allot::slots::linked, allot::size::exact> {};
struct threads : allot::policies<allot::heap::per_thread, allot::slots::bitmap> {};
struct unlimited : allot::policies<allot::ledger::none, allot::heap::unique> {};
struct lent : allot::policies<allot::page::borrowed, allot::slots::bitmap> {};
struct scanned : allot::policies<allot::slots::scanning, allot::oom::null> {};
struct scanned_aside : allot::policies<allot::slots::scanning, allot::count::links_out_of_band, allot::size::packed> {};
struct delayed : allot::policies<allot::slots::delay_release, allot::size::bucketed<allot::size::list::fine>> {};
struct delayed_threads : allot::policies<allot::slots::delay_release, allot::heap::per_thread, allot::size::packed> {};
struct delayed_uncounted : allot::policies<allot::slots::delay_release, allot::count::none, allot::size::exact> {};

} // namespace

TEMPLATE_TEST_CASE("random traces of a row manager agree with the model", "[model]", linked, bitmap, out_of_band,
                   uncounted, threads, unlimited, lent, scanned, scanned_aside, delayed, delayed_threads,
                   delayed_uncounted) {
    const char* const one = std::getenv("MODEL_SEED");
    const unsigned first = one != nullptr ? static_cast<unsigned>(std::atoi(one)) : 1;
    const unsigned last = one != nullptr ? first : ALLOT_ASAN || ALLOT_TSAN ? 4 : 24;
    for (unsigned seed = first; seed <= last; ++seed) {
        INFO("seed " << seed);
        REQUIRE(trace<TestType>(seed).run(6000));
    }
}
