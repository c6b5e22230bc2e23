// Every entry point of device allocators that takes a size or an alignment, at the edges of std::size_t.
#include <support/device_sets.hpp>
#include <support/edge_sizes.hpp>

using namespace allot::literals;
using allocator = allot::device_allocator<task_memory>;

TEST_CASE("device allocator: sizes and alignments at the edges of size_t are served or refused") {
    allocator_machine m;
    {
        allocator gpu{m.api, allot::limit{64_MiB}};
        for (const std::size_t bytes : support::edge_sizes())
            for (const unsigned bit : {0u, 8u, 20u, 30u, 62u, 63u}) {
                INFO(bytes << " aligned to 2^" << bit);
                void* const p = gpu.try_allocate(bytes, std::size_t{1} << bit, m.a);
                if (p != nullptr) CHECK(bytes <= 64_MiB);
                else CHECK((bytes == 0 || bytes > 16_MiB || bit > 20));
                gpu.deallocate(p, m.a);
            }
        CHECK(gpu.valid());
    }
    for (const std::size_t bytes : support::edge_sizes()) {
        INFO(bytes);
        {
            allocator gpu{m.api, allot::limit{bytes}};
            void* const p = gpu.try_allocate(100, m.a);
            CHECK((p != nullptr) == (bytes >= 2_MiB));
            gpu.deallocate(p, m.a);
        }
        allocator gpu{m.api, allot::reserve_bytes{bytes}};
        void* const p = gpu.try_allocate(100, m.a);
        CHECK(p != nullptr);
        gpu.deallocate(p, m.a);
    }
}
