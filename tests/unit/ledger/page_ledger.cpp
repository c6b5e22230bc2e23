#include <support/catch.hpp>

#include <allot/ledger/page_ledger.hpp>

#include <atomic>
#include <thread>
#include <vector>

namespace {

bool charge(allot::detail::page_ledger& ledger, std::size_t bytes) {
    allot::detail::memory_request asked{bytes};
    return ledger.try_charge(bytes, asked);
}

} // namespace

TEST_CASE("a charge that does not fit is never seen, not even in the peak", "[ledger]") {
    allot::detail::page_ledger ledger{100};
    CHECK(charge(ledger, 60));
    ledger.confirm(60);
    CHECK_FALSE(charge(ledger, 41));
    CHECK_FALSE(charge(ledger, SIZE_MAX));
    CHECK(ledger.used() == 60);
    CHECK(ledger.peak() == 60);
    CHECK(charge(ledger, 40));
    ledger.cancel(40); // it could not be had
    CHECK(ledger.used() == 60);
    CHECK(ledger.peak() == 60);
    ledger.refund(60);
    CHECK(ledger.used() == 0);
    CHECK(ledger.peak() == 60);
}

TEST_CASE("a limit below what is used stops charges until enough is refunded", "[ledger]") {
    allot::detail::page_ledger ledger{100};
    CHECK(charge(ledger, 80));
    ledger.confirm(80);
    ledger.set_limit(50);
    CHECK_FALSE(charge(ledger, 1));
    ledger.refund(40);
    CHECK(charge(ledger, 10));
    CHECK_FALSE(charge(ledger, 1));
}

TEST_CASE("the limit holds under any number of threads", "[ledger]") {
    allot::detail::page_ledger ledger{1000};
    std::atomic<bool> over{false};
    std::vector<std::thread> all;
    for (int t = 0; t < 4; ++t)
        all.emplace_back([&, t] {
            for (int i = 0; i < 20000; ++i) {
                const auto n = static_cast<std::size_t>(1 + (i * 7 + t * 13) % 400);
                if (!charge(ledger, n)) continue;
                if (ledger.used() > 1000) over = true;
                if (i % 3 == 0) {
                    ledger.cancel(n);
                } else {
                    ledger.confirm(n);
                    ledger.refund(n);
                }
            }
        });
    for (auto& t : all) t.join();
    CHECK_FALSE(over);
    CHECK(ledger.used() == 0);
    CHECK(ledger.peak() <= 1000);
}
