// The driver's calls for virtual memory, found at run time, so that a program starts where there is no driver.
//
// The runtime has none of them, and linking libcuda ends a program before main() where it is missing. A table that is
// read once and never changes; `code` tells why it is empty. Cost: 9 pointers a process; the first use asks the
// runtime.
// Threads: any.
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
    int code = 0; // of the call that failed; 0: all are there

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
        constexpr unsigned since = 10020; // CUDA 10.2, which brought them
        void* p = nullptr;
        cudaDriverEntryPointQueryResult query = cudaDriverEntryPointSuccess;
        const cudaError_t got = cudaGetDriverEntryPointByVersion(name, &p, since, cudaEnableDefault, &query);
        if (got == cudaSuccess && query == cudaDriverEntryPointSuccess && p != nullptr)
            call = reinterpret_cast<Call>(p);
        else if (code == 0)
            code = static_cast<int>(
                got != cudaSuccess ? got : cudaErrorNotSupported); // after an error the query says nothing
        (void)cudaGetLastError();
    }
};

} // namespace device::detail
} // namespace allot::inline ALLOT_ABI
