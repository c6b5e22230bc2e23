// Reservations of buffers.
#include <support/buffer_fixture.hpp>

TEST_CASE_METHOD(fixture, "a reservation is charged as it grows, and is one buffer then", "[buffer][reservation]") {
    telling_memory reported;
    buffer_memory telling{reported};
    {
        allot::buffer_reservation r{telling, a};
        CHECK(a.stats().buffer_reservations == 1);
        CHECK_FALSE(r.add(SIZE_MAX - 5)); // rounded up it would be nothing
        CHECK(r.bytes() == 0);
        CHECK(r.add(100));
        CHECK(r.add(100));
        CHECK(a.used() == 256); // of one block of 200
        CHECK(r.add(100));
        CHECK(a.used() == 512);
        CHECK(r.bytes() == 300);
        CHECK_FALSE(r.add(20'000));
        CHECK_FALSE(r.add(SIZE_MAX - 5));
        CHECK(r.charged() == 512);
        CHECK(a.used() == 512);
        buffer x = r.allocate();
        CHECK(x.size() == 300);
        CHECK(a.used() == 512);
        CHECK(r.charged() == 0);
        CHECK_FALSE(r.is_open());
        r.close();
        CHECK(a.used() == 512);
        CHECK(a.stats().buffer_reservations == 0);
    }
    CHECK(a.used() == 0);
    CHECK(reported.live == 0);
    {
        allot::buffer_reservation unused{telling, a}, nothing{telling, b};
        CHECK(unused.add(1000));
        CHECK_FALSE(nothing.allocate()); // of nothing
        CHECK_FALSE(nothing.is_open());
        unused.close();
        CHECK(a.used() == 0);
        unused.close();
        allot::buffer_reservation dropped{telling, a};
        CHECK(dropped.add(1000));
    }
    CHECK(a.used() == 0);
    CHECK(a.stats().buffer_reservations == 0);
}

TEST_CASE_METHOD(fixture, "a failing allocation leaves a reservation's balance right", "[buffer][reservation]") {
    allot::buffer_reservation r{memory, a}; // this memory does not tell what it will take
    CHECK(r.add(100));
    CHECK(a.used() == 100);
    pool.asked = 0, pool.fail_from = 0;
    CHECK_FALSE(r.allocate());
    CHECK(r.is_open());
    CHECK(a.used() == 100);
    pool.fail_from = ~0u;
    a.set_limit(200);
    charge_status why;
    CHECK_FALSE(r.allocate(&why)); // 256 bytes
    CHECK(why.at == &a);
    CHECK(a.used() == 100);
    CHECK(pool.live == 0);
    SECTION("it is closed then") {
        r.close();
        CHECK(a.used() == 0);
    }
    SECTION("it is tried again") {
        a.set_limit(300);
        buffer x = r.allocate();
        CHECK(x);
        CHECK(a.used() == 256);
    }
}
