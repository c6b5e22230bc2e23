#include <support/catch.hpp>

#include <allot/ledger/page_ledger.hpp>
#include <allot/page/arena.hpp>
#include <allot/page/charged_pages.hpp>
#include <allot/page/regrow.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

using namespace allot::literals;

namespace {

constexpr std::size_t page = 64_KiB;

struct counted {
    bool try_charge(std::size_t n, allot::detail::memory_request& asked) noexcept {
        if (n > most - bytes) return asked.refuse(allot::charge_outcome::over_limit, n), false;
        bytes += n;
        return true;
    }
    static bool is_exceeded() noexcept { return false; }
    static const std::atomic<std::uint32_t>& strain() noexcept { return allot::detail::no_ledger::strain(); }
    void confirm(std::size_t) noexcept {}
    void cancel(std::size_t n) noexcept { bytes -= n; }
    void refund(std::size_t n) noexcept { bytes -= n; }
    std::size_t most = 64_MiB, bytes = 0;
};

struct fixture {
    std::byte* take(std::size_t n) {
        allot::detail::memory_request asked{n * page};
        return pages.take(n, asked, move);
    }
    bool take(allot::detail::regrow& run) {
        allot::detail::memory_request asked{page};
        return run.take(pages, asked, move);
    }
    bool has(std::size_t n) const { // pages, charged and taken
        return ledger.bytes == n * page && arena.stats().taken == n * page && arena.valid();
    }
    allot::arena<> arena{allot::page_bytes{page}, allot::reserve_bytes{16 * page}};
    counted ledger;
    allot::detail::charged_pages<counted> pages{arena, ledger};
    allot::detail::charged_pages<counted>::untracked move;
};

} // namespace

TEST_CASE("a run grows in place or shrinks, and can be as before", "[page][regrow]") {
    fixture f;
    std::byte* const run = f.take(8);
    f.pages.give(run + 4 * page, 4);
    allot::detail::regrow same{run, 4, 4};
    CHECK(same);
    same.finish(f.pages);
    CHECK(f.has(4));
    for (const bool undone : {true, false}) {
        allot::detail::regrow longer{run, 4, 8};
        REQUIRE(longer.grows());
        CHECK_FALSE(longer);
        REQUIRE(f.take(longer));
        CHECK(longer.first() == run);
        CHECK(f.has(8));
        undone ? longer.undo(f.pages) : longer.finish(f.pages);
        CHECK(f.has(undone ? 4 : 8));
    }
    for (const bool undone : {true, false}) {
        allot::detail::regrow shorter{run, 8, 3};
        CHECK(shorter.first() == run);
        undone ? shorter.undo(f.pages) : shorter.finish(f.pages);
        CHECK(f.has(undone ? 8 : 3));
    }
    CHECK(f.arena.is_taken(run + 2 * page));
    CHECK_FALSE(f.arena.is_taken(run + 3 * page));
}

TEST_CASE("a run that may move becomes another one where it cannot grow in place", "[page][regrow]") {
    fixture f;
    std::byte* const run = f.take(4); // at the end of the range
    allot::detail::regrow stays{run, 4, 5};
    CHECK_FALSE(f.take(stays));
    CHECK(f.has(4));
    allot::detail::regrow declined{run, 4, 6, true};
    REQUIRE(f.take(declined));
    CHECK(declined.is_another());
    CHECK(f.has(10));
    declined.undo(f.pages);
    CHECK(f.has(4));
    CHECK(f.arena.is_taken(run));
    allot::detail::regrow moved{run, 4, 6, true};
    REQUIRE(f.take(moved));
    moved.finish(f.pages);
    CHECK(f.has(6));
    CHECK(f.arena.is_taken(moved.first()));
    CHECK_FALSE(f.arena.is_taken(run));
}

TEST_CASE("a run slides down where nothing else has room, and pays only for what it gains", "[page][regrow]") {
    fixture f;
    std::byte* const run = f.take(10); // 6 free pages in front
    allot::detail::regrow moves{run, 10, 12, true};
    CHECK_FALSE(f.take(moves));
    for (const bool undone : {true, false}) {
        allot::detail::regrow slid{run, 10, 12, true, true};
        REQUIRE(f.take(slid));
        CHECK_FALSE(slid.is_another());
        CHECK(slid.first() < run);
        CHECK(f.ledger.bytes == 12 * page);
        undone ? slid.undo(f.pages) : slid.finish(f.pages);
        CHECK(f.has(undone ? 10 : 12));
        CHECK(f.arena.is_taken(run));
        if (!undone) {
            CHECK(f.arena.is_taken(slid.first()));
            CHECK(f.arena.is_taken(slid.first() + 11 * page));
            CHECK((slid.first() + 12 * page == f.arena.end() || !f.arena.is_taken(slid.first() + 12 * page)));
        }
    }
}
