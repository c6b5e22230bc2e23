// Random traces of a device allocator on the simulated device: no hazard, no leak, no limit broken, for every seed.
//
//     device_allocator                                   a smoke, for every run of the tests
//     device_allocator --operations 100000000 --seeds 64 the long one; in all, over all seeds
//
// Each seed draws a machine (virtual memory or not, how work runs), streams of all kinds, a limit, and then blocks that
// are allocated, used, handed from stream to stream, and freed; streams that end told and untold; captures whose graphs
// are launched again; trims and limits that change. What the program under test would do wrong, the simulator tells.
#include <allot/core/units.hpp>
#include <allot/device/simulated.hpp>
#include <allot/device_allocator.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace allot::literals;
namespace device = allot::device;

namespace {

struct memory : allot::policies<allot::page::on_device<device::simulated>, allot::fit::best, allot::order::stream,
                                allot::oom::null> {};
using allocator = allot::device_allocator<memory>;
using stream = device::simulated::stream_type;

struct random_numbers {
    std::uint64_t state;
    std::uint64_t next() noexcept {
        std::uint64_t x = state += 0x9E3779B97F4A7C15U;
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9U;
        x = (x ^ x >> 27) * 0x94D049BB133111EBU;
        return x ^ x >> 31;
    }
    std::size_t below(std::size_t n) noexcept { return next() % n; }
    bool one_in(std::size_t n) noexcept { return below(n) == 0; }
};

struct totals {
    std::uint64_t operations = 0, frees = 0, events = 0, waits = 0, steals = 0, refused = 0, joined = 0, released = 0,
                  graphs = 0;
};

class trace {
  public:
    trace(std::uint64_t seed, totals& all)
        : random_{seed}, all_{all}, most_{std::size_t{1} << (14 + random_.below(8))}, live_{8 + random_.below(300)},
          limit_{limit_for()}, sim_{machine_of(seed, random_)}, api_{sim_},
          held_{std::in_place, allot::limit{limit_}, api_, allot::name{"trace"},
                allot::reserve_bytes{random_.one_in(3) ? 96_MiB : 1_GiB}},
          gpu_{*held_} {
        const std::size_t n = 2 + random_.below(8);
        for (std::size_t i = 0; i != n; ++i) lanes_.push_back(make_lane(i));
    }
    trace(const trace&) = delete;
    trace& operator=(const trace&) = delete;
    bool run(std::uint64_t operations) {
        for (std::uint64_t i = 0; i != operations; ++i) {
            step();
            if (i % 4096 == 4095 && (!gpu_.valid() || gpu_.used() > gpu_.peak() || gpu_.peak() > limit_))
                return broken("the books do not agree");
            if (sim_.hazards() != 0) return broken("a hazard");
            if (!good_) return broken(why_);
        }
        finish();
        all_.operations += operations;
        const auto f = gpu_.stats();
        all_.frees += f.frees, all_.events += f.events, all_.waits += f.waits, all_.steals += f.steals,
            all_.refused += f.refused;
        all_.joined += f.joined, all_.released += f.released;
        if (sim_.hazards() != 0 || !good_) return broken("a hazard at the end");
        if (f.live != 0 || f.captured != 0) return broken("something is live at the end");
        gpu_.trim();
        if (gpu_.used() != 0) return broken("not all can be given back at the end");
        held_.reset();
        for (const lane& a : lanes_)
            if (!a.own) (void)api_.destroy_stream(a.s);
        return sim_.leaks() == 0 || (std::puts("it leaves something on the device"), false);
    }

  private:
    struct block {
        void* p;
        std::size_t bytes;
        std::size_t lane; // on which it may be used
    };
    struct lane {
        stream s;
        bool own; // legacy or per thread: not destroyed, not captured
        bool captures;
        device::simulated::graph_type graph{};
        bool has_graph = false;
        bool capturing = false;
        std::size_t runs_on = 0;     // the lane on which its graph is launched
        std::vector<block> of_graph; // blocks that its graph uses
    };

    static device::simulator_options machine_of(std::uint64_t seed, random_numbers& random) {
        device::simulator_options o;
        o.seed = seed;
        o.virtual_memory = !random.one_in(4);
        o.execution = random.one_in(8) ? device::execution::delayed : device::execution::none;
        o.total_bytes = random.one_in(4) ? 32_MiB : 1_GiB;
        return o;
    }
    // From too little for what shall be live to twice as much.
    std::size_t limit_for() {
        const std::size_t bytes = live_ * most_ / 12;
        return 4_MiB + bytes / 2 + random_.below(2 * bytes);
    }
    lane make_lane(std::size_t i) {
        if (i == 1 && random_.one_in(3))
            return {device::simulated::legacy_stream(), true, false, {}, false, false, 0, {}};
        if (i == 2 && random_.one_in(3))
            return {device::simulated::per_thread_stream(), true, false, {}, false, false, 0, {}};
        const bool blocking = random_.one_in(3);
        return {*api_.create_stream({0}, blocking ? device::stream_kind::blocking : device::stream_kind::non_blocking),
                false,
                !blocking,
                {},
                false,
                false,
                0,
                {}};
    }
    bool broken(const char* what) {
        std::printf("%s\n", what);
        sim_.each_hazard([n = 0](const device::hazard& h) mutable {
            if (++n > 3) return;
            char text[512];
            allot::text_writer out{text};
            write(out, h);
            std::puts(out.c_str());
        });
        char page[4096];
        allot::text_writer out{page};
        gpu_.report(out);
        std::puts(page);
        return false;
    }
    void check(bool holds, const char* what) {
        if (!holds && good_) good_ = false, why_ = what;
    }
    void use(const block& b, stream s) {
        const std::size_t part = b.bytes < 64 ? b.bytes : 64;
        auto* const first = static_cast<unsigned char*>(b.p);
        check(bool(sim_.launch(s, {}, {{first, part}, {first + b.bytes - part, part}}, nullptr)), "a launch fails");
    }
    void order(stream from, stream to) {
        const auto e = api_.create_event({0});
        check(e && api_.record(*e, from) && api_.wait(to, *e) && api_.destroy_event(*e), "an event fails");
    }
    std::size_t any_lane() { return random_.below(lanes_.size()); }
    std::size_t free_lane() { // one that no capture has
        for (;;)
            if (const std::size_t l = any_lane(); !lanes_[l].capturing) return l;
    }
    std::size_t size() {
        if (random_.one_in(500)) return 1 + random_.below(limit_);
        return 1 + random_.below(std::size_t{1} << (4 + random_.below(log_of_most())));
    }
    std::size_t log_of_most() const {
        std::size_t n = 1;
        while ((std::size_t{16} << n) < most_) ++n;
        return n;
    }
    void allocate() {
        const std::size_t l = free_lane(), n = size();
        const std::size_t align = random_.one_in(50) ? std::size_t{1} << random_.below(23) : 256;
        void* const p = gpu_.try_allocate(n, align, lanes_[l].s);
        if (p == nullptr) return;
        check(reinterpret_cast<std::uintptr_t>(p) % align == 0, "a block is not aligned");
        blocks_.push_back({p, n, l});
        use(blocks_.back(), lanes_[l].s);
    }
    void free_one() {
        const std::size_t i = random_.below(blocks_.size());
        block b = blocks_[i];
        if (lanes_[b.lane].capturing) return;
        if (random_.one_in(20)) move(b);
        gpu_.deallocate(b.p, lanes_[b.lane].s);
        blocks_[i] = blocks_.back();
        blocks_.pop_back();
    }
    void move(block& b) {
        const std::size_t to = free_lane();
        if (to != b.lane) order(lanes_[b.lane].s, lanes_[to].s);
        b.lane = to;
        use(b, lanes_[to].s);
    }
    // A stream ends, and another comes in its place; whoever has blocks of it, takes them over.
    void replace_stream() {
        const std::size_t l = any_lane();
        if (lanes_[l].own || lanes_[l].capturing) return;
        for (const lane& a : lanes_)
            if (a.has_graph && (&a == &lanes_[l] || a.runs_on == l)) return;
        const stream old = lanes_[l].s;
        const std::size_t to = l == 0 ? lanes_.size() - 1 : 0;
        if (to == l || lanes_[to].capturing) return;
        order(old, lanes_[to].s);
        for (block& b : blocks_)
            if (b.lane == l) b.lane = to;
        if (!random_.one_in(3)) gpu_.leave(old);
        check(bool(api_.destroy_stream(old)), "a stream is not destroyed");
        lanes_[l] = make_lane(9);
    }
    void begin_capture() {
        const std::size_t l = any_lane();
        lane& a = lanes_[l];
        if (!a.captures || captures_ != 0) return;
        for (const lane& other : lanes_)
            if (other.has_graph) return; // release_captured is for all graphs, so there is one at a time
        const device::capture_mode modes[] = {device::capture_mode::global, device::capture_mode::one_thread,
                                              device::capture_mode::relaxed};
        if (!api_.begin_capture(a.s, modes[random_.below(3)])) return;
        a.capturing = true;
        ++captures_;
    }
    // Allocations, uses and frees in a capture.
    void in_capture(lane& a) {
        const std::size_t n = size();
        if (void* const p = gpu_.try_allocate(n, a.s)) {
            a.of_graph.push_back({p, n, 0});
            use(a.of_graph.back(), a.s);
        }
        if (!a.of_graph.empty() && random_.one_in(2)) { // freed in the capture: the graph still uses it
            gpu_.deallocate(a.of_graph.back().p, a.s);
            a.of_graph.pop_back();
        }
        if (!random_.one_in(4)) return;
        const auto g = api_.end_capture(a.s);
        check(bool(g), "a capture was invalidated");
        a.capturing = false;
        --captures_;
        if (!g) return;
        a.graph = *g;
        a.has_graph = true;
        a.runs_on = free_lane();
        ++all_.graphs;
    }
    void launch(lane& a) {
        if (!lanes_[a.runs_on].capturing)
            check(bool(api_.launch_graph(a.graph, lanes_[a.runs_on].s)), "a graph is not launched");
    }
    void end_graph(lane& a) {
        if (captures_ != 0) return;
        check(bool(api_.destroy_graph(a.graph)), "a graph is not destroyed");
        a.has_graph = false;
        gpu_.release_captured(lanes_[a.runs_on].s);
        for (const block& b : a.of_graph) blocks_.push_back({b.p, b.bytes, a.runs_on});
        a.of_graph.clear();
    }
    void step() {
        for (lane& a : lanes_)
            if (a.capturing && random_.one_in(3)) return in_capture(a);
        const std::size_t what = random_.below(1000);
        if (what == 0) replace_stream();
        else if (what == 1 || what == 4) begin_capture();
        else if (what == 2 && random_.one_in(8) && captures_ == 0) gpu_.trim();
        else if (what == 3) gpu_.set_limit(random_.one_in(2) ? limit_ : limit_ / 2);
        else if (what < 8) order(lanes_[free_lane()].s, lanes_[free_lane()].s);
        else if (what < 20) {
            for (lane& a : lanes_)
                if (a.has_graph) random_.one_in(4) ? end_graph(a) : launch(a);
        } else if (what == 21 && captures_ == 0)
            check(bool(api_.synchronize(lanes_[free_lane()].s)), "a synchronisation fails");
        else if (what < 300 && !blocks_.empty()) {
            block& b = blocks_[random_.below(blocks_.size())];
            if (!lanes_[b.lane].capturing) use(b, lanes_[b.lane].s);
        } else if (what < 350 && !blocks_.empty()) {
            block& b = blocks_[random_.below(blocks_.size())];
            if (!lanes_[b.lane].capturing) move(b);
        } else if (random_.below(2 * live_) >= blocks_.size()) allocate();
        else free_one();
    }
    void finish() {
        for (lane& a : lanes_)
            while (a.capturing) in_capture(a);
        for (lane& a : lanes_)
            if (a.has_graph) launch(a);
        check(bool(api_.synchronize(allot::device_id{0})), "the device is not synchronised");
        for (lane& a : lanes_)
            if (a.has_graph) {
                check(bool(api_.destroy_graph(a.graph)), "a graph is not destroyed");
                a.has_graph = false;
                for (const block& b : a.of_graph) blocks_.push_back({b.p, b.bytes, a.runs_on});
            }
        gpu_.release_captured(lanes_[0].s);
        for (const block& b : blocks_) gpu_.deallocate(b.p, lanes_[b.lane].s);
        blocks_.clear();
    }

    random_numbers random_;
    totals& all_;
    std::size_t most_; // bytes of a block, usually
    std::size_t live_; // blocks, about
    std::size_t limit_;
    device::simulator sim_;
    device::simulated api_;
    std::optional<allocator> held_;
    allocator& gpu_;
    std::vector<lane> lanes_;
    std::vector<block> blocks_;
    int captures_ = 0;
    bool good_ = true;
    const char* why_ = "";
};

} // namespace

int main(int n, char** words) {
    std::uint64_t operations = 200'000, seeds = 40, first = 1;
    for (int i = 1; i + 1 < n; i += 2) {
        const std::string word = words[i];
        const std::uint64_t value = std::strtoull(words[i + 1], nullptr, 10);
        if (word == "--operations") operations = value;
        else if (word == "--seeds") seeds = value;
        else if (word == "--first") first = value;
        else return std::printf("unknown: %s\n", words[i]), 2;
    }
    totals all;
    for (std::uint64_t seed = first; seed != first + seeds; ++seed) {
        trace t{seed, all};
        if (!t.run(operations / seeds)) return std::printf("seed %llu\n", static_cast<unsigned long long>(seed)), 1;
    }
    const auto show = [](const char* what, std::uint64_t value) {
        std::printf("%s %llu\n", what, static_cast<unsigned long long>(value));
    };
    show("operations", all.operations), show("frees", all.frees), show("events", all.events), show("waits", all.waits);
    show("from other streams", all.steals), show("refused", all.refused), show("joined", all.joined);
    show("pieces given back", all.released), show("graphs", all.graphs);
    std::printf("no hazards over %llu seeds\n", static_cast<unsigned long long>(seeds));
    return 0;
}
