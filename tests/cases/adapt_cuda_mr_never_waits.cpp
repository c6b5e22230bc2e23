// The path of adapt::cuda_mr and thrust_mr (try_allocate) on a thread of a task, under use::spark: another task has the
// memory for 300 ms. Expected: the request waits as device_allocator::allocate() does. Before:
// out_of_memory at once, so RMM, cuDF and Thrust never reached the state machine. Holds in every build.
#define LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE
#include "common.hpp"
#include <allot/adapt/device_memory.hpp>
#include <allot/adapt/raise_refused.hpp>
#include <allot/device/simulated.hpp>
#include <allot/device_allocator.hpp>
#include <allot/oom/retry.hpp>
#include <allot/use/spark.hpp>
struct gpu_set : allot::with<allot::use::spark, allot::page::on_device<allot::device::simulated>, allot::fit::best,
                             allot::order::stream> {};
int main() {
    bool refused = false;
    for (int face = 0; face != 2; ++face) {
        allot::device::simulator machine;
        const allot::device::simulated api{machine};
        allot::oom::arbiter tasks;
        allot::account gpu{allot::name{"gpu 0"}, allot::limit{64_MiB}, tasks.device()};
        {
            allot::device_allocator<gpu_set> mem{allot::device_id{0}, gpu, api};
            const auto s1 = *api.create_stream({0}, allot::device::stream_kind::non_blocking),
                       s2 = *api.create_stream({0}, allot::device::stream_kind::non_blocking);
            std::atomic<bool> ready{false};
            std::thread t{[&] {
                allot::oom::task q{tasks, "a"};
                allot::oom::task_thread here{q};
                void* p = mem.allocate(48_MiB, s1);
                ready = true;
                std::this_thread::sleep_for(std::chrono::milliseconds(300));
                mem.deallocate(p, s1);
            }};
            while (!ready) std::this_thread::yield();
            {
                allot::oom::task q{tasks, "b"};
                allot::oom::task_thread here{q};
                const double t0 = now_s();
                try {
                    allot::oom::with_retry_no_split([&] {
                        allot::charge_status why;
                        void* p = face ? allot::adapt::detail::allocate_on(mem, 32_MiB, 256, s2, why)
                                       : mem.allocate(32_MiB, s2);
                        if (!p) allot::detail::raise_refused("the memory behind cuda::mr", 32_MiB, why);
                        mem.deallocate(p, s2);
                    });
                    std::printf("%s: granted after %.3f s\n",
                                face ? "adapt::cuda_mr's path" : "device_allocator::allocate()", now_s() - t0);
                } catch (const std::exception& e) {
                    refused = true;
                    std::printf("%s: %s after %.3f s\n",
                                face ? "adapt::cuda_mr's path" : "device_allocator::allocate()", e.what(),
                                now_s() - t0);
                }
            }
            t.join();
            mem.leave(s1);
            mem.leave(s2);
            (void)api.destroy_stream(s1);
            (void)api.destroy_stream(s2);
        }
    }
    return refused;
}
