// Every call of an account that takes bytes, at the edges of std::size_t.
#include <support/catch.hpp>
#include <support/edge_sizes.hpp>

#include <allot/account/account.hpp>
#include <allot/core/units.hpp>

#include <new>
#include <string>

using namespace allot::literals;

using namespace allot;

TEST_CASE("accounts: bytes at the edges of size_t are charged or refused, and nothing stays charged", "[accounts]") {
    for (const std::size_t most : support::edge_sizes()) {
        account root{name{"root"}, limit{most}, watermark{most}, credit_step{most}, std::nothrow};
        CHECK(root.is_open() == (most <= credit_step::max_bytes));
        account stepless{name{"root"}, limit{most}, watermark{most}};
        account child{stepless, name{"child"}, limit{most}};
        const auto floor = child.reserve_floor_for(most, 0_ms);
        CHECK(bool(floor) == (most <= PTRDIFF_MAX));
        if (!floor) continue;
        for (const std::size_t bytes : support::edge_sizes()) {
            INFO(bytes << " of " << most);
            const bool fits = child.fits(bytes);
            const charge_status s = child.try_charge(bytes);
            CHECK((s.fitted() == fits));
            if (s) child.refund(bytes);
            static_cast<void>(child.reserve_for(bytes, 0_ms));
            if (child.force_charge(bytes)) child.refund(bytes);
            if (child.try_hold(bytes)) child.cancel(bytes);
            if (child.try_hold(bytes)) child.confirm(bytes), child.refund(bytes);
            child.set_limit(bytes), child.set_watermark(bytes);
            const std::size_t room = child.headroom();
            CHECK(child.fits(room));
            CHECK_FALSE(child.fits(room + 1));
            child.set_limit(most);
            REQUIRE(child.used() == 0);
        }
        CHECK(stepless.verify());
    }
}

TEST_CASE("accounts: the largest charge, and its sum with others", "[accounts]") {
    constexpr auto whole = static_cast<std::size_t>(PTRDIFF_MAX);
    account root{name{"root"}};
    account leaf{root, name{"leaf"}, credit_step{credit_step::max_bytes}}, other{root, name{"other"}};
    CHECK(root.headroom() == whole);
    REQUIRE(other.try_charge(100));
    CHECK(leaf.headroom() == whole - 100);
    const charge_status s = leaf.try_charge(whole - 99);
    CHECK(s.outcome == charge_outcome::over_limit);
    CHECK(s.at == &root);
    CHECK(root.stats().refused == 1);
    char text[200];
    text_writer out{text};
    write(out, s);
    CHECK(out.view() == "over the limit: account root uses 100 bytes of 2^63 - 1 bytes, which no sum may exceed; the "
                        "request needs 8.00 EiB");
    CHECK(leaf.try_charge(whole + 1).at == &leaf);
    CHECK_FALSE(leaf.try_charge(SIZE_MAX));
    CHECK_FALSE(leaf.force_charge(SIZE_MAX));
    CHECK(leaf.stats().refused == 3);
    REQUIRE(leaf.try_charge(whole - 100));
    CHECK(leaf.headroom() == 0);
    leaf.refund(whole - 100), other.refund(100);
    CHECK(root.verify());
}

TEST_CASE("accounts: a forced charge beyond the largest sum names that, not a limit that is exceeded", "[accounts]") {
    account root{name{"root"}, limit{10_MiB}}, query{root, name{"query"}, limit{1_MiB}};
    REQUIRE(query.force_charge(2_MiB).charged());
    char text[200];
    text_writer out{text};
    write(out, query.force_charge(PTRDIFF_MAX));
    CHECK(out.view() == "over the limit: account query uses 2 MiB of 2^63 - 1 bytes, which no sum may exceed; the "
                        "request needs 8.00 EiB");
    CHECK(query.used() == 2_MiB);
    query.refund(2_MiB);
}

TEST_CASE("accounts: a credit step beyond the maximum is refused at once", "[accounts]") {
    account root{name{"root"}};
    constexpr std::size_t most = credit_step::max_bytes;
    for (const std::size_t step : {most + 1, std::size_t{1} << 32, SIZE_MAX}) {
        account leaf{root, name{"leaf"}, credit_step{step}, std::nothrow};
        CHECK_FALSE(leaf.is_open());
        CHECK_FALSE(leaf.try_charge(1));
        CHECK(leaf.refusal().outcome == charge_outcome::misused);
        CHECK(leaf.refusal().requested == step);
        CHECK(leaf.refusal().limit == most);
        CHECK_FALSE(account(name{"alone"}, credit_step{step}, std::nothrow).is_open());
#if ALLOT_EXCEPTIONS
        const auto reason = [](auto make) {
            try {
                make();
            } catch (const out_of_memory& e) {
                return std::string{e.what()};
            }
            return std::string{};
        };
        CHECK(reason([&] { account{root, name{"leaf"}, credit_step{step}}; }).find("credit step of account leaf") !=
              std::string::npos);
        CHECK(reason([&] { account{name{"alone"}, credit_step{step}}; }).find("; pass at most 64 MiB") !=
              std::string::npos);
#endif
    }
    account widest{root, name{"widest"}, credit_step{most}}, none{root, name{"none"}, credit_step{0}};
    REQUIRE(widest.try_charge(1));
    CHECK(root.used() == most);
    REQUIRE(none.try_charge(1));
    CHECK(none.stats().credit == 0);
    widest.refund(1), none.refund(1);
    CHECK(root.stats().children == 2);
}

TEST_CASE("a forced charge is refused if a sum above an exceeded limit overflows", "[accounts][edges]") {
    account root{name{"root"}, limit{100}}, above{root, name{"above"}};
    account one{above, name{"one"}, limit{0}}, two{above, name{"two"}, limit{0}};
    CHECK(one.force_charge(PTRDIFF_MAX).outcome == allot::charge_outcome::forced);
    CHECK(two.force_charge(1).outcome == allot::charge_outcome::over_limit);
    CHECK((root.used() == PTRDIFF_MAX && two.used() == 0 && root.verify()));
    one.refund(1);
    CHECK(two.force_charge(1).outcome == allot::charge_outcome::forced);
    one.refund(PTRDIFF_MAX - 1);
    two.refund(1);
}
