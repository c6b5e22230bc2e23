// A request for pages retries for what other threads did since its last attempt, a bounded number of times.
#include <support/catch.hpp>

#include <allot/page/pages_in_transit.hpp>
#include <allot/row_manager.hpp>

#include <thread>

namespace {

using allot::detail::pages_in_transit;

template <class Body> void on_another_thread(Body body) { std::thread{body}.join(); }
void move_a_page(pages_in_transit& all) {
    pages_in_transit::move page{all};
    page.begin();
    page.end();
}
template <class Event> int retries_after(Event event) {
    pages_in_transit all;
    pages_in_transit::request asked{all};
    int n = 0;
    for (event(all); asked.retry(); event(all)) ++n;
    CHECK_FALSE(asked.retry());
    asked.retry_again();
    event(all);
    CHECK(asked.retry() == (n != 0));
    return n;
}

} // namespace

TEST_CASE("a request for pages retries after moves of other threads, eight times", "[pages]") {
    CHECK(retries_after([](pages_in_transit& all) { on_another_thread([&] { move_a_page(all); }); }) == 8);
}

TEST_CASE("a request for pages retries after other threads claimed slots, twice", "[pages]") {
    CHECK(retries_after([](pages_in_transit& all) { on_another_thread([&] { all.tell_claim(); }); }) == 2);
}

TEST_CASE("a request for pages does not retry for what its own thread did, or nobody", "[pages]") {
    CHECK(retries_after(move_a_page) == 0);
    CHECK(retries_after([](pages_in_transit& all) { all.tell_claim(); }) == 0);
    CHECK(retries_after([](pages_in_transit&) {}) == 0);
}

TEST_CASE("slots that another thread takes for its cache, or for itself, are claims", "[pages][row]") {
    struct rows_set : allot::policies<allot::oom::null> {};
    allot::row_manager<rows_set> rows{allot::limit{std::size_t{1} << 20}};
    auto heap = rows.heap(allot::as<>, 100, allot::untyped);
    pages_in_transit::request asked{heap.heap().provider().in_transit()};
    void* row = nullptr;
    on_another_thread([&] { row = heap.allocate(); }); // takes a page, too
    CHECK(asked.retry());
    CHECK_FALSE(asked.retry());
    asked.retry_again();
    on_another_thread([&] {
        auto mine = heap.local();
        mine.release(mine.allocate());
    });
    CHECK(asked.retry());
    CHECK_FALSE(asked.retry());
    heap.release(row);
}
