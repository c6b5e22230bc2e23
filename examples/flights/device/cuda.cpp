// The columns on a GPU; host code, for any compiler. FLIGHTS_CUDA is 0 if CUDA's toolkit was not found: then, and
// without a driver, --device cuda fails with a message.
#include "columns.hpp"
#if FLIGHTS_CUDA
#include <allot/device/cuda.hpp>

#include <memory>
#endif

namespace flights::devices {

#if FLIGHTS_CUDA

namespace {

class cuda_side final : public device_side {
  public:
    cuda_side(const options& asked, const flight_chunks& from, std::pmr::memory_resource& memory)
        : columns_({}, asked, from, memory) {}
    void keep() override { columns_.keep(); }
    device_outcome finish() override { return columns_.finish(); }

  private:
    device_columns<allot::device::cuda> columns_;
};

} // namespace

std::unique_ptr<device_side> cuda(const options& asked, const flight_chunks& from, std::pmr::memory_resource& memory) {
    if (must(allot::device::cuda{}.device_count()) == 0) throw shared::device_error("no device");
    return std::make_unique<cuda_side>(asked, from, memory);
}

#else

std::unique_ptr<device_side> cuda(const options&, const flight_chunks&, std::pmr::memory_resource&) {
    throw shared::device_error("this program was built without CUDA: no toolkit 12.8 or later was found");
}

#endif

} // namespace flights::devices
