// The simulated device against a small reference: each operation has the set of all operations that it comes after,
// kept as it is, without clocks, versions or queues. The simulator must tell a hazard exactly where the reference
// misses an order, and must run delayed work in no order that the reference forbids.
#include <support/simulated_machine.hpp>

#include <bitset>
#include <random>

using namespace allot::literals;
namespace device = allot::device;
using device::stream_kind;

namespace {

constexpr std::size_t steps = 600, blocks = 5, events = 6;
using past = std::bitset<steps>;

struct reference {
    struct stream {
        past known;
        stream_kind kind = stream_kind::non_blocking;
        bool legacy = false;
        bool alive = true;
    };
    struct block {
        std::size_t write = steps; // none
        std::vector<std::size_t> reads;
    };
    std::vector<stream> streams;
    past host;
    past recorded[events];
    bool was_recorded[events]{};
    block memory[blocks];
    past before[steps]; // of each operation

    // Everything that a stream's next command comes after.
    past& now(std::size_t s) {
        stream& me = streams[s];
        me.known |= host;
        for (stream& other : streams)
            if (me.legacy && other.kind == stream_kind::blocking) me.known |= other.known;
        if (me.kind == stream_kind::blocking && streams[0].legacy) me.known |= since_legacy;
        if (me.legacy) since_legacy = me.known;
        return me.known;
    }
    past since_legacy; // what the legacy stream knew at its last command

    // Whether an operation on these blocks may meet an earlier one.
    bool operate(std::size_t s, std::size_t op, std::size_t b, bool writes) {
        past& known = now(s);
        block& m = memory[b];
        bool hazard = m.write != steps && !known[m.write];
        for (const std::size_t r : m.reads) hazard = hazard || (writes && !known[r]);
        before[op] = known;
        known[op] = true;
        if (streams[s].legacy) since_legacy = known;
        if (writes) {
            m.write = op;
            m.reads.clear();
        } else m.reads.push_back(op);
        return hazard;
    }
};

struct outcome {
    unsigned hazards = 0, wrong = 0, too_early = 0;
};

// One random program, told to both.
outcome compare(std::uint64_t seed, device::execution execution) {
    std::mt19937_64 random(seed);
    simulated_machine m{{.execution = execution, .seed = seed}};
    reference model;
    std::vector<simulated_machine::stream> streams{m.api.legacy_stream()};
    model.streams.push_back({{}, stream_kind::blocking, true, true});
    const auto add = [&](stream_kind kind) {
        streams.push_back(m.make_stream(kind));
        model.streams.push_back({{}, kind, false, true});
    };
    for (int i = 0; i != 5; ++i) add(i < 3 ? stream_kind::non_blocking : stream_kind::blocking);
    simulated_machine::event event[events];
    for (auto& e : event) e = m.make_event();
    std::byte* const p = m.allocate(blocks * 64);
    past ran;
    outcome seen;
    const auto wait_host = [&](const past& what) { model.host |= what; };
    for (std::size_t op = 0; op != steps; ++op) {
        const unsigned choice = static_cast<unsigned>(random() % 100);
        std::size_t s = random() % streams.size();
        if (s == 0 && random() % 4 != 0) s = 1; // the legacy stream orders so much that there would be little to see
        while (!model.streams[s].alive) s = random() % streams.size();
        const std::size_t e = random() % events;
        if (choice < 55) {
            const std::size_t b = random() % blocks;
            const bool writes = random() % 2 == 0;
            const bool expected = model.operate(s, op, b, writes);
            const std::uint64_t before = m.sim.hazards();
            const device::range bytes{p + b * 64, 64};
            const auto run = [&, op] {
                if ((model.before[op] & ~ran).any()) ++seen.too_early;
                ran[op] = true;
            };
            REQUIRE((writes ? m.sim.launch(streams[s], {}, {bytes}, run) : m.sim.launch(streams[s], {bytes}, {}, run)));
            const bool reported = m.sim.hazards() != before;
            seen.hazards += reported;
            seen.wrong += reported != expected;
            continue;
        }
        ran[op] = true; // no operation
        if (choice < 70) {
            REQUIRE(m.api.record(event[e], streams[s]));
            model.recorded[e] = model.now(s);
            model.was_recorded[e] = true;
        } else if (choice < 90) {
            REQUIRE(m.api.wait(streams[s], event[e]));
            if (!model.was_recorded[e]) continue; // orders nothing
            model.now(s) |= model.recorded[e];
            if (model.streams[s].legacy) model.since_legacy = model.streams[s].known;
        } else if (choice < 93) {
            if (m.got(m.api.query(event[e]))) wait_host(model.recorded[e]);
        } else if (choice < 95) {
            REQUIRE(m.api.synchronize(event[e]));
            wait_host(model.recorded[e]);
        } else if (choice < 97 && s != 0) {
            REQUIRE(m.api.synchronize(streams[s]));
            wait_host(model.streams[s].known);
        } else if (choice == 97) {
            REQUIRE(m.api.synchronize(m.api.legacy_stream()));
            for (const auto& one : model.streams)
                if (one.kind == stream_kind::blocking) wait_host(one.known);
        } else if (choice == 98 && s > 2) {
            REQUIRE(m.api.destroy_stream(streams[s]));
            model.streams[s].alive = false;
            add(model.streams[s].kind);
        }
    }
    m.sim.run_all();
    return seen;
}

} // namespace

TEST_CASE("hazards are reported exactly where an order is missing", "[device]") {
    for (const auto execution : {device::execution::none, device::execution::immediate, device::execution::delayed}) {
        unsigned hazards = 0;
        for (std::uint64_t seed = 1; seed != 501; ++seed) {
            INFO("seed " << seed);
            const outcome seen = compare(seed, execution);
            CHECK(seen.wrong == 0);
            CHECK(seen.too_early == 0);
            hazards += seen.hazards;
        }
        CHECK(hazards > 5000);
    }
}
