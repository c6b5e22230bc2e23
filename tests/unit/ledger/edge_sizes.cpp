// Every call of an account that takes bytes, at the edges of std::size_t.
#include <support/catch.hpp>
#include <support/edge_sizes.hpp>

#include <allot/core/units.hpp>
#include <allot/ledger/account.hpp>

#include <new>

using namespace allot;

TEST_CASE("accounts: bytes at the edges of size_t are charged or refused, and nothing stays charged", "[accounts]") {
    for (const std::size_t most : support::edge_sizes()) {
        account root{name{"root"}, limit{most}, grace{most}, credit_step{most}};
        account child{root, name{"child"}, limit{most}, reservation{most}, credit_step{most}, std::nothrow};
        if (!child.is_open()) {
            CHECK(child.refusal().outcome != charge_outcome::fits);
            continue;
        }
        for (const std::size_t bytes : support::edge_sizes()) {
            INFO(bytes << " of " << most);
            const bool fits = child.fits(bytes);
            const charge_status s = child.try_charge(bytes);
            CHECK((s.fitted() == fits));
            if (s) child.refund(bytes);
            if (child.maybe_reserve(bytes)) child.release_reservation();
            if (child.force_charge(bytes)) child.refund(bytes);
            if (child.try_hold(bytes)) child.cancel(bytes);
            if (child.try_hold(bytes)) child.confirm(bytes), child.refund(bytes);
            child.set_limit(bytes), child.set_grace(bytes);
            CHECK(child.headroom() <= SIZE_MAX / 2);
            child.set_limit(most), child.set_grace(0);
            REQUIRE(child.used() == 0);
        }
        CHECK(root.verify());
    }
}
