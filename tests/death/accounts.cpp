// What must not be done with accounts ends a checked build, with the account's name.
#include <support/catch.hpp>
#include <support/dies_telling.hpp>

#include <allot/account/account.hpp>

#include <climits>

using allot::account;
using allot::name;

namespace {

struct fixture {
    account root{name{"engine"}}, other{root, name{"other query"}};
    account mine{root, name{"scan"}, allot::credit_step{1 << 20}};
    fixture() { static_cast<void>(mine.try_charge(100)); }
    ~fixture() { mine.refund(mine.used()), other.refund(other.used()); }
};
template <class Body> void reported(const char* what, const char* who, Body body) {
    dies_telling<fixture>(body, {what, who});
}

} // namespace

TEST_CASE("more refunded than charged, and a transfer to another tree", "[death][accounts]") {
    reported("more refunded than was charged", "scan", [](fixture& f) { f.mine.refund(101); });
    reported("an account of another tree", "stranger", [](fixture& f) {
        account stranger{name{"stranger"}};
        account::transfer(f.mine, stranger, 1);
    });
}

TEST_CASE("more confirmed or given up than is held", "[death][accounts]") {
    reported("more refunded than was charged", "other", [](fixture& f) {
        static_cast<void>(f.other.try_hold(10));
        f.other.cancel(11);
    });
    reported("more refunded than was charged", "other", [](fixture& f) { f.other.confirm(1); });
}

TEST_CASE("more buffers than an account can count", "[death][accounts]") {
    reported("too many buffers of an account", "other query", [](fixture& f) {
        for (const int more : {INT_MAX, 1, 1}) f.other.count(allot::counted::buffers, more);
    });
}

TEST_CASE("a reclaimer that is left behind by its account, or leaves it", "[death][accounts]") {
    struct quiet final : allot::reclaimer {
        quiet() : reclaimer("cached answers") {}
        bool reclaim(const allot::shortage&) noexcept override { return false; }
    };
    static constexpr const char* what = "a reclaimer that ends, or whose account ends, before it is removed";
    reported(what, "cached answers", [](fixture& f) {
        quiet r;
        account{f.root, name{"short-lived"}}.add(r);
    });
    reported(what, "cached answers", [](fixture& f) {
        quiet r;
        f.root.add(r);
    });
}
