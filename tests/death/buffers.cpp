// What must not be done with buffers, reservations and vectors ends a checked build, with the account's name where
// there is one.
#include <support/catch.hpp>
#include <support/dies_telling.hpp>

#include <allot/buffer/charged_blocks.hpp>
#include <allot/buffers.hpp>
#include <allot/chunk_arena.hpp>
#include <allot/use/drill.hpp>

#include <cstring>
#include <thread>

using allot::account;
using allot::buffer;
using allot::name;
using namespace allot::literals;

namespace {

struct fixture {
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    account a{name{"scan"}}, other{name{"other query"}};
    buffer x = memory.allocate(a, 100);
};
template <class Body> void reported(const char* what, const char* who, Body body) {
    dies_telling<fixture>(body, {what, who});
}
constexpr const char* beyond = "beyond the bounds of a buffer, vector or row_array";

} // namespace

TEST_CASE("bytes beyond a buffer", "[death][buffer]") {
    reported(beyond, "scan", [](fixture& f) { static_cast<void>(f.x.slice(51, 50)); });
    reported(beyond, "scan", [](fixture& f) { static_cast<void>(f.x.slice(SIZE_MAX, 2)); });
    reported(beyond, "scan",
             [](fixture& f) { static_cast<void>(f.x.get<std::uint32_t>(97)); }); // though its block has 128
    reported(beyond, "scan", [](fixture& f) { f.x.set<std::uint8_t>(100, 1); });
    reported(beyond, "scan", [](fixture& f) { f.x.set<std::uint64_t>(SIZE_MAX - 3, 1); });
    reported(beyond, "", [](fixture&) { static_cast<void>(buffer{}.get<std::uint8_t>(0)); });
    reported(beyond, "", [](fixture& f) {
        f.x.release();
        f.x.set<std::uint8_t>(0, 1);
    });
}

TEST_CASE("a block that another account is charged for", "[death][buffer]") {
    struct faces {
        account engine{name{"engine"}, allot::limit{64_MiB}};
        allot::chunk_arena<allot::use::drill> pool{engine};
        account scan{engine, name{"scan"}}, join{engine, name{"join"}};
        allot::charged_blocks<decltype(pool)> of_scan{pool, scan}, of_join{pool, join};
    };
    dies_telling<faces>([](faces& f) { f.of_join.deallocate(f.of_scan.allocate(100'000).address); },
                        {"more refunded than was charged", "join"});
}

TEST_CASE("an account of another tree", "[death][buffer]") {
    reported("an account of another tree", "other query", [](fixture& f) { static_cast<void>(f.x.retain(f.other)); });
    reported("an account of another tree", "other query", [](fixture& f) { static_cast<void>(f.x.transfer(f.other)); });
    reported("an account of another tree", "other query",
             [](fixture& f) { static_cast<void>(std::move(f.x).transfer(f.other)); });
}

TEST_CASE("values beyond a vector, and vectors beyond their buffers", "[death][buffer]") {
    reported(beyond, "scan",
             [](fixture& f) { static_cast<void>(allot::value_vector<double>::allocate(f.memory, f.a, 10)[10]); });
    reported(beyond, "scan", [](fixture& f) { allot::value_vector<double>::allocate(f.memory, f.a, 10).set(10, 1); });
    reported(beyond, "scan", [](fixture& f) {
        static_cast<void>(allot::value_vector<double>::allocate(f.memory, f.a, 10).set_null(10));
    });
    reported(beyond, "scan", [](fixture& f) {
        static_cast<void>(allot::value_vector<double>::allocate(f.memory, f.a, 10).slice(5, 6));
    });
    reported(beyond, "scan", [](fixture& f) {
        static_cast<void>(allot::bytes_vector::allocate(f.memory, f.a, 10, 9)[0]);
    }); // none was appended
    // inside the buffer, and where the bytes wrap
    reported(beyond, "scan",
             [](fixture& f) { static_cast<void>(allot::value_vector<std::uint16_t>{f.x.slice(), 10}.get(10)); });
    reported(beyond, "scan",
             [](fixture& f) { allot::value_vector<std::uint16_t>{f.x.slice(), 10, f.x.slice(0, 2)}.set(10, 1); });
    reported(beyond, "scan",
             [](fixture& f) { static_cast<void>(allot::value_vector<double>{f.x.slice(), 10}.get(SIZE_MAX / 8 + 2)); });
    reported(beyond, "scan", [](fixture& f) { allot::value_vector<double>{f.x.slice(), 10}.set(SIZE_MAX / 8 + 2, 1); });
    reported(beyond, "scan", [](fixture& f) { allot::value_vector<double>{f.x.slice(), 13}; });
    reported(beyond, "scan", [](fixture& f) { allot::value_vector<double>{f.x.slice(), 12, f.x.slice(0, 2), 5}; });
    reported(beyond, "scan", [](fixture& f) {
        f.x.set<std::uint32_t>(0, 5), f.x.set<std::uint32_t>(4, 4); // they fall
        allot::bytes_vector{f.x.slice(0, 8), f.x.slice(), 1};
    });
    reported(beyond, "scan", [](fixture& f) { static_cast<void>(allot::value_vector<double>::cut(f.x.slice(), 13)); });
}

TEST_CASE("the host does not touch a device's memory", "[death][buffer]") {
    reported("a row in memory that the host must not touch", "scan", [](fixture& f) {
        static std::byte bytes[8];
        buffer x = buffer::of_foreign(f.a, bytes, 8, [](void*, std::byte*, std::size_t) noexcept {}, nullptr, false);
        static_cast<void>(x.get<std::uint8_t>(0));
    });
}

TEST_CASE("an account that ends before its views reports them", "[death][buffer]") {
    const death end = death_of([] {
        fixture f;
        account early{f.a, name{"early"}};
        buffer view = f.x.retain(early);
        early.close();
        view.release();
    });
    CHECK(end.survived());
    CHECK_THAT(end.said, ContainsSubstring("account early closed with 0 bytes not refunded, 1 buffers"));
}

TEST_CASE("more views of a buffer than can be counted", "[death][buffer]") {
    reported("too many buffers of an account, or views of a buffer", "scan", [](fixture& f) {
        allot::detail::buffer_ledger* its = nullptr;
        std::memcpy(&its, &f.x, sizeof its); // a view begins with the address of its ledger
        its->views = UINT32_MAX;
        static_cast<void>(f.x.slice());
    });
}
