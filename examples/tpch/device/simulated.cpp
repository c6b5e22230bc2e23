// Query 1 on the simulated device: kernels run delayed and interleaved, and each use of memory without an order is
// reported.
#include "adders.hpp"
#include <allot/device/simulated.hpp>

namespace tpch::devices {

namespace {

class simulated_machine {
  public:
    using api_type = allot::device::simulated;
    static constexpr const char* name = "simulated";

    api_type api() { return api_type{simulator_}; }
    std::uint64_t hazards() const { return simulator_.hazards(); }
    void add_up(api_type::stream_type stream, const q1::lines& l, std::span<const device_bytes> reads, q1::sums* sums) {
        std::vector<allot::device::range> all;
        for (const device_bytes& r : reads) all.push_back({r.start, r.bytes});
        all.push_back({sums, sizeof(q1::group_sums)});
        const auto kernel = [l, sums] {
            for (std::size_t i = 0; i != l.rows; ++i)
                if (l.wanted(i)) sums[l.group(i)] += l[i];
        };
        shared::must(simulator_.launch(stream, std::span<const allot::device::range>{all},
                                       {{sums, sizeof(q1::group_sums)}}, kernel, "query 1"));
    }

  private:
    // A small granularity, so that small limits allow several pieces.
    allot::device::simulator simulator_{
        {.granularity = 16 * 1024, .execution = allot::device::execution::delayed, .seed = 1998}};
};

} // namespace

std::unique_ptr<device_side> simulated(std::size_t memory, engine& in) {
    return std::make_unique<adders_on<simulated_machine>>(memory, in);
}

} // namespace tpch::devices
