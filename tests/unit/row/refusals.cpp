// Why a request for a row was refused, and by what: from try_allocate of every handle, and in out_of_memory.
#include <support/catch.hpp>

#include <allot/account/account.hpp>
#include <allot/ledger/tree.hpp>
#include <allot/row/any_rows.hpp>
#include <allot/row_manager.hpp>

#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::charge_outcome;
using allot::charge_status;
using allot::limit;
using allot::name;
using allot::refuser;
using allot::untyped;

namespace {

constexpr allot::page_bytes small{64_KiB};
constexpr allot::leak_sink unheard{[](void*, std::string_view) noexcept {}, nullptr}; // rows stay where it is full
struct counter : allot::policies<> {};
struct per_thread : allot::policies<allot::heap::per_thread> {};
struct uncounted : allot::policies<allot::count::none> {};
struct in_tree : allot::policies<allot::ledger::tree> {};
struct borrowing : allot::policies<allot::page::of<allot::arena<>>> {};
struct charges_nothing : allot::policies<allot::ledger::none> {};

std::string text_of(const charge_status& s) {
    char text[200];
    allot::text_writer out{text};
    write(out, s);
    return text;
}
void check_over_limit(const charge_status& why, const char* who, std::size_t most) {
    CHECK(why.outcome == charge_outcome::over_limit);
    CHECK(why.by == refuser::limit);
    CHECK(why.name == std::string{who});
    CHECK(why.limit == most);
    CHECK(why.used <= most);
    CHECK(why.used + why.requested > most);
}

} // namespace

TEST_CASE("every handle says that the manager's own limit refused", "[row][refusal]") {
    allot::row_manager<counter> rows{name{"orders"}, small, limit{256_KiB}, unheard};
    allot::row_manager<per_thread> threads{name{"lines"}, small, limit{128_KiB}, unheard};
    auto local = rows.local();
    auto heap = rows.heap(1000);
    auto local_heap = heap.local();
    charge_status why;
    CHECK(rows.try_allocate(1_MiB, untyped, &why) == nullptr); // a huge row
    check_over_limit(why, "orders", 256_KiB);
    CHECK(why.requested >= 1_MiB);
    while (rows.try_allocate(1000, untyped, &why) != nullptr) CHECK(why.fitted());
    check_over_limit(why, "orders", 256_KiB);
    CHECK(text_of(why) == "over the limit: orders uses 256 KiB of 256 KiB; the request needs 64 KiB");
    why = {};
    CHECK(local.try_allocate(1000, untyped, &why) == nullptr);
    check_over_limit(why, "orders", 256_KiB);
    why = {};
    CHECK(heap.try_allocate(&why) == nullptr);
    check_over_limit(why, "orders", 256_KiB);
    why = {};
    CHECK(local_heap.try_allocate(&why) == nullptr);
    check_over_limit(why, "orders", 256_KiB);
    why = {};
    CHECK(allot::any_rows{rows}.try_allocate(1000, untyped, &why) == nullptr);
    check_over_limit(why, "orders", 256_KiB);
    while (threads.try_allocate(1000, untyped, &why) != nullptr) continue;
    check_over_limit(why, "lines", 128_KiB);
    rows.set_limit(1_MiB);
    void* const row = rows.try_allocate(1000, untyped, &why);
    CHECK(row != nullptr);
    CHECK(why.fitted()); // not the refusal before it
    rows.heap(1000).release(row);
}

TEST_CASE("an arena says whether its limit, its address space or the system refused", "[row][refusal]") {
    charge_status why;
    {
        allot::arena<> shared{name{"shared"}, small, limit{128_KiB}};
        allot::row_manager<borrowing> rows{shared, name{"orders"}, unheard};
        while (rows.try_allocate(1000, untyped, &why) != nullptr) continue;
        CHECK(why.by == refuser::arena);
        CHECK(text_of(why) == "over the limit: arena shared uses 128 KiB of 128 KiB; the request needs 64 KiB");
    }
    {
        allot::row_manager<charges_nothing> rows{name{"orders"}, small, allot::reserve_bytes{256_KiB}};
        void* const row = rows.try_allocate(100);
        CHECK(rows.try_allocate(512_KiB, untyped, &why) == nullptr);
        CHECK(why.outcome == charge_outcome::no_address_space);
        CHECK(why.by == refuser::arena);
        CHECK(text_of(why) == "no address space: arena orders uses 64 KiB of 256 KiB; the request needs 576 KiB; pass "
                              "a larger reserve_bytes");
        rows.release(row);
    }
}

TEST_CASE("an account says which level of the tree refused", "[row][refusal]") {
    allot::account engine{name{"engine"}, limit{1_MiB}}, query{engine, name{"query 7"}, limit{256_KiB}},
        other{engine, name{"other"}};
    charge_status why;
    allot::row_manager<in_tree> rows{query, name{"orders"}, small, unheard};
    while (rows.try_allocate(1000, untyped, &why) != nullptr) continue;
    CHECK(why.at == &query);
    CHECK(text_of(why) == "over the limit: account query 7 uses 256 KiB of 256 KiB; the request needs 64 KiB");
    rows.set_limit(64_KiB);
    CHECK(rows.try_allocate(1000, untyped, &why) == nullptr);
    CHECK(why.at == &rows.account());
    rows.set_limit(SIZE_MAX);
    query.set_limit(SIZE_MAX);
    CHECK(other.try_charge(768_KiB).charged());
    CHECK(rows.try_allocate(1000, untyped, &why) == nullptr);
    CHECK(text_of(why) == "over the limit: account engine uses 1 MiB of 1 MiB; the request needs 64 KiB");
    other.refund(768_KiB);
}

#if ALLOT_EXCEPTIONS
TEST_CASE("out_of_memory names what refused, and the holders below the account that did", "[row][refusal]") {
    allot::account engine{name{"engine"}}, query{engine, name{"query 7"}, limit{1_MiB}}, scan{query, name{"scan"}},
        elsewhere{engine, name{"elsewhere"}};
    CHECK(elsewhere.try_charge(20_MiB).charged());
    CHECK(scan.try_charge(900_KiB).charged());
    allot::row_manager<in_tree> rows{query, name{"orders"}, small, limit{64_MiB}, unheard};
    try {
        for (;;) static_cast<void>(rows.allocate(1000));
    } catch (const allot::out_of_memory& e) {
        CHECK_THAT(e.what(), ContainsSubstring("allot: out of memory: 1000 bytes for row refused by "));
        CHECK_THAT(e.what(),
                   ContainsSubstring(
                       " orders: over the limit: account query 7 uses 964 KiB of 1 MiB; the request needs 64 KiB"));
        CHECK(e.why().outcome == charge_outcome::over_limit);
        CHECK(e.why().at == &query);
        CHECK(e.why().limit == 1_MiB);
        const std::string page{e.report()};
        const auto below = page.find("accounts of query 7: 964 KiB used of 1 MiB");
        REQUIRE(below != std::string::npos);
        const auto whole = page.find("accounts of engine: ");
        REQUIRE(whole > below);
        const std::string holders = page.substr(below, page.find("row manager") - below);
        CHECK_THAT(holders, ContainsSubstring("scan: 900 KiB charged"));
        CHECK(holders.find("elsewhere") == std::string::npos);
    }
    elsewhere.refund(20_MiB), scan.refund(900_KiB);
}

TEST_CASE("whatever name a manager has, it takes a part of one line of the report", "[row][refusal]") {
    const std::string odd = "a\nb\xFF" + std::string(10'000, 'n');
    allot::account engine{name{"engine"}, limit{1_MiB}};
    allot::row_manager<in_tree> rows{engine, name{odd.c_str()}, small};
    std::string page;
    try {
        for (;;) static_cast<void>(rows.allocate(1000));
    } catch (const allot::out_of_memory& e) {
        page = e.report();
    }
    CHECK_THAT(page, ContainsSubstring("row manager a\xE2\x90\x8A"
                                       "b\xEF\xBF\xBDnnn"));
    CHECK_THAT(page, ContainsSubstring("accounts of engine: "));
    CHECK(page.find("a\nb") == std::string::npos);
}
#endif

#if !ALLOT_CHECKED // where it aborts
TEST_CASE("a misuse is no lack of memory", "[row][refusal]") {
    allot::row_manager<counter> rows{limit{1_MiB}};
    charge_status why;
    static constexpr allot::row_type aligned{"odd", nullptr, 3};
    CHECK(rows.try_allocate(2_MiB, untyped, &why) == nullptr);
    CHECK(why.outcome == charge_outcome::over_limit);
    CHECK(text_of(why).starts_with("over the limit: it uses "));
    CHECK(rows.try_allocate(10, aligned, &why) == nullptr); // not the refusal before it
    CHECK(why.outcome == charge_outcome::misused);
    CHECK(rows.try_allocate(SIZE_MAX, untyped, &why) == nullptr);
    CHECK(why.by == refuser::none);
    CHECK(text_of(why) == "misused: " + std::string{text_of(allot::misuse::size_too_large)});
    allot::row_manager<uncounted> plain{limit{1_MiB}};
    auto local = plain.local();
    for (const std::uint32_t align : {3u, 5u, 6u, 7u, 12u, 65u}) {
        const allot::row_type wrong{"wrong", nullptr, align};
        CHECK(plain.try_allocate(10, wrong, &why) == nullptr);
        CHECK(text_of(why) == "misused: " + std::string{text_of(allot::misuse::bad_alignment)});
        CHECK(local.try_allocate(10, wrong) == nullptr);
    }
#if ALLOT_EXCEPTIONS
    try {
        static_cast<void>(rows.heap(1_MiB));
        FAIL("it was not refused");
    } catch (const allot::out_of_memory& e) {
        CHECK_THAT(e.what(), ContainsSubstring("misused: no row of this size and alignment fits a page"));
    }
#endif
}
#endif

TEST_CASE("a thread is not refused for free slots in its own caches", "[row][refusal]") {
    allot::row_manager<per_thread> rows{name{"query"}, small, limit{2_MiB}};
    allot::row_manager<counter> others{name{"other"}, small, limit{2_MiB}};
    auto local = others.local();
    const auto fill_and_release = [](auto& handle, std::size_t size) {
        std::vector<void*> held;
        while (void* const row = handle.try_allocate(size)) held.push_back(row);
        for (std::size_t i = 0; i != held.size(); ++i) std::swap(held[i], held[i * 7919 % held.size()]);
        for (void* const row : held) handle.release(row);
        return held.size();
    };
    for (const std::size_t size : {100u, 1000u, 5000u, 40u, 20u, 100'000u}) { // no row lives in between
        INFO(size);
        CHECK(fill_and_release(rows, size) * size > 900_KiB);
        CHECK(fill_and_release(local, size) * size > 900_KiB);
    }
}

TEST_CASE("a manager made in a closed query says which account was closed", "[row][refusal]") {
    allot::account engine{name{"engine"}}, query{engine, name{"query 7"}, unheard};
    allot::row_manager<in_tree> before{query, name{"before"}, small};
    query.close_when_drained([](allot::account&, void*) noexcept {}, nullptr);
    allot::row_manager<in_tree> after{query, name{"after"}, small};
    for (auto* const rows : {&before, &after}) {
        charge_status why;
        CHECK(rows->try_allocate(100, untyped, &why) == nullptr);
        CHECK(text_of(why) == "closed: account query 7");
        CHECK(why.at == &query);
        CHECK(why.requested >= 100);
    }
}

TEST_CASE("each thread reads its own refusal", "[row][refusal]") {
    const auto fill = [](const char* who, std::size_t most) {
        allot::row_manager<counter> rows{name{who}, small, limit{most}, unheard};
        for (int i = 0; i != 2000; ++i) {
            charge_status why;
            if (rows.try_allocate(60'000, untyped, &why) == nullptr && why.limit != most) return false;
        }
        return true;
    };
    bool other = false;
    std::thread thread{[&] { other = fill("other", 192_KiB); }};
    const bool mine = fill("mine", 128_KiB);
    thread.join();
    CHECK(mine);
    CHECK(other);
}
