#include <support/catch.hpp>

#include <allot/kernel/scoped_atomic.hpp>

#include <cstdint>
#include <limits>

using namespace allot;

namespace {

template <thread_scope Scope, class T> void each_operation(ordered order) {
    constexpr T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    T word = 5;
    const auto w = scoped<Scope>(word);
    STATIC_REQUIRE(sizeof w == sizeof(void*));
    const ordered of_load = order == ordered::release || order == ordered::acq_rel ? ordered::acquire : order;
    const ordered of_store = order == ordered::acquire || order == ordered::acq_rel ? ordered::release : order;

    CHECK(w.load(of_load) == 5);
    w.store(high, of_store);
    CHECK(word == high);
    CHECK(w.fetch_add(3, order) == high);
    CHECK(word == static_cast<T>(low + 2)); // wraps around
    CHECK(w.fetch_sub(3, order) == static_cast<T>(low + 2));
    CHECK(word == high);
    CHECK(w.exchange(12, order) == high);
    CHECK(w.fetch_and(10, order) == 12);
    CHECK(w.fetch_or(3, order) == 8);
    CHECK(w.fetch_xor(6, order) == 11);
    CHECK(word == 13);
    CHECK(w.fetch_min(20, order) == 13);
    CHECK(w.fetch_min(4, order) == 13);
    CHECK(w.fetch_max(3, order) == 4);
    CHECK(w.fetch_max(9, order) == 4);
    CHECK(word == 9);
    CHECK(w.fetch_min(static_cast<T>(-1), order) == 9); // signed and unsigned differ
    CHECK(word == (low == 0 ? 9 : static_cast<T>(-1)));
    CHECK(w.fetch_max(low, order) == word);
    word = 9;

    T expected = 8;
    CHECK_FALSE(w.compare_exchange(expected, 1, order));
    CHECK(expected == 9);
    CHECK(word == 9);
    CHECK(w.compare_exchange(expected, 1, order));
    CHECK(expected == 9);
    CHECK(word == 1);
}

template <class T> void each_scope() {
    for (const ordered order :
         {ordered::relaxed, ordered::acquire, ordered::release, ordered::acq_rel, ordered::seq_cst}) {
        each_operation<thread_scope::thread, T>(order);
        each_operation<thread_scope::block, T>(order);
        each_operation<thread_scope::device, T>(order);
        each_operation<thread_scope::system, T>(order);
    }
}

} // namespace

TEST_CASE("a plain word is used atomically, at every width, order and scope", "[sync]") {
    each_scope<std::int32_t>();
    each_scope<std::uint32_t>();
    each_scope<std::int64_t>();
    each_scope<std::uint64_t>();
    each_scope<unsigned long long>();
}

TEST_CASE("words are integers of 4 or 8 bytes", "[sync]") {
    STATIC_REQUIRE(detail::atomic_word<unsigned> && detail::atomic_word<long> && detail::atomic_word<long long>);
    STATIC_REQUIRE_FALSE(detail::atomic_word<bool> || detail::atomic_word<char> || detail::atomic_word<short> ||
                         detail::atomic_word<void*> || detail::atomic_word<double>);
}
