// Buffers in a store: they leave for memory of another account where theirs is short, and come back.
#include <support/catch.hpp>
#include <support/stored_bytes.hpp>
#include <support/tasks.hpp>

#include <allot/spill/spill_memory.hpp>
#include <allot/spill/stored_buffer.hpp>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

using namespace allot::literals;
using allot::account;
using allot::limit;
using allot::name;
using stored_buffer = allot::stored<allot::buffer>;
using support::charged;
using support::holds;
using support::until;

namespace {

struct homes {
    support::rescue ends{"a buffer that waits for ever"};
    allot::oom::arbiter tasks;
    account near{name{"near"}, limit{64_KiB}, tasks}, far{name{"far"}, limit{256_KiB}};
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    allot::spill_memory there{memory, far};
    allot::store inputs{near, there};

    ~homes() {
        CHECK(near.used() == inputs.stats().in_memory);
        CHECK(inputs.stats().entries == 0);
        CHECK(near.used() == 0);
        CHECK(far.used() == 0);
    }
    allot::buffer fill(account& by, std::size_t bytes, int with) const {
        allot::buffer b = memory.allocate(by, bytes);
        std::memset(b.data(), with, bytes);
        return b;
    }
    stored_buffer filled(std::size_t bytes, int with) { return inputs.put(fill(near, bytes, with)); }
};
} // namespace

TEST_CASE("a buffer leaves where memory is short, and comes back when it is pinned", "[spill]") {
    homes h;
    stored_buffer b = h.filled(16_KiB, 7);
    CHECK((!b.is_away() && b.bytes() == 16_KiB && h.near.used() == 16_KiB && h.far.used() == 0));
    {
        const charged more{h.near, 64_KiB};
        CHECK((b.is_away() && b.bytes() == 16_KiB && h.near.used() == 64_KiB && h.far.used() == 16_KiB));
        CHECK_FALSE(b.spill()); // it is away
        CHECK_THROWS_AS(b.pin(), allot::out_of_memory);
        CHECK((b.is_away() && h.far.used() == 16_KiB)); // where it was
    }
    CHECK(b.is_away()); // it comes back when it is needed
    CHECK(holds(b, 7));
    CHECK((!b.is_away() && h.near.used() == 16_KiB && h.far.used() == 0));
    CHECK(b.spill());
    CHECK(b.is_away());
    CHECK(holds(b, 7));
}

TEST_CASE("a pinned buffer stays, until its last pin ends", "[spill]") {
    homes h;
    stored_buffer b = h.filled(16_KiB, 7);
    std::optional first{b.pin()}, second{b.pin()};
    CHECK_FALSE(b.spill());
    CHECK_THROWS_AS(h.near.charge(64_KiB), allot::out_of_memory);
    first.reset();
    CHECK_FALSE(b.spill());
    auto moved = std::move(*second);
    second.reset(); // what was moved from holds nothing
    CHECK_FALSE(b.spill());
    {
        const auto last = std::move(moved);
    }
    const charged all{h.near, 64_KiB};
    CHECK(b.is_away());
}

TEST_CASE("where far memory refuses, a buffer stays, and the request is refused", "[spill]") {
    homes h;
    const charged full{h.far, 248_KiB};
    stored_buffer large = h.filled(16_KiB, 7), small = h.filled(4_KiB, 8);
    CHECK_FALSE(large.spill());
    CHECK_FALSE(large.is_away());
    CHECK_THROWS_AS(h.near.charge(64_KiB), allot::out_of_memory);
    CHECK(small.is_away()); // what could leave did
    CHECK(holds(large, 7));
    CHECK(holds(small, 8));

    allot::oom::task query{h.tasks, "query"};
    const allot::oom::task_thread here{query};
    try {
        allot::oom::with_retry_no_split([&] { const charged all{h.near, 64_KiB}; });
        FAIL("charged");
    } catch (const allot::out_of_memory& e) {
        CHECK_THAT(e.what(), ContainsSubstring("; attempts: "));
        CHECK_THAT(e.what(), ContainsSubstring("; store cannot write to far: refused: over the limit: account far"));
    }
}

TEST_CASE("a buffer is moved and ended, here and away", "[spill]") {
    homes h;
    std::vector<stored_buffer> all;
    for (int i = 0; i != 4; ++i) all.push_back(h.filled(16_KiB, i));
    CHECK(all[1].spill());
    CHECK(all[3].spill());
    std::swap(all[0], all[1]);
    CHECK((all[0].is_away() && !all[1].is_away()));
    CHECK(holds(all[0], 1));
    CHECK(all[0].spill());
    all.erase(all.begin()); // away
    CHECK(h.far.used() == 16_KiB);
    all.erase(all.begin()); // here
    CHECK((h.near.used() == 16_KiB && h.far.used() == 16_KiB));
    all[0] = std::move(all[1]);
    CHECK((h.near.used() == 0 && h.far.used() == 16_KiB));
    CHECK(holds(all[0], 3));
}

TEST_CASE("what was moved from holds nothing", "[spill]") {
    homes h;
    stored_buffer from = h.filled(16_KiB, 7), to{std::move(from)};
    CHECK((from.bytes() == 0 && !from.is_away() && !from.spill() && from.halves().empty()));
    CHECK(to.spill());
    CHECK((!from.is_away() && to.is_away()));
    if constexpr (ALLOT_CHECKED == 0) { // a checked build reports it, by abort
        try {
            static_cast<void>(from.pin());
            FAIL("a pin of nothing");
        } catch (const allot::out_of_memory& e) {
            CHECK(e.why().outcome == allot::charge_outcome::misused);
        }
    }
    from = std::move(to);
    CHECK(to.bytes() == 0);
    CHECK(holds(from, 7));
}

TEST_CASE("a request that waits takes the memory of a buffer whose pin ends", "[spill]") {
    homes h;
    stored_buffer b = h.filled(48_KiB, 7);
    std::optional pin{b.pin()};
    std::jthread waits([&] {
        CHECK_ON_THREAD(h.near.charge_for(32_KiB, allot::forever));
        h.near.refund(32_KiB);
    });
    until([&] { return h.near.stats().refused >= 2; });
    pin.reset();
    waits.join();
    CHECK(b.is_away());
    CHECK(holds(b, 7));
}

TEST_CASE("inputs of tasks that need all memory leave between attempts, and each keeps its bytes", "[spill]") {
    homes h;
    std::atomic<int> wrong{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t != 3; ++t)
        threads.emplace_back([&, t] {
            allot::oom::task query{h.tasks, "query"};
            const allot::oom::task_thread here{query};
            std::vector<stored_buffer> inputs = allot::oom::with_retry_no_split([&] {
                std::vector<stored_buffer> all;
                for (int i = 0; i != 3; ++i) all.push_back(h.filled(16_KiB, 10 * t + i));
                return all;
            });
            const auto no_split = [](const stored_buffer&) { return std::vector<stored_buffer>(); };
            int next = 10 * t;
            allot::oom::with_retry(inputs, no_split, [&](stored_buffer& b) {
                const auto data = b.pin();
                const charged result{h.near, 40_KiB};
                for (const std::byte x : data->bytes()) wrong += x != static_cast<std::byte>(next);
                ++next;
            });
        });
    threads.clear();
    CHECK(wrong == 0);
}

TEST_CASE("two tasks pin one buffer that is away: no wait is hidden from the arbiter", "[spill]") {
    homes h;
    stored_buffer shared = h.filled(32_KiB, 5);
    CHECK(shared.spill());
    std::atomic<int> here_now{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t != 2; ++t)
        threads.emplace_back([&] {
            allot::oom::task query{h.tasks, "query"};
            const allot::oom::task_thread here{query};
            bool first = true;
            allot::oom::with_retry_no_split([&] {
                const charged mine{h.near, 24_KiB}; // both, so 16 KiB are free
                if (std::exchange(first, false)) ++here_now;
                until([&] { return here_now.load() == 2; });
                const auto data = shared.pin();
            });
        });
    threads.clear();
    CHECK(holds(shared, 5));
}

TEST_CASE("halves wait for far memory without the buffer's lock: no wait is hidden from the arbiter", "[spill]") {
    const support::rescue ends{"halves that wait for ever"};
    allot::oom::arbiter tasks;
    account near{name{"near"}, limit{64_KiB}, tasks.device()}, far{name{"far"}, limit{64_KiB}, tasks};
    allot::heap_memory heap;
    allot::buffer_memory memory{heap};
    allot::spill_memory there{memory, far};
    allot::store inputs{near, there};
    const stored_buffer shared = inputs.put(memory.allocate(near, 32_KiB));
    allot::oom::task first{tasks, "first"}, second{tasks, "second"};
    std::atomic<bool> holds_far{false};
    std::jthread other([&] {
        const allot::oom::task_thread here{second};
        allot::oom::with_retry_no_split([&] {
            const charged mine{far, 48_KiB};
            holds_far = true;
            support::until_any_in(tasks, allot::oom::thread_state::blocked);
            const auto data = shared.pin();
        });
    });
    until([&] { return holds_far.load(); });
    const allot::oom::task_thread here{first};
    allot::oom::with_retry_no_split([&] { CHECK(shared.halves().size() == 2); });
    other.join();
    CHECK((near.used() == 0 && far.used() == 32_KiB));
}

TEST_CASE("a query is cancelled by closing its account, with spillable buffers in it", "[spill]") {
    homes h;
    std::optional<account> query{std::in_place, h.near, name{"query"}, allot::leak_sink{[](void*, auto) noexcept {}}};
    {
        const auto made = [&] { return h.inputs.put(h.memory.allocate(*query, 16_KiB)); };
        const stored_buffer there = made(), away = made();
        CHECK(away.spill());
        CHECK_FALSE(query->close()); // reports the bytes, which are its parent's now
        CHECK(h.near.used() == 0);
        {
            const charged all{h.near, 64_KiB};
        }
        CHECK_FALSE(h.near.try_charge(64_KiB + 1));
        CHECK_FALSE(there.is_away()); // nobody asks it
        CHECK(there.pin()->size() == 16_KiB);
        CHECK_THROWS_AS(away.pin(), allot::out_of_memory);
    }
    query.reset();
    CHECK(h.far.used() == 0);
}

namespace {

// Another thread brings the buffer back between a refusal and its error.
struct pins_meanwhile final : allot::account_listener {
    explicit pins_meanwhile(const stored_buffer& of) : buffer(of) {}
    void refused(const account&, const allot::charge_status&) noexcept override {
        if (++refusals != 2) return; // the first attempt has the buffer's lock
        blocker.reset();
        std::thread{[this] { other.emplace(buffer.pin()); }}.join();
    }
    const stored_buffer& buffer;
    std::optional<charged> blocker;
    std::optional<stored_buffer::pinned> other;
    int refusals = 0;
};

} // namespace

TEST_CASE("a pin that is refused looks whether another one has brought the bytes back", "[spill]") {
    homes h;
    stored_buffer b = h.filled(48_KiB, 7);
    REQUIRE(b.spill());
    pins_meanwhile other{b};
    other.blocker.emplace(h.near, 32_KiB);
    h.near.add(other);
    CHECK(holds(b, 7));
    h.near.remove(other);
    CHECK(other.refusals == 2);
}
