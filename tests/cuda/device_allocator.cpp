// A device allocator over CUDA: without a device every request says so; with one, blocks are used in stream order.
//
// Prints "skipped: " where there is no device, after it has looked at what it says then.
#include <allot/device/cuda.hpp>
#include <allot/device_allocator.hpp>

#include <cstdio>
#include <string_view>
#include <vector>

using namespace allot::literals;

struct task_memory : allot::policies<allot::page::on_device<allot::device::cuda>, allot::fit::best,
                                     allot::order::stream, allot::oom::null> {};

static int failures = 0;
static void check(bool holds, const char* what) {
    if (holds) return;
    ++failures;
    std::printf("failed: %s\n", what);
}

int main() {
    const allot::device::cuda api;
    allot::device_allocator<task_memory> gpu{allot::device_id{0}, allot::limit{1_GiB}, allot::name{"task"}};
    const auto legacy = api.legacy_stream();
    if (const auto n = api.device_count(); !n || *n == 0) {
        check(gpu.try_allocate(1000, legacy) == nullptr, "no device, and memory all the same");
        gpu.deallocate(nullptr, legacy);
        check(gpu.used() == 0, "nothing is charged");
        char page[2048];
        allot::text_writer out{page};
        gpu.report(out);
        check(out.view().find("no device") != std::string_view::npos, "the report says why");
        std::printf("%sskipped: no device\n", page);
        return failures;
    }
    const auto a = *api.create_stream({0}, allot::device::stream_kind::non_blocking);
    const auto b = *api.create_stream({0}, allot::device::stream_kind::non_blocking);
    // Each round fills a block on one stream, frees it, and has the other stream fill what it then gets; a block that
    // is handed over too early shows in what is read back.
    std::vector<unsigned char> back(1_MiB);
    for (int i = 0; i != 200; ++i) {
        const auto s = i % 2 == 0 ? a : b;
        void* const p = gpu.try_allocate(1_MiB, s);
        check(p != nullptr, "a block");
        check(bool(api.fill_async(p, static_cast<unsigned char>(i), 1_MiB, s)), "a fill");
        if (i % 20 == 0) {
            check(bool(api.copy_async(back.data(), p, 1_MiB, s)) && bool(api.synchronize(s)), "a copy");
            check(back.front() == static_cast<unsigned char>(i) && back.back() == back.front(),
                  "what was filled is read");
        }
        gpu.deallocate(p, s);
    }
    check(gpu.valid(), "the books agree");
    check(gpu.stats().live == 0, "nothing is live");
    void* const large = gpu.try_allocate(512_MiB, 2_MiB, a);
    check(large != nullptr && reinterpret_cast<std::uintptr_t>(large) % 2_MiB == 0, "a large block, aligned");
    gpu.deallocate(large, a);
    check(gpu.try_allocate(2_GiB, a) == nullptr, "the limit holds");
    check(bool(api.begin_capture(a, allot::device::capture_mode::global)), "a capture begins");
    void* const captured = gpu.try_allocate(1_MiB, a);
    check(captured != nullptr, "a block in a capture");
    const auto graph = api.end_capture(a);
    check(bool(graph), "the capture was not lost");
    if (graph) check(bool(api.destroy_graph(*graph)), "the graph ends");
    gpu.deallocate(captured, a);
    gpu.leave(a);
    check(bool(api.destroy_stream(a)), "a stream ends");
    check(gpu.trim() != 0, "something is given back");
    check(bool(api.destroy_stream(b)), "a stream ends");
    char page[2048];
    allot::text_writer out{page};
    gpu.report(out);
    std::printf("%s%s\n", page, failures == 0 ? "all as it should be" : "");
    return failures;
}
