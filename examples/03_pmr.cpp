// Containers under the limit of a row manager: as a std::pmr::memory_resource, and as a standard allocator.
#include <allot/adapt/pmr.hpp>
#include <allot/adapt/std_allocator.hpp>
#include <allot/row_manager.hpp>
#include <allot/use/containers.hpp>
#include <cstdio>
#include <memory_resource>
#include <string>
#include <unordered_map>
#include <vector>

using namespace allot::literals;

struct index_set : allot::use::containers {}; // no count, exact sizes, caches for each thread, small pages
using manager = allot::row_manager<index_set>;

int main() {
    manager rows{allot::limit{16_MiB}, allot::name{"index"}};
    std::size_t numbers_held = 0;
    {
        // std::pmr: the container's type does not depend on the row manager. Any thread may use it.
        allot::adapt::memory_resource memory{rows};
        std::pmr::unordered_map<std::pmr::string, int> words{&memory};
        for (const char* w : {"a word", "another word", "a word", "one more that is too long for the string itself"})
            ++words[std::pmr::string{w, &memory}];
        for (const auto& [word, count] : words) std::printf("%d x %s\n", count, word.c_str());

        // Over a thread's handle it is faster. Another thread may free what it allocated, but through the manager.
        auto mine = rows.local();
        allot::adapt::memory_resource own{mine};
        std::pmr::vector<double> prices{{19.90, 5.00, 7.50}, &own};
        std::printf("%zu prices, the first %.2f\n", prices.size(), prices[0]);

        // A standard allocator: the container's type depends on it, and no call is virtual.
        allot::adapt::std_allocator<long, manager> allocator{rows};
        std::vector<long, decltype(allocator)> numbers{allocator};
        try {
            for (long n = 0;; ++n) numbers.push_back(n);
        } catch (const std::bad_alloc& e) { // allot::out_of_memory is one
            std::printf("%zu numbers fit: %s\n", numbers_held = numbers.size(), e.what());
        }
    }
    std::printf("rows left: %zu\n", rows.live_rows());
    return rows.live_rows() == 0 && numbers_held != 0 ? 0 : 1;
}
