// Locked operations of charges and refunds, counted by stepping through them.
#include <support/catch.hpp>

#include <allot/account/account.hpp>
#include <allot/core/units.hpp>
#include <harness/traced.hpp>

#include <cstddef>

using namespace allot::literals;
using allot::account;
using allot::name;

namespace {

// Of a charge and its refund, at a leaf four levels deep.
template <class... Values> double locked_of_pair(Values... values) {
    const auto measured = bench::counted(200, false, [&] {
        account root{name{"root"}, allot::limit{1_GiB}};
        account query{root, name{"query"}, allot::limit{512_MiB}}, part{query, name{"part"}},
            leaf{part, name{"leaf"}, values...};
        static_cast<void>(leaf.try_charge(1)); // and has a step ahead, where it takes steps
        bench::timed(150, [&] {
            for (int i = 0; i != 150; ++i) {
                if (!leaf.try_charge(4096)) return;
                leaf.refund(4096);
            }
        });
        leaf.refund(1);
    });
    return measured ? (*measured)[1] : -1;
}

} // namespace

TEST_CASE("accounts: locked operations a level", "[process]") {
    if (ALLOT_ASAN || ALLOT_TSAN || !bench::can_count()) SKIP("no process may be stepped through here");
    const double exact = locked_of_pair(), steps = locked_of_pair(allot::credit_step{1_MiB});
    INFO(exact << " without steps, " << steps << " with");
    CHECK(exact >= 2);
    CHECK(exact <= 4 * 4);
    CHECK(steps >= 1.99);
    CHECK(steps <= 2.01);
}
