// Compaction: rows of sparse pages move into few, and keep what they are.
#include <support/catch.hpp>
#include <support/damage.hpp>
#include <support/in_use.hpp>
#include <support/row_sets.hpp>

#include <allot/core/units.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/row_manager.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <type_traits>
#include <vector>

using namespace allot::literals;
using allot::compaction;

namespace {

struct canaries : allot::policies<allot::guard::canary> {};
struct wiped : allot::policies<allot::guard::zero> {};
struct late : allot::policies<allot::guard::quarantine<16>, allot::slots::bitmap> {};
struct encoded : allot::policies<allot::guard::encoded> {};
struct tenant : allot::policies<allot::page::of<allot::arena<>>> {};
struct in_tree : allot::policies<allot::ledger::tree> {};

// Rows that hold their numbers, for the sizes that a test chooses.
template <class Set> struct numbered {
    allot::row_manager<Set> rows;
    std::vector<void*> live;
    std::vector<std::uint64_t> numbers; // by place in `live`

    template <class... Values> explicit numbered(Values&&... values) : rows(values...) {}
    numbered(const numbered&) = delete;
    numbered& operator=(const numbered&) = delete;
    ~numbered() {
        for (void* const row : live) rows.release(row);
        CHECK(rows.live_rows() == 0);
    }
    template <class Bytes> void add(std::size_t n, Bytes bytes) {
        for (std::size_t i = 0; i != n; ++i) {
            live.push_back(rows.allocate(bytes(i)));
            *static_cast<std::uint64_t*>(live.back()) = i;
        }
        note();
    }
    void note() {
        numbers.clear();
        for (void* const row : live) numbers.push_back(*static_cast<std::uint64_t*>(row));
    }
    // Releases each row but with this chance, of 100.
    void thin_out(unsigned chance, unsigned seed = 1) {
        std::mt19937 random{seed};
        std::erase_if(live, [&](void* row) {
            if (random() % 100 < chance) return false;
            rows.release(row);
            return true;
        });
        note();
    }
    void check() const {
        std::size_t wrong = 0;
        for (std::size_t i = 0; i != live.size(); ++i) wrong += *static_cast<std::uint64_t*>(live[i]) != numbers[i];
        CHECK(wrong == 0);
        CHECK(rows.live_rows() == live.size());
        CHECK(rows.valid());
    }
};
constexpr auto always = [](std::size_t bytes) { return [bytes](std::size_t) { return bytes; }; };

// What compaction may leave where all rows can move, and no handle holds slots.
template <class Set> std::size_t least_pages(const allot::row_manager<Set>& rows, std::size_t slots) {
    std::size_t pages = 0;
    rows.usage([&](const allot::heap_usage& u) { pages += (u.live_rows + slots - 1) / slots; });
    return pages;
}
template <class Set> std::size_t slots_of_a_page(const allot::row_manager<Set>& rows) {
    std::size_t n = 0;
    rows.visit_pages([&](const allot::page_use& p) { n = p.slots; });
    return n;
}

} // namespace

TEMPLATE_TEST_CASE("rows move into the least pages, and keep their contents", "[row][compaction]", sets::plain,
                   sets::linked, sets::bitmap, sets::scanning, sets::scanning_aside, sets::delayed, sets::packed,
                   sets::uncounted, sets::per_thread, canaries, wiped, late, encoded) {
    numbered<TestType> n;
    n.add(100'000, always(64));
    n.thin_out(10);
    const std::size_t slots = slots_of_a_page(n.rows);
    const compaction done = n.rows.compact(n.live);
    n.check();
    CHECK(done.moved + done.kept == n.live.size());
    CHECK(done.moved > n.live.size() / 2);
    CHECK(done.shared + done.pinned + done.ignored + done.pages_pinned == 0);
    CHECK(done.pages_after == least_pages(n.rows, slots));
    CHECK(done.bytes_returned >= (done.pages_before - done.pages_after) * n.rows.arena().page_bytes());
    const compaction again = n.rows.compact(n.live);
    CHECK(again.moved == 0);
    CHECK(again.pages_after == done.pages_after);
    n.check();
    n.thin_out(50, 2);
    n.rows.compact(n.live);
    n.check();
    n.rows.trim();
    CHECK(n.rows.used() == least_pages(n.rows, slots) * n.rows.arena().page_bytes());
}

TEMPLATE_TEST_CASE("rows of many sizes move within their classes", "[row][compaction]", sets::plain, sets::scanning,
                   sets::delayed, sets::per_thread, canaries) {
    numbered<TestType> n;
    n.add(60'000, [](std::size_t i) { return 8 + i * 7919 % 2000; });
    n.thin_out(10);
    n.rows.trim();
    const std::size_t before = n.rows.used();
    const compaction done = n.rows.compact(n.live);
    n.check();
    n.rows.trim();
    CHECK(done.pages_before - done.pages_after == (before - n.rows.used()) / n.rows.arena().page_bytes());
    CHECK(n.rows.used() * 4 < before);
    std::size_t sparse = 0; // pages beyond the least
    n.rows.usage([&](const allot::heap_usage& u) {
        const std::size_t slots = n.rows.arena().page_bytes() / u.slot_bytes;
        sparse += u.pages - (u.live_rows + slots - 1) / slots > 1; // a page has less, for its header
    });
    CHECK(sparse == 0);
}

TEST_CASE("shared, pinned, huge, foreign and dead rows stay where they are", "[row][compaction]") {
    numbered<sets::plain> n;
    numbered<sets::plain> other;
    static constexpr allot::row_type fixed{.name = "fixed", .relocate = &allot::relocate_never};
    n.add(50'000, always(64));
    n.thin_out(5);
    void* const shared = n.live[3];
    n.rows.link(shared);
    void* const pinned = n.rows.allocate(64, fixed);
    void* const huge = n.rows.allocate(3_MiB);
    void* const foreign = other.rows.allocate(64);
    void* const dead = n.rows.allocate(64);
    n.rows.release(dead);
    int on_stack = 0;
    std::vector<void*> span = n.live;
    for (void* const more : {pinned, huge, foreign, dead, static_cast<void*>(nullptr), static_cast<void*>(&on_stack)})
        span.push_back(more);
    const std::vector<void*> before = span;
    const compaction done = n.rows.compact(span);
    CHECK(done.shared == 1);
    CHECK(done.pinned == 2);
    CHECK(done.ignored == 4);
    CHECK(done.moved + done.kept == n.live.size() - 1);
    CHECK(done.pages_pinned >= 1);
    CHECK(span[3] == shared);
    for (std::size_t i = n.live.size(); i != span.size(); ++i) CHECK(span[i] == before[i]);
    n.live.assign(span.begin(), span.begin() + static_cast<std::ptrdiff_t>(n.live.size()));
    for (std::size_t i = 0; i != n.live.size(); ++i) CHECK(*static_cast<std::uint64_t*>(n.live[i]) == n.numbers[i]);
    CHECK(n.rows.is_shared(shared));
    for (void* const row : {shared, pinned, huge}) n.rows.release(row);
    other.rows.release(foreign);
    CHECK(n.rows.compact({}).moved == 0);
    n.check();
}

namespace {

struct counted_object {
    static constexpr auto row_relocation = allot::relocation::moved;
    static inline int alive = 0;
    explicit counted_object(int of) noexcept : n(of), self(this) { ++alive; }
    counted_object(counted_object&& o) noexcept : n(o.n), self(this) { ++alive; }
    ~counted_object() { alive -= self == this; }
    int n;
    counted_object* self;
};
struct holds_memory {
    static constexpr auto row_relocation = allot::relocation::bytes;
    std::vector<int> numbers;
};

} // namespace

TEST_CASE("objects are moved as their type says, and destroyed once", "[row][compaction]") {
    CHECK_FALSE(allot::row_type_of<std::vector<int>>.can_move()); // no constant for g++ with -fsanitize=undefined
    CHECK((allot::row_type_of<int>.can_move() && allot::untyped.can_move()));
    allot::row_manager<sets::plain> rows;
    std::vector<void*> live, dropped;
    for (int i = 0; i != 30'000; ++i) {
        void* one = nullptr;
        if (i % 3 == 0) one = rows.make<counted_object>(i).detach();
        else if (i % 3 == 1) one = rows.make<holds_memory>(std::vector<int>(3, i)).detach();
        else one = rows.make<std::vector<int>>(std::size_t{2}, i).detach();
        (i % 10 < 9 ? dropped : live).push_back(one);
    }
    for (void* const row : dropped) rows.release(row);
    const int alive = counted_object::alive;
    const std::vector<void*> before = live;
    const compaction done = rows.compact(live);
    CHECK(done.moved != 0);
    CHECK(done.pinned != 0);
    CHECK(counted_object::alive == alive);
    for (std::size_t i = 0; i != live.size(); ++i) {
        const int was = static_cast<int>(i) * 10 + 9;
        if (was % 3 == 0) {
            auto* const o = static_cast<counted_object*>(live[i]);
            CHECK(((o->n == was) && (o->self == o)));
        } else if (was % 3 == 1) {
            CHECK(static_cast<holds_memory*>(live[i])->numbers == std::vector<int>(3, was));
        } else {
            CHECK(live[i] == before[i]);
        }
        rows.release(live[i]);
    }
    CHECK(counted_object::alive == 0);
    CHECK(rows.live_rows() == 0);
}

namespace {

// Sealed rows that hold their numbers; one of nine is left, and returned.
std::vector<void*> sparse_sealed_rows(allot::row_manager<sets::plain>& rows, const allot::row_type& type) {
    std::vector<void*> live, dropped;
    for (int i = 0; i != 20'000; ++i) {
        void* const row = rows.allocate(60, type);
        *static_cast<int*>(row) = i;
        allot::seal(row);
        (i % 9 == 0 ? live : dropped).push_back(row);
    }
    for (void* const row : dropped) rows.release(row);
    return live;
}

} // namespace

TEST_CASE("a seal moves with its row", "[row][compaction]") {
    static constexpr allot::row_type checked{.name = "checked", .check = allot::row_check::crc32c};
    allot::row_manager<sets::plain> rows;
    std::vector<void*> live = sparse_sealed_rows(rows, checked);
    CHECK(rows.compact(live).moved != 0);
    for (void* const row : live) {
        CHECK(allot::check(row));
        rows.release(row);
    }
}

TEST_CASE("damaged rows stay, and their page is filled, so that their release finds the damage", "[row][compaction]") {
    constexpr std::size_t n_damaged = 3;
    damage_log seen;
    numbered<canaries> n{seen.sink()};
    n.add(20'000, always(60));
    n.thin_out(10);
    const std::size_t room = n.rows.capacity(n.live[0]);
    const std::vector<void*> before = n.live;
    for (std::size_t i = 0; i != n_damaged; ++i) stray_change(static_cast<char*>(before[i]) + room);
    const compaction done = n.rows.compact(n.live);
    CHECK(done.moved > before.size() / 2);
    CHECK(done.pinned == n_damaged);
    CHECK(done.pages_after == least_pages(n.rows, slots_of_a_page(n.rows)));
    CHECK(seen.none()); // no sink is called while rows move
    for (std::size_t i = 0; i != n_damaged; ++i) {
        CHECK(n.live[i] == before[i]);
        n.rows.release(std::exchange(n.live[i], nullptr));
        CHECK(seen.one(allot::misuse::overrun, before[i]));
    }
    std::erase(n.live, nullptr);
    n.note();
    n.rows.compact(n.live);
    n.check();
}

TEST_CASE("a sealed row that was changed stays, whether it moves as bytes or as an object", "[row][compaction]") {
    static constexpr allot::row_type bytes{.name = "bytes", .check = allot::row_check::crc32c};
    static constexpr allot::row_type object{
        .name = "object", .check = allot::row_check::crc32c, .relocate = [](void* to, void* from) noexcept {
            std::memcpy(to, from, sizeof(int));
        }};
    for (const allot::row_type* type : {&bytes, &object}) {
        damage_log seen;
        allot::row_manager<sets::plain> rows{seen.sink()};
        std::vector<void*> live = sparse_sealed_rows(rows, *type);
        void* const damaged = live[0];
        ++*static_cast<int*>(damaged);
        const compaction done = rows.compact(live);
        CHECK(done.moved > live.size() / 2);
        CHECK(done.pinned == 1);
        CHECK(live[0] == damaged);
        CHECK(seen.none());
        rows.release(damaged);
        CHECK(seen.one(allot::misuse::broken_seal, damaged));
        for (std::size_t i = 1; i != live.size(); ++i) rows.release(live[i]);
        CHECK(seen.none());
    }
}

TEST_CASE("each row keeps its type beside others of its class", "[row][compaction]") {
    static constexpr allot::row_type checked{.name = "checked", .check = allot::row_check::crc32c};
    allot::row_manager<sets::plain> rows;
    std::vector<void*> live, dropped;
    for (int i = 0; i != 40'000; ++i)
        (i % 9 == 0 ? live : dropped).push_back(i % 2 == 0 ? rows.allocate(60, checked) : rows.allocate(64));
    for (void* const row : dropped) rows.release(row);
    std::vector<std::size_t> before, after; // a check takes 4 bytes of them
    for (void* const row : live) before.push_back(rows.capacity(row));
    CHECK(before[0] != before[1]);
    CHECK(rows.compact(live).moved != 0);
    for (void* const row : live) after.push_back(rows.capacity(row));
    CHECK(after == before);
    for (void* const row : live) rows.release(row);
}

TEST_CASE("rows of another manager in the same arena stay", "[row][compaction]") {
    allot::arena<> pages{allot::limit{64_MiB}};
    numbered<tenant> n{pages}, other{pages};
    n.add(20'000, always(64));
    other.add(20'000, always(64));
    n.thin_out(10);
    other.thin_out(10);
    const std::vector<void*> before = other.live;
    const compaction done = n.rows.compact(other.live);
    CHECK(done.ignored == before.size());
    CHECK(other.live == before);
    CHECK(n.rows.compact(n.live).moved != 0);
    n.check();
    other.check();
}

TEST_CASE("a budget of rows or time leaves the rest to the next call", "[row][compaction]") {
    numbered<sets::plain> n;
    n.add(100'000, always(64));
    n.thin_out(10);
    CHECK(n.rows.compact(n.live, {.rows = 0}).moved == 0);
    CHECK(n.rows.compact(n.live, {.nanoseconds = 0}).moved == 0);
    n.check();
    std::size_t calls = 0, moved = 0;
    for (;; ++calls) {
        const compaction done = n.rows.compact(n.live, {.rows = 1000});
        CHECK(done.moved <= 1000);
        n.check();
        moved += done.moved;
        if (done.moved == 0) break;
    }
    CHECK(calls > 3);
    CHECK(moved < n.live.size() + 1000 * calls);
    CHECK(support::in_use(n.rows) == least_pages(n.rows, slots_of_a_page(n.rows)) * n.rows.arena().page_bytes());
}

TEST_CASE("pages stay where handles have slots in their caches", "[row][compaction]") {
    numbered<sets::plain> n;
    auto mine = n.rows.local();
    std::vector<void*> kept;
    n.add(20'000, always(64));
    for (int i = 0; i != 2000; ++i) kept.push_back(mine.allocate(64));
    for (void* const row : kept) mine.release(row);
    n.thin_out(10);
    const compaction done = n.rows.compact(n.live);
    n.check();
    CHECK(done.pages_pinned != 0);
    CHECK(done.pages_after <= done.pages_before);
}

TEST_CASE("rows move at the limit, where no page is free", "[row][compaction]") {
    numbered<in_tree> n{allot::limit{8_MiB}};
    while (void* const row = n.rows.try_allocate(64)) {
        n.live.push_back(row);
        *static_cast<std::uint64_t*>(row) = n.live.size();
    }
    n.thin_out(30);
    const compaction done = n.rows.compact(n.live);
    CHECK(done.pages_after < done.pages_before / 2);
    n.check();
    CHECK(support::in_use(n.rows) <= 4_MiB);
}

TEST_CASE("each compaction of a little time moves some rows", "[row][compaction]") {
    numbered<sets::plain> n;
    n.add(20'000, always(64));
    n.thin_out(10);
    for (int call = 0; call != 100'000; ++call)
        if (n.rows.compact(n.live, {.nanoseconds = 1}).moved == 0) break;
    n.check();
    CHECK(n.rows.compact(n.live).moved == 0); // none was left to move
}
