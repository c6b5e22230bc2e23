#include <support/catch.hpp>

#include <allot/account/account.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/fit/best.hpp>
#include <allot/fit/buddy.hpp>
#include <allot/fit/runs.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/row_manager.hpp>

#include <memory>
#include <thread>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;
using allot::detail::account_books;
using allot::detail::memory_request;

namespace {

struct in_tree : allot::policies<allot::ledger::tree, allot::oom::null> {};
template <class Fit> struct fitted : allot::with<in_tree, Fit> {};

constexpr std::size_t most_uncharged = account_books::most_uncharged;

bool pay(account_books& books) {
    memory_request asked{1};
    return books.pay(asked);
}
// Of 16 MiB in blocks or rows of that many bytes: books in bytes, with those that are charged to nobody.
template <class Objects, class Allocate, class Release>
std::size_t books_of(std::size_t bytes, Allocate allocate, Release release) {
    account root{name{"root"}};
    Objects of{root};
    std::vector<void*> all(16_MiB / bytes);
    for (void*& p : all) p = allocate(of, bytes);
    const std::size_t books = of.stats().books + allot::detail::node_of(root).tree().uncharged_books.load();
    for (void* const p : all) release(of, p);
    return books;
}
template <class Fit> std::size_t books_of_blocks(std::size_t bytes) {
    return books_of<allot::chunk_arena<fitted<Fit>>>(
        bytes, [](auto& of, std::size_t n) { return of.try_allocate(n).address; },
        [](auto& of, void* p) { of.deallocate(p); });
}
std::size_t books_of_rows(std::size_t bytes) {
    return books_of<allot::row_manager<in_tree>>(
        bytes, [](auto& of, std::size_t n) { return of.try_allocate(n); }, [](auto& of, void* p) { of.release(p); });
}

} // namespace

TEST_CASE("books beyond the first ones below a root are charged, and refunded at the end", "[ledger][books]") {
    account root{name{"root"}, limit{64_MiB}};
    {
        account one{root, name{"one"}}, other{root, name{"other"}};
        allot::detail::rest none;
        account_books first{allot::detail::node_of(one), none}, second{allot::detail::node_of(other), none};
        first.owe(most_uncharged - 4_KiB);
        CHECK(pay(first));
        CHECK(root.used() == 0);
        second.owe(8_KiB);
        CHECK(second.charged() == 0); // not before it is paid
        CHECK(pay(second));
        CHECK(second.charged() == 8_KiB);
        CHECK(other.used() == 8_KiB);
        second.end(8_KiB);
        CHECK(other.used() == 8_KiB); // idle
        second.owe(4_KiB);
        CHECK(pay(second));
        CHECK(other.used() == 8_KiB);
        second.return_idle();
        CHECK(other.used() == 4_KiB);
        second.end(4_KiB);
        second.return_idle();
        CHECK(root.used() == 0);
    }
    account later{root, name{"later"}};
    allot::detail::rest none;
    account_books books{allot::detail::node_of(later), none};
    books.owe(most_uncharged - 4_KiB);
    CHECK(pay(books));
    CHECK(root.used() == 0); // those that were uncharged have ended
}

TEST_CASE("a refusal of books changes nothing, and says which account refuses", "[ledger][books]") {
    account root{name{"root"}, limit{4_KiB}};
    allot::detail::rest none;
    account_books books{allot::detail::node_of(root), none};
    books.owe(most_uncharged + 1);
    memory_request asked{1};
    for (int k = 0; k != 2; ++k) {
        CHECK_FALSE(books.pay(asked));
        CHECK(asked.why.outcome == allot::charge_outcome::over_limit);
        CHECK(asked.why.at == &root);
        CHECK(root.used() == 0);
        CHECK(root.peak() == 0);
    }
    root.set_limit(8_MiB);
    CHECK(books.pay(asked));
    CHECK(root.used() == most_uncharged + 1);
    books.end(most_uncharged + 1);
    books.return_idle();
    CHECK(root.used() == 0);
}

TEST_CASE("books that replace others offer nothing before they are paid, whatever is asked meanwhile",
          "[ledger][books]") {
    account root{name{"root"}, limit{32_KiB}}, other{root, name{"other"}};
    allot::detail::rest none;
    account_books uses_all{allot::detail::node_of(other), none}, books{allot::detail::node_of(root), none};
    uses_all.owe(most_uncharged);
    REQUIRE(pay(uses_all));
    books.owe(16_KiB);
    REQUIRE(pay(books));
    const auto is_kept = [&](std::size_t bytes) {
        books.return_idle(); // as a shortage has it
        return root.used() == bytes && books.charged() == bytes;
    };
    books.owe(40_KiB), books.end(16_KiB); // an array of 16 KiB grew
    CHECK(is_kept(16_KiB));
    CHECK_FALSE(pay(books));
    CHECK(is_kept(16_KiB));
    CHECK(books.owes_much());
    books.owe(8_KiB), books.end(40_KiB); // and has shrunk
    CHECK((pay(books) && root.used() == 16_KiB));
    CHECK(is_kept(8_KiB));
    books.end(8_KiB);
    CHECK(is_kept(0));
}

TEST_CASE("managers whose own memory a limit refuses cannot be made", "[ledger][books]") {
    account root{name{"root"}, limit{1_MiB}};
    std::vector<std::unique_ptr<allot::row_manager<in_tree>>> all;
    const auto add = [&] { all.push_back(std::make_unique<allot::row_manager<in_tree>>(root)); };
    const auto fill = [&] {
        try {
            for (;;) add();
        } catch (const allot::out_of_memory& e) {
            CHECK(e.why().outcome == allot::charge_outcome::over_limit);
            CHECK(e.why().at == &root);
        }
    };
    fill();
    const std::size_t n = all.size();
    CHECK(n * 16_KiB < most_uncharged + 1_MiB);
    std::size_t books = 0;
    for (const auto& rows : all) books += rows->stats().books;
    CHECK(books == root.used());
    CHECK(root.used() <= 1_MiB);
    CHECK(all.front()->try_allocate(100) == nullptr);
    all.pop_back();
    add(); // what it had is refunded
    CHECK(all.size() == n);
    all.clear();
    CHECK(root.used() == 0);
}

TEST_CASE("row managers and chunk arenas are charged for what they make", "[ledger][books]") {
    account root{name{"root"}, limit{64_MiB}};
    allot::detail::rest none;
    account_books others{allot::detail::node_of(root), none};
    others.owe(most_uncharged - 4_KiB);
    REQUIRE(pay(others)); // so all others are charged
    {
        allot::row_manager<in_tree> rows{root};
        const std::size_t idle = rows.stats().books;
        CHECK(idle > sizeof rows);
        CHECK(rows.used() == idle);
        void* const a = rows.try_allocate(100);
        void* const b = rows.try_allocate(1000);
        CHECK(rows.stats().books > idle + 3000); // one heap, and another that is owed
        CHECK(rows.used() == rows.stats().books + rows.arena().taken());
        std::thread([&] {
            for (int i = 0; i != 100; ++i) rows.release(rows.try_allocate(100));
        }).join();
        const std::size_t most = rows.used();
        rows.release(a);
        rows.release(b);
        rows.trim();
        CHECK(rows.used() < most); // of the thread, too
        CHECK(rows.used() == rows.stats().books);
    }
    CHECK(root.used() == 0);
    {
        allot::chunk_arena<in_tree> blocks{root};
        const std::size_t idle = blocks.stats().books;
        CHECK(idle > sizeof blocks);
        std::vector<void*> all;
        for (int i = 0; i != 50'000; ++i) all.push_back(blocks.try_allocate(64).address);
        CHECK(blocks.stats().books > idle + 50'000 * 32);
        CHECK(blocks.valid());
        for (void* const p : all) blocks.deallocate(p);
        blocks.trim();
        CHECK(blocks.valid());
        CHECK(blocks.stats().books < idle + 300_KiB);
        CHECK(blocks.used() == blocks.stats().books);
    }
    CHECK(root.used() == 0);
}

// What docs/accounts.md says of each.
TEST_CASE("books are in proportion to live blocks under fit::best alone", "[ledger][books]") {
    for (const std::size_t bytes : {64u, 256u, 1024u}) {
        CAPTURE(bytes);
        const std::size_t blocks = 16_MiB / bytes;
        CHECK(books_of_blocks<allot::fit::best>(bytes) > 40 * blocks);
        CHECK(books_of_blocks<allot::fit::best>(bytes) < 82 * blocks + 512_KiB);
        CHECK(books_of_blocks<allot::fit::runs>(bytes) < 16_MiB / 20);
        CHECK(books_of_blocks<allot::fit::buddy>(bytes) < 16_MiB / 20);
        CHECK(books_of_rows(bytes) < 40_KiB);
    }
}
