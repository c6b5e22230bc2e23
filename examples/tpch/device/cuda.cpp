// Query 1 on a GPU: host code, for any compiler; the kernel is in q1_kernel.cu. TPCH_CUDA is 0 without nvcc or CUDA's
// toolkit: then, and without a driver, --device cuda fails with a message.
#include "../../shared/device_error.hpp"
#include "device.hpp"
#if TPCH_CUDA
#include "adders.hpp"
#include "q1_kernel.hpp"
#include <allot/device/cuda.hpp>
#endif

namespace tpch::devices {

#if TPCH_CUDA

namespace {

class cuda_machine {
  public:
    using api_type = allot::device::cuda;
    static constexpr const char* name = "cuda";

    static api_type api() { return {}; }
    static std::uint64_t hazards() { return 0; }
    static void add_up(api_type::stream_type stream, const q1::lines& l, std::span<const device_bytes>,
                       q1::sums* sums) {
        if (const char* const error = q1::launch_add_up(l, sums, stream); error != nullptr)
            throw shared::device_error(std::string("the kernel of query 1: ") + error);
    }
};

} // namespace

std::unique_ptr<device_side> cuda(std::size_t memory, engine& in) {
    if (shared::must(allot::device::cuda{}.device_count()) == 0) throw shared::device_error("no device");
    return std::make_unique<adders_on<cuda_machine>>(memory, in);
}

#else

std::unique_ptr<device_side> cuda(std::size_t, engine&) {
    throw shared::device_error("this program was built without CUDA: no nvcc, or no toolkit 12.8 or later");
}

#endif

} // namespace tpch::devices
