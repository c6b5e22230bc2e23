// A lookup join on four channels: each has its own orders, and all share the cities, of which each pays a quarter.
#include <allot/channel/channels.hpp>
#include <array>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

using namespace allot::literals;

struct city {
    std::uint64_t id, people;
};
struct order_with_city {
    std::uint64_t order;
    allot::row_ptr<const city> to; // a link of a global row
};
struct query_rows : allot::policies<> {};

int main() {
    constexpr std::size_t threads = 4, cities = 20'000, orders = 50'000;
    allot::account engine{allot::name{"engine"}, allot::limit{32_MiB}};
    allot::channels<query_rows> all{engine, threads};

    std::vector<allot::row_ptr<const city>> right;
    for (std::uint64_t id = 0; id != cities; ++id) right.emplace_back(all.global().make<const city>(id, 1000 * id));

    std::array<std::uint64_t, threads> people{};
    {
        std::vector<std::jthread> work;
        for (std::size_t c = 0; c != threads; ++c)
            work.emplace_back([&, c] {
                std::vector<allot::row_ptr<order_with_city>> joined;
                for (std::uint64_t n = c; n < orders; n += threads)
                    joined.push_back(all.channel(c).make<order_with_city>(n, right[n * 7919 % cities]));
                for (const auto& j : joined) people[c] += j->to->people;
            });
    }
    std::uint64_t expected = 0, sum = 0;
    for (std::uint64_t n = 0; n != orders; ++n) expected += 1000 * (n * 7919 % cities);
    for (const std::uint64_t p : people) sum += p;
    for (std::size_t c = 0; c != threads; ++c)
        std::printf("channel %zu: %zu KiB of %zu KiB, of which %zu KiB are its part of the cities\n", c,
                    all.memory(c).used() >> 10, all.limit() >> 10, all.global_part(c) >> 10);
    right.clear();
    return sum == expected && all.global_part(0) == all.global_part(3) ? 0 : 1;
}
