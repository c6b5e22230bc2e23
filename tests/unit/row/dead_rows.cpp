// Dead rows in the span of compact(), where rows have no link counts: they are ignored, wherever their slots are, and
// no row of others is moved, overwritten or handed out a second time.
#include <support/catch.hpp>

#include <allot/core/units.hpp>
#include <allot/row_manager.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

using namespace allot::literals;

namespace {

namespace count = allot::count;
struct bits : allot::policies<count::none, allot::slots::bitmap> {};
struct small_bits : allot::policies<count::none, allot::slots::bitmap, allot::size::exact> {};
struct lists : allot::policies<count::none, allot::slots::linked> {};
struct encoded_lists : allot::policies<count::none, allot::slots::linked, allot::guard::encoded> {};
struct marks : allot::policies<count::none, allot::slots::scanning> {};
struct delayed_marks : allot::policies<count::none, allot::slots::delay_release> {};
struct late : allot::policies<count::none, allot::guard::quarantine<16>> {};
struct shared_heaps : allot::policies<count::none, allot::heap::shared> {};

const allot::leak_sink not_told{[](void*, std::string_view) noexcept {}, nullptr};

// Rows of one byte pattern each: live ones of the span, live ones that are not in it, and dead ones in it.
template <class Set> struct scene {
    static constexpr std::size_t bytes = 14;
    allot::row_manager<Set> rows{allot::limit{8_MiB}, allot::page_bytes{16_KiB}, not_told};
    std::vector<void*> all, span, outside;
    std::size_t live = 0, dead = 0;

    scene() {
        for (int i = 0; i != 8000; ++i) {
            all.push_back(rows.allocate(bytes));
            std::memset(all.back(), 42, bytes);
        }
    }
    // Releases most rows by release(row); then the span has live rows and dead ones.
    template <class Release> void thin_out(Release release) {
        std::vector<void*> gone;
        for (std::size_t i = 0; i != all.size(); ++i)
            if (i % 50 == 7) span.push_back(all[i]);
            else if (i % 50 == 9 && i < 6000) outside.push_back(all[i]);
            else gone.push_back(all[i]);
        live = span.size();
        for (void* const row : gone) release(row);
        // The last ones are in caches.
        for (std::size_t i = 0; i < gone.size(); i += i + 200 < gone.size() ? 37 : 1) span.push_back(gone[i]);
        dead = span.size() - live;
    }
    void compact_and_check() {
        const allot::compaction done = rows.compact(span);
        CHECK(done.ignored == dead);
        CHECK(done.moved + done.kept == live);
        CHECK(rows.live_rows() == live + outside.size());
        CHECK(rows.valid());
    }
    // allocate(): rows of any of the scene's handles.
    template <class Allocate> void nothing_twice(Allocate allocate) {
        std::set<void*> seen(span.begin(), span.begin() + static_cast<std::ptrdiff_t>(live));
        seen.insert(outside.begin(), outside.end());
        std::size_t twice = 0, changed = 0;
        for (int i = 0; i != 20000; ++i) {
            void* const row = allocate(i);
            twice += !seen.insert(row).second;
            std::memset(row, 7, bytes);
        }
        CHECK(twice == 0);
        for (void* const row : outside) changed += *static_cast<char*>(row) != 42;
        for (std::size_t i = 0; i != live; ++i) changed += *static_cast<char*>(span[i]) != 42;
        CHECK(changed == 0);
        CHECK(rows.valid());
    }
};

} // namespace

TEMPLATE_TEST_CASE("dead rows in a span are ignored: slots in pages", "[row][compaction]", bits, small_bits, lists,
                   encoded_lists, marks, delayed_marks, late, shared_heaps) {
    scene<TestType> s;
    s.thin_out([&](void* row) { s.rows.release(row); });
    s.compact_and_check();
    s.nothing_twice([&](int) { return s.rows.allocate(s.bytes); });
}

TEMPLATE_TEST_CASE("dead rows in a span are ignored: slots in the cache of a handle", "[row][compaction]", bits,
                   small_bits, lists, encoded_lists, marks, delayed_marks, late, shared_heaps) {
    scene<TestType> s;
    auto local = s.rows.local();
    s.thin_out([&](void* row) { local.release(row); });
    s.compact_and_check();
    s.nothing_twice([&](int i) { return i % 2 != 0 ? local.allocate(s.bytes) : s.rows.allocate(s.bytes); });
}

TEMPLATE_TEST_CASE("dead rows in a span are ignored: slots in caches of a thread that waits", "[row][compaction]", bits,
                   lists, marks, delayed_marks) {
    scene<TestType> s;
    std::atomic<int> step{0};
    std::vector<void*> gone;
    std::thread other([&] {
        auto local = s.rows.local();
        std::size_t n = 0;
        step.wait(0);
        for (void* const row : gone) n++ % 2 != 0 ? local.release(row) : s.rows.release(row);
        step = 2;
        step.notify_one();
        step.wait(2);
    });
    s.thin_out([&](void* row) { gone.push_back(row); });
    step = 1;
    step.notify_one();
    step.wait(1);
    s.compact_and_check();
    s.nothing_twice([&](int) { return s.rows.allocate(s.bytes); });
    step = 3;
    step.notify_one();
    other.join();
}

TEST_CASE("dead rows in a span are ignored: heaps of one size", "[row][compaction]") {
    allot::row_manager<bits> rows{allot::limit{8_MiB}, allot::page_bytes{16_KiB}, not_told};
    static constexpr allot::row_type type{.name = "t"};
    auto heap = rows.heap(allot::as<allot::heap::unique>, 60, type);
    std::vector<void*> all, span;
    {
        auto local = heap.local();
        for (int i = 0; i != 4000; ++i) all.push_back(local.allocate());
        std::size_t dead = 0;
        for (std::size_t i = 0; i != all.size(); ++i)
            if (i % 40 == 3) span.push_back(all[i]);
            else local.release(all[i]);
        const std::size_t live = span.size();
        for (std::size_t i = 0; i != all.size(); ++i)
            if (i % 40 != 3 && (i % 7 == 0 || i + 150 > all.size())) {
                span.push_back(all[i]);
                ++dead;
            }
        const allot::compaction done = rows.compact(span);
        CHECK(done.ignored == dead);
        CHECK(rows.live_rows() == live);
        std::set<void*> seen(span.begin(), span.begin() + static_cast<std::ptrdiff_t>(live));
        std::size_t twice = 0;
        for (int i = 0; i != 8000; ++i) twice += !seen.insert(i % 2 != 0 ? local.allocate() : heap.allocate()).second;
        CHECK(twice == 0);
    }
    // What release_all() has dropped is dead, too, when the heap has its pages again.
    CHECK(heap.release_all() != 0);
    void* const one = heap.allocate();
    std::erase(all, one);
    CHECK(rows.compact(all).ignored == all.size());
    CHECK(rows.valid());
}

TEST_CASE("a span of dead rows only leaves the next compaction as it is", "[row][compaction]") {
    scene<bits> s;
    std::vector<void*> dead{s.all.back()};
    s.rows.release(s.all.back());
    s.all.pop_back();
    CHECK(s.rows.compact(dead).ignored == 1);
    s.all.push_back(s.rows.allocate(s.bytes)); // perhaps at the same address
    std::memset(s.all.back(), 42, s.bytes);
    s.thin_out([&](void* row) { s.rows.release(row); });
    s.compact_and_check();
    s.nothing_twice([&](int) { return s.rows.allocate(s.bytes); });
}
