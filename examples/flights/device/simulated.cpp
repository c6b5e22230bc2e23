// The columns on the simulated device: work runs delayed and interleaved, and each unordered use of memory is reported.
#include "columns.hpp"
#include <allot/device/simulated.hpp>

#include <memory>

namespace flights::devices {

namespace {

class simulated_side final : public device_side {
  public:
    simulated_side(const options& asked, const flight_chunks& from, std::pmr::memory_resource& memory)
        : columns_(allot::device::simulated{machine_}, asked, from, memory) {}
    void keep() override { columns_.keep(); }
    device_outcome finish() override {
        device_outcome out = columns_.finish();
        out.hazards = machine_.hazards();
        return out;
    }

  private:
    // A small granularity, so that small limits allow several pieces.
    allot::device::simulator machine_{
        {.granularity = 64 * 1024, .execution = allot::device::execution::delayed, .seed = 2013}};
    device_columns<allot::device::simulated> columns_;
};

} // namespace

std::unique_ptr<device_side> simulated(const options& asked, const flight_chunks& from,
                                       std::pmr::memory_resource& memory) {
    return std::make_unique<simulated_side>(asked, from, memory);
}

} // namespace flights::devices
