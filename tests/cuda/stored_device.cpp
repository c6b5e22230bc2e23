// Device memory in a store, over CUDA: it leaves for the host behind kernels, and comes back on its stream.
//
// Prints "skipped: " where there is no device, after it has looked at what it says then.
#include <allot/buffers.hpp>
#include <allot/device/cuda.hpp>
#include <allot/device_allocator.hpp>
#include <allot/spill/spill_memory.hpp>
#include <allot/spill/stored_device.hpp>

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
    allot::account device{allot::name{"device"}, allot::limit{64_MiB}}, host{allot::name{"host"}};
    if (const auto n = api.device_count(); !n || *n == 0) {
        try {
            const allot::device_staging through{api, allot::device_id{0}, host};
            check(false, "no device, and staging all the same");
        } catch (const allot::spill_error& e) {
            check(std::string_view(e.what()).find("device staging") != std::string_view::npos, "it says what failed");
            std::printf("%s\nskipped: no device\n", e.what());
        }
        check(host.used() == 0, "nothing is charged");
        return failures;
    }
    const auto stream = *api.create_stream({0}, allot::device::stream_kind::non_blocking);
    {
        allot::device_allocator<task_memory> gpu{allot::device_id{0}, allot::limit{1_GiB}, allot::name{"task"}};
        allot::on_stream at{gpu, stream};
        const allot::buffer_memory memory{at};
        allot::device_staging through{api, allot::device_id{0}, host, 2_MiB};
        allot::heap_memory heap;
        allot::spill_memory there{heap, host};
        allot::store inputs{device, there};
        using stored = allot::stored<allot::device_buffer<allot::device::cuda>>;
        std::vector<stored> all;
        constexpr std::size_t bytes = 10_MiB + 123;
        for (int i = 0; i != 20; ++i) { // more than the account has
            allot::device_buffer b{memory.allocate(device, bytes), at, through};
            check(bool(api.fill_async(b.bytes.data(), static_cast<unsigned char>(i), bytes, stream)), "a fill");
            all.push_back(inputs.put(std::move(b)));
        }
        check(inputs.stats().left >= 14, "most have left");
        std::vector<unsigned char> back(bytes);
        for (int round = 0; round != 2; ++round)
            for (std::size_t i = 0; i != all.size(); ++i) {
                const auto pin = all[i].pin_to_change();
                check(bool(api.copy_async(back.data(), pin->bytes.data(), bytes, stream)) &&
                          bool(api.synchronize(stream)),
                      "a copy");
                bool same = true;
                for (const unsigned char x : back) same = same && x == static_cast<unsigned char>(i + round);
                check(same, "what was filled comes back");
                if (round == 0) // to run when the pin has ended
                    check(bool(api.fill_async(pin->bytes.data(), static_cast<unsigned char>(i + 1), bytes, stream)),
                          "a fill");
            }
        check(inputs.stats().failures == 0, "no copy failed");
        all.clear();
        check(device.used() == 0, "nothing is charged to the device's account");
    }
    check(host.used() == 0, "nothing is charged to the host's account");
    check(bool(api.destroy_stream(stream)), "the stream ends");
    std::printf("%s\n", failures == 0 ? "all as it should be" : "");
    return failures;
}
