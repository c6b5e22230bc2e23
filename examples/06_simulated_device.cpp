// A pool of device blocks with a missing wait, found by a simulated device: without a GPU, and on every run.
#include <allot/device/simulated.hpp>
#include <cstdio>
#include <vector>

namespace device = allot::device;

// Blocks of 4 KiB for any stream. A free block keeps the event that was recorded when it was freed.
template <class Api> class pool {
  public:
    using stream = typename Api::stream_type;
    pool(const Api& api, bool waits) : api_{api}, waits_{waits} {}

    void* take(stream s) {
        if (free_.empty()) return api_.allocate({0}, 4096).value_or(nullptr);
        const block b = free_.back();
        free_.pop_back();
        if (waits_) (void)api_.wait(s, b.freed); // the bug: this wait is missing
        (void)api_.destroy_event(b.freed);
        return b.start;
    }
    void give(void* p, stream s) {
        const block b{p, api_.create_event({0}).value_or({})};
        (void)api_.record(b.freed, s);
        free_.push_back(b);
    }

  private:
    struct block {
        void* start;
        typename Api::event_type freed;
    };
    Api api_;
    bool waits_;
    std::vector<block> free_;
};

static std::uint64_t hazards_of(bool waits) {
    device::simulator sim{{.total_bytes = 64 << 20, .execution = device::execution::delayed, .seed = 42}};
    const device::simulated api{sim};
    pool<device::simulated> blocks{api, waits};
    const auto a = *api.create_stream({0}, device::stream_kind::non_blocking);
    const auto b = *api.create_stream({0}, device::stream_kind::non_blocking);
    for (int i = 0; i != 4; ++i) {
        const auto s = i % 2 == 0 ? a : b;
        auto* const p = static_cast<int*>(blocks.take(s));
        (void)sim.launch(s, {}, {{p, sizeof(int)}}, [=] { *p = i; }, "kernel"); // the work of a kernel
        blocks.give(p, s);
    }
    return sim.hazards();
}

int main() {
    std::printf("a pool that waits: %d hazards\n", static_cast<int>(hazards_of(true)));
    const auto found = hazards_of(false); // hazards and leaks are reported on standard error
    std::printf("a pool that does not: %d hazards\n", static_cast<int>(found));
    return hazards_of(true) == 0 && found == 3 ? 0 : 1;
}
