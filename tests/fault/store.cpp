// The pause of a store after a failed write, in a time that the test sets: what is written meanwhile, and what ends it.
#include <support/catch.hpp>
#include <support/hooked_home.hpp>

#include <allot/buffers.hpp>
#include <allot/spill/spill_memory.hpp>
#include <allot/spill/stored_buffer.hpp>
#include <allot/sys/fault.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace allot::literals;

namespace {

using in_store = allot::stored<allot::buffer>;

class set_clock final : allot::detail::sys::fault::stage {
  public:
    set_clock() { allot::detail::sys::fault::director = this; }
    set_clock(const set_clock&) = delete;
    ~set_clock() { allot::detail::sys::fault::director = nullptr; }
    void pass(std::uint64_t ms) { now_ += ms * 1'000'000; }

  private:
    std::uint64_t now() noexcept override { return now_; }
    void sleep(const void*, std::uint64_t) noexcept override {} // one thread, whose requests do not wait
    void wake(const void*) noexcept override {}

    std::uint64_t now_ = 1'000'000'000;
};

struct pausing_store {
    explicit pausing_store(std::size_t objects = 16, std::size_t bytes = 4_KiB) : limit_(objects * bytes) {
        engine.set_limit(limit_);
        for (std::size_t i = 0; i != objects; ++i) all.push_back(put(bytes));
    }
    ~pausing_store() {
        all.clear();
        CHECK((engine.used() == 0 && disk.used() == 0 && home.records == 0));
    }
    in_store put(std::size_t bytes) { return inputs.put(memory.allocate(engine, bytes)); }
    void breaks(int error) {
        home.error = error, home.in_write = [] { return false; };
    }
    void is_mended() { home.in_write = nullptr; }
    // How many writes a request for that many bytes causes.
    std::size_t writes_of_a_request(std::size_t bytes) {
        const std::size_t before = home.writes;
        if (engine.try_charge(bytes)) engine.refund(bytes);
        return home.writes - before;
    }
    std::string message(std::size_t bytes) {
        try {
            engine.charge(bytes);
        } catch (const allot::out_of_memory& e) {
            return e.what();
        }
        return engine.refund(bytes), "";
    }

    set_clock time;
    allot::account engine{allot::name{"engine"}}, disk{allot::name{"disk"}};
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    support::hooked_home home{disk};
    allot::store inputs{engine, home, allot::name{"inputs"}};
    std::vector<in_store> all;

  private:
    const std::size_t limit_;
};

} // namespace

TEST_CASE("each pause is twice as long, up to 5 s, and one request tries a few objects behind it", "[spill][fault]") {
    pausing_store s{200};
    s.breaks(EIO);
    CHECK(s.writes_of_a_request(400_KiB) == 64); // those that were chosen before the first one failed
    for (const std::uint64_t span : {10u, 20u, 40u, 80u, 160u, 320u, 640u, 1280u, 2560u, 5000u, 5000u}) {
        CHECK(s.writes_of_a_request(400_KiB) == 0);
        s.time.pass(span - 1);
        CHECK(s.writes_of_a_request(400_KiB) == 0);
        CHECK(s.inputs.stats().paused_ns == 1'000'000);
        s.time.pass(1);
        CHECK(s.writes_of_a_request(400_KiB) == 3);
    }
    s.time.pass(5000);
    s.is_mended();
    CHECK(s.writes_of_a_request(400_KiB) == 100);
    CHECK(s.inputs.stats().paused_ns == 0);
}

TEST_CASE("what leaves without a write, and pins, end no pause; it is no try, either", "[spill][fault]") {
    pausing_store s;
    for (std::size_t i = 0; i != 4; ++i) CHECK(s.all[i].spill());
    for (std::size_t i = 0; i != 4; ++i) CHECK_FALSE(s.all[i].pin()->empty()); // back, and at home
    s.breaks(EIO);
    CHECK_FALSE(s.all[15].spill());
    CHECK(s.writes_of_a_request(16_KiB) == 0); // four are at home
    CHECK(s.all[0].is_away());
    CHECK_FALSE(s.all[0].pin()->empty());
    CHECK(s.writes_of_a_request(20_KiB) == 0);
    s.time.pass(10);
    CHECK_FALSE(s.all[0].pin()->empty());
    CHECK(s.writes_of_a_request(16_KiB) == 0); // that one leaves
    s.is_mended();
    CHECK(s.writes_of_a_request(20_KiB) == 1);
}

TEST_CASE("a home that was full gets as many bytes as it has dropped, until one write fails", "[spill][fault]") {
    pausing_store s;
    std::vector<in_store> kept;
    s.engine.set_limit(SIZE_MAX);
    for (std::size_t i = 0; i != 6; ++i) {
        kept.push_back(s.put(6_KiB));
        CHECK(kept.back().spill());
    }
    s.engine.set_limit(64_KiB);
    std::size_t room = 0;
    s.home.error = ENOSPC;
    s.home.in_write = [&] { return room >= 4_KiB && (room -= 4_KiB, true); };
    CHECK(s.writes_of_a_request(64_KiB) == 16);
    kept.pop_back(), room = 6_KiB;
    CHECK(s.writes_of_a_request(64_KiB) == 1); // one of 4 KiB, and no second one
    kept.pop_back(), room += 6_KiB;
    CHECK(s.writes_of_a_request(64_KiB) == 2); // of 8 KiB
    CHECK(s.disk.used() == 36_KiB);
    kept.pop_back(), room = 0; // which others have taken
    CHECK(s.writes_of_a_request(64_KiB) == 1);
    kept.pop_back();
    CHECK(s.writes_of_a_request(64_KiB) == 0); // so only time helps
    s.time.pass(10);
    CHECK(s.writes_of_a_request(64_KiB) == 3);
}

TEST_CASE("room at its home ends no pause after another error", "[spill][fault]") {
    pausing_store s;
    CHECK(s.all[0].spill());
    s.breaks(EIO);
    CHECK_FALSE(s.all[1].spill());
    s.is_mended();
    s.all[0] = {};
    CHECK(s.writes_of_a_request(8_KiB) == 0);
    s.time.pass(10);
    CHECK(s.writes_of_a_request(8_KiB) == 1);
}

TEST_CASE("a home that fails again soon after it was well pauses longer; later it begins anew", "[spill][fault]") {
    pausing_store s;
    s.breaks(EIO);
    CHECK_FALSE(s.all[0].spill());
    const auto fails_again_after = [&](std::uint64_t ms) {
        s.time.pass(s.inputs.stats().paused_ns / 1'000'000);
        s.is_mended();
        CHECK(s.inputs.spill(4_KiB) == 4_KiB);
        s.time.pass(ms);
        s.breaks(EIO);
        CHECK(s.inputs.spill(4_KiB) == 0);
        return s.inputs.stats().paused_ns / 1'000'000;
    };
    CHECK(fails_again_after(0) == 20);
    CHECK(fails_again_after(79) == 40);
    CHECK(fails_again_after(160) == 10);
}

TEST_CASE("a user who has mended the disk ends the pause; the error says how long it lasts", "[spill][fault]") {
    pausing_store s;
    s.breaks(EIO);
    const std::string error = "inputs cannot write to disk, and does not try for ";
    const std::string why = " ms more: failed: write hooked: Input/output error (errno 5)";
    CHECK_THAT(s.message(64_KiB), ContainsSubstring("uses 64 KiB of 64 KiB; " + error + "11" + why));
    s.time.pass(4);
    s.is_mended();
    CHECK_THAT(s.message(64_KiB), ContainsSubstring(error + "7" + why));
    char text[400];
    allot::text_writer out{text};
    s.engine.write_failures(out, s.engine.try_charge(64_KiB));
    CHECK_THAT(text, ContainsSubstring(error + "7" + why));
    SECTION("by the store") { s.inputs.end_pause(); }
    SECTION("by its account") { s.engine.end_pauses(); }
    CHECK(s.message(64_KiB).empty());
    out.clear();
    s.engine.write_failures(out);
    CHECK(out.view().empty());
}

TEST_CASE("what the home's account refuses waits for room, and pauses nothing", "[spill][fault]") {
    pausing_store s;
    s.disk.set_limit(6_KiB);
    CHECK(s.writes_of_a_request(64_KiB) == 16); // one is written
    CHECK(s.writes_of_a_request(64_KiB) == 0);
    CHECK_THAT(s.message(64_KiB), ContainsSubstring("; inputs cannot write to disk: refused: over the limit: account"));
    CHECK(s.inputs.stats().paused_ns == 0);
    s.disk.set_limit(8_KiB);
    CHECK(s.writes_of_a_request(64_KiB) == 15);
    for (in_store& each : s.all)
        if (each.is_away()) each = {};
    CHECK(s.disk.used() == 0);
    CHECK(s.writes_of_a_request(64_KiB) == 14);
    s.disk.set_limit(SIZE_MAX);
}

TEST_CASE("memory that has none for the home is asked again after the pause", "[spill][fault]") {
    pausing_store s;
    s.home.is_full = true; // it says no account
    CHECK(s.writes_of_a_request(64_KiB) == 16);
    s.home.is_full = false;
    CHECK(s.writes_of_a_request(64_KiB) == 0);
    s.time.pass(10);
    CHECK(s.writes_of_a_request(64_KiB) == 16);
}

TEST_CASE("a tier whose home fails keeps the pause, and tries once for each of its own writes", "[spill][fault]") {
    set_clock time;
    allot::account near{allot::name{"near"}, allot::limit{64_KiB}}, host{allot::name{"host"}, allot::limit{64_KiB}};
    allot::account disk{allot::name{"disk"}};
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    support::hooked_home below{disk};
    allot::spill_memory there{memory, host, below};
    allot::store inputs{near, there};
    std::vector<in_store> all;
    for (int i = 0; i != 8; ++i) all.push_back(inputs.put(memory.allocate(near, 16_KiB))), all.back().spill();
    CHECK((host.used() == 64_KiB && disk.used() == 64_KiB));
    below.in_write = [] { return false; };
    in_store one = inputs.put(memory.allocate(near, 16_KiB));
    const std::size_t writes = below.writes;
    CHECK_FALSE(one.spill());
    CHECK(below.writes == writes + 4); // three that are in the tier, then the object itself
    for (int i = 0; i != 3; ++i) CHECK_FALSE(one.spill());
    CHECK(below.writes == writes + 7);
    CHECK(there.tier()->stats().paused_ns == 10'000'000);
    below.in_write = nullptr;
    inputs.end_pause();
    CHECK(there.tier()->stats().paused_ns == 0);
    CHECK(one.spill());
    CHECK((host.used() == 64_KiB && there.tier()->stats().left == 5)); // by the tier
}
