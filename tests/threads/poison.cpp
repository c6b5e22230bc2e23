// Marks of neighbours: AddressSanitizer keeps one for 8 bytes, and rows need not begin or end there.
#include <support/catch.hpp>

#include <allot/sys/poison.hpp>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <thread>
#include <vector>

TEST_CASE("rows that share 8 bytes are poisoned and exposed by two threads at once", "[threads][poison]") {
    constexpr std::size_t bytes = 20, rows = 2; // the second begins within 8 bytes of the first
    alignas(8) static std::byte memory[bytes * rows];
    std::atomic<std::size_t> wrong{0};
    std::vector<std::thread> all;
    for (std::size_t t = 0; t < rows; ++t)
        all.emplace_back([&, t] {
            std::byte* const mine = memory + bytes * t;
            for (int i = 0; i < (ALLOT_ASAN ? 30000000 : 1000); ++i) {
                allot::detail::sys::poison(mine, bytes);
                allot::detail::sys::unpoison(mine, bytes);
#if ALLOT_ASAN
                if (__asan_region_is_poisoned(mine, bytes) != nullptr) ++wrong;
#endif
            }
        });
    for (auto& t : all) t.join();
    CHECK(wrong == 0);
    for (std::size_t t = 0; t < rows; ++t) allot::detail::sys::expose(memory + bytes * t, bytes);
    std::memset(memory, 1, sizeof memory);
}
