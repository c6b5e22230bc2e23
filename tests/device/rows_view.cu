// Rows in a GPU's memory: the host allocates, links and releases them, kernels fill and read them through a rows_view.
#include <allot/device/cuda.hpp>
#include <allot/device_rows.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

using namespace allot::literals;

struct on_gpu : allot::policies<allot::page::on_device<allot::device::cuda>, allot::oom::null> {};
using manager = allot::row_manager<on_gpu>;

__global__ void fill(allot::rows_view rows) {
    const std::size_t first = blockIdx.x * blockDim.x + threadIdx.x;
    for (std::size_t i = first; i < rows.size(); i += gridDim.x * blockDim.x) *rows.to_write<std::uint64_t>(i) = i * i;
}
__global__ void add_up(allot::rows_view rows, unsigned long long* sum) {
    unsigned long long mine = 0;
    rows.for_each<std::uint64_t>(blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x,
                                 [&](std::uint64_t v) { mine += v; });
    atomicAdd(sum, mine);
}

static int wrong = 0;
static void check(bool good, const char* what) {
    if (good) return;
    std::printf("wrong: %s\n", what);
    ++wrong;
}

int main() {
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
        std::puts("skipped: no GPU");
        return 77;
    }
    const allot::device::cuda api;
    manager rows{allot::limit{64_MiB}, allot::page_bytes{256_KiB}, allot::name{"rows on a GPU"}};
    const auto stream = api.create_stream({0}, allot::device::stream_kind::non_blocking);
    check(static_cast<bool>(stream), "a stream");
    if (!stream) return 1;
    {
        allot::rows_in_flight<manager, allot::device::cuda> lent{rows, api};
        for (int round = 0; round < 20; ++round) {
            std::vector<void*> list;
            std::uint64_t expected = 0;
            for (std::uint64_t i = 0; i < 10000; ++i) {
                list.push_back(rows.allocate(i % 100 == 99 ? 5000 : 48));
                check(list.back() != nullptr, "a row");
                expected += i * i;
            }
            auto* const sum = static_cast<unsigned long long*>(rows.allocate(8));
            const auto view = lent.upload(*stream, {list.data(), list.size()});
            check(static_cast<bool>(view), "a view");
            if (!view) return 1;
            check(static_cast<bool>(api.fill_async(sum, 0, 8, *stream)), "a fill");
            fill<<<32, 128, 0, *stream>>>(*view);
            add_up<<<32, 128, 0, *stream>>>(*view, sum);
            check(cudaGetLastError() == cudaSuccess, "launches");
            unsigned long long got = 0;
            check(static_cast<bool>(api.copy_async(&got, sum, 8, *stream)) &&
                      static_cast<bool>(api.synchronize(*stream)),
                  "a copy");
            check(got == expected, "kernels read what kernels wrote");
            check(lent.release_list_after(*stream, *view) && lent.release_after(*stream, sum) &&
                      lent.release_after(*stream, {list.data(), list.size()}),
                  "releases behind the kernels");
            lent.poll();
        }
        check(static_cast<bool>(lent.drain()), "draining");
    }
    check(rows.live_rows() == 0 && rows.valid(), "all rows are back");
    const std::size_t before = rows.arena().stats().committed;
    check(rows.trim() == before && rows.arena().stats().committed == 0, "a trim unmaps all");
    void* const again = rows.allocate(1000000);
    check(again != nullptr && static_cast<bool>(api.fill_async(again, 1, 1000000, *stream)),
          "and pages are mapped anew");
    check(static_cast<bool>(api.synchronize(*stream)), "the fill");
    rows.release(again);
    check(static_cast<bool>(api.destroy_stream(*stream)), "the end of the stream");
    std::printf("rows on a GPU (%s): %s\n", rows.arena().page_kind(), wrong == 0 ? "as expected" : "wrong");
    return wrong != 0;
}
