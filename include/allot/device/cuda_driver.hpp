// The CUDA driver's calls for virtual memory, looked up at run time, so that a program starts without a driver.
//
// The runtime has no such calls, and a program that links libcuda does not start where it is missing. The table is
// filled at the first use and never changes; `code` is the reason when it is empty.
// Cost: 72 bytes per process, and one lookup per call at the first use. Threads: any.
#pragma once

#include <allot/config.hpp>

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace allot::inline ALLOT_ABI {
namespace device::detail {

struct cuda_driver {
    decltype(&::cuMemGetAllocationGranularity) granularity = nullptr;
    decltype(&::cuMemAddressReserve) reserve = nullptr;
    decltype(&::cuMemAddressFree) free_address = nullptr;
    decltype(&::cuMemCreate) create = nullptr;
    decltype(&::cuMemRelease) release = nullptr;
    decltype(&::cuMemMap) map = nullptr;
    decltype(&::cuMemSetAccess) set_access = nullptr;
    decltype(&::cuMemUnmap) unmap = nullptr;
    int code = 0; // CUDA's code of the first lookup that failed; 0: all were found

    static const cuda_driver& get() noexcept {
        static const cuda_driver found;
        return found;
    }

  private:
    cuda_driver() noexcept {
        find("cuMemGetAllocationGranularity", granularity);
        find("cuMemAddressReserve", reserve);
        find("cuMemAddressFree", free_address);
        find("cuMemCreate", create);
        find("cuMemRelease", release);
        find("cuMemMap", map);
        find("cuMemSetAccess", set_access);
        find("cuMemUnmap", unmap);
    }
    template <class Call> void find(const char* name, Call& call) noexcept {
        constexpr unsigned since = 10020; // CUDA 10.2, the first with these calls
        void* p = nullptr;
        cudaDriverEntryPointQueryResult query = cudaDriverEntryPointSuccess;
        const cudaError_t got = cudaGetDriverEntryPointByVersion(name, &p, since, cudaEnableDefault, &query);
        if (got == cudaSuccess && query == cudaDriverEntryPointSuccess && p != nullptr)
            call = reinterpret_cast<Call>(p);
        else if (code == 0)
            code = static_cast<int>(got != cudaSuccess ? got
                                                       : cudaErrorNotSupported); // after an error, `query` is not set
        (void)cudaGetLastError();
    }
};

} // namespace device::detail
} // namespace allot::inline ALLOT_ABI
