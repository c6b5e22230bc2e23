// A pool with its own limit (use::drill) refuses a buffer of a task, while 32 spillable buffers could leave. Expected:
// they leave, or the request waits. Happens: out_of_memory at once. Today: falls short in every build.
#include "common.hpp"
#include <allot/oom/arbiter.hpp>
#include <allot/oom/retry.hpp>
#include <allot/spill/spill_memory.hpp>
#include <allot/spill/stored_buffer.hpp>
#include <allot/use/drill.hpp>
int main() {
    bool short_ = false;
    allot::oom::arbiter tasks;
    allot::account engine{allot::name{"engine"}, allot::limit{64_MiB}, tasks};
    allot::account disk{allot::name{"disk"}};
    allot::chunk_arena<allot::use::drill> pool{allot::limit{32_MiB}, allot::chunk_bytes{1_MiB}, allot::name{"pool"}};
    allot::heap_memory heap;
    allot::buffer_memory memory{pool}, far_memory{heap};
    {
        allot::oom::task query{tasks, "query"};
        allot::oom::task_thread here{query};
        allot::account mine{engine, allot::name{"mine"}};
        allot::spill_memory far{far_memory, disk};
        allot::store inputs{mine, far};
        std::vector<allot::stored<allot::buffer>> batches;
        try {
            allot::oom::with_retry_no_split([&] {
                batches.clear();
                for (int i = 0; i != 40; ++i)
                    batches.push_back(inputs.put(memory.allocate(mine, 1_MiB - 4096))); // 40 MiB: more than the pool
            });
            std::printf("done: %zu batches\n", batches.size());
        } catch (const allot::out_of_memory& e) {
            std::printf("%zu batches, all of them spillable, then: %s\n", batches.size(), e.what());
            short_ = true;
        }
        batches.clear();
    }
    // the same with the account as the limit that refuses
    {
        allot::chunk_arena<allot::use::drill> large{allot::limit{256_MiB}, allot::chunk_bytes{1_MiB},
                                                    allot::name{"large pool"}};
        allot::buffer_memory m2{large};
        allot::account mine{engine, allot::name{"mine 2"}, allot::limit{32_MiB}};
        allot::oom::task query{tasks, "query 2", 0, &mine};
        allot::oom::task_thread here{query};
        allot::spill_memory far{far_memory, disk};
        allot::store inputs{mine, far};
        std::vector<allot::stored<allot::buffer>> batches;
        for (int i = 0; i != 40; ++i) batches.push_back(inputs.put(m2.allocate(mine, 1_MiB - 4096)));
        std::printf("with the account as the limit: %zu batches, %zu MiB near, %zu MiB far\n", batches.size(),
                    mine.used() >> 20, disk.used() >> 20);
    }
    return short_;
}
