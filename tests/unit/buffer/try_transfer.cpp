// buffer::try_transfer: the charge moves if it fits; otherwise nothing changes.
#include <support/buffer_fixture.hpp>

#include <string_view>

namespace {

// Calls check(give) for views that are kept and for views that are given up.
template <class Check> void both(Check check) {
    for (const bool give : {false, true}) {
        INFO((give ? "an rvalue" : "an lvalue"));
        check(give);
    }
}
allot::transfer_result move_to(buffer& b, account& to, bool give) {
    return give ? std::move(b).try_transfer(to) : b.try_transfer(to);
}

} // namespace

TEST_CASE("try_transfer moves the charge where it fits", "[buffer][try_transfer]") {
    both([](bool give) {
        fixture t;
        buffer b = t.memory.allocate(t.a, 1000);
        auto [mine, how] = move_to(b, t.b, give);
        CHECK(how.fitted());
        CHECK(mine.holder() == &t.b);
        CHECK(t.a.used() == 0);
        CHECK(t.b.used() == 1024);
        CHECK(bool(b) != give);
        CHECK(mine.valid());
        CHECK(b.valid());
        CHECK(t.root.peak() == 1024); // never both
    });
}

TEST_CASE("try_transfer that does not fit changes nothing", "[buffer][try_transfer]") {
    for (const bool shared : {false, true})
        both([&](bool give) {
            fixture t;
            scribe listener;
            t.b.set_limit(1000);
            buffer b = t.memory.allocate(t.a, 1000);
            buffer other = shared ? b.slice(0, 10) : buffer{};
            t.root.add(listener);
            const auto before = b.data();
            auto [mine, how] = move_to(b, t.b, give);
            CHECK(how.outcome == charge_outcome::over_limit);
            CHECK(how.at == &t.b);
            CHECK(how.limit == 1000);
            CHECK(how.requested == 1024);
            CHECK_FALSE(mine);
            CHECK(b.data() == before);
            CHECK(b.size() == 1000);
            CHECK(b.holder() == &t.a);
            CHECK(b.charged() == &t.a);
            CHECK(b.valid());
            CHECK(t.a.used() == 1024);
            CHECK(t.b.used() == 0);
            CHECK(t.b.peak() == 0);
            CHECK(t.b.stats().buffers == 0);
            CHECK(listener.take().empty());
            b.bytes()[999] = std::byte{1};

            t.b.set_limit(2000); // the same view, again
            CHECK(move_to(b, t.b, give).fitted() == true);
            other.release();
            b.release();
            t.root.remove(listener);
        });
}

TEST_CASE("try_transfer looks at the levels between the accounts, not above both", "[buffer][try_transfer]") {
    both([](bool give) {
        fixture t;
        t.root.set_limit(1024); // full: nothing above changes
        buffer b = t.memory.allocate(t.a, 1000);
        auto [mine, how] = move_to(b, t.away, give);
        CHECK(how.fitted());
        CHECK(mine.charged() == &t.away);
        t.query.set_limit(100);
        auto [back, refused] = move_to(mine, t.c, give);
        CHECK(refused.at == &t.query);
        CHECK_FALSE(back);
        CHECK(mine.charged() == &t.away);
    });
}

TEST_CASE("try_transfer by a view whose account is not charged only adds a view", "[buffer][try_transfer]") {
    both([](bool give) {
        fixture t;
        t.c.set_limit(0);
        buffer b = t.memory.allocate(t.a, 1000), theirs = b.retain(t.b);
        auto [third, how] = move_to(theirs, t.c, give);
        CHECK(how.fitted());
        CHECK(third.holder() == &t.c);
        CHECK(b.charged() == &t.a);
    });
}

TEST_CASE("try_transfer to a closed account, and of the empty buffer", "[buffer][try_transfer]") {
    both([](bool give) {
        fixture t;
        buffer b = t.memory.allocate(t.a, 1000), none;
        {
            account gone{t.query, name{"gone"}};
            gone.close();
            auto [mine, how] = move_to(b, gone, give);
            CHECK(how.outcome == charge_outcome::closed);
            CHECK_FALSE(mine);
        }
        CHECK(b.charged() == &t.a);
        auto [mine, how] = move_to(none, t.b, give);
        CHECK(how.fitted());
        CHECK_FALSE(mine);
        auto [same, fits] = move_to(b, t.a, give); // of the same account
        CHECK(fits.fitted());
        CHECK(same.charged() == &t.a);
    });
}

TEST_CASE("try_transfer after the charged account has ended charges anew, if that fits", "[buffer][try_transfer]") {
    both([](bool give) {
        fixture t;
        std::string leaks;
        account closing{
            t.query, name{"closing"},
            allot::leak_sink{[](void* to, std::string_view text) noexcept { *static_cast<std::string*>(to) += text; },
                             &leaks}};
        buffer b = t.memory.allocate(closing, 1000);
        closing.close(); // its charge ends with it
        CHECK(t.root.used() == 0);
        t.b.set_limit(1000);
        auto [none, refused] = move_to(b, t.b, give);
        CHECK(refused.outcome == charge_outcome::over_limit);
        CHECK_FALSE(none);
        CHECK(b.valid());
        auto [mine, how] = move_to(b, t.c, give);
        CHECK(how.fitted());
        CHECK(t.c.used() == 1024);
        CHECK(mine.valid());
        CHECK(leaks.find("1 buffers") != std::string::npos);
        b.release();
        mine.release();
    });
}
