// allot_device_allocator: host work of an allocate and deallocate in device_allocator, beside a best fit over std::map.
//
//   allot_device_allocator [rounds] [live blocks...]          default: 9 rounds of 100, 1000 and 10000
//
// A steady state: a random live block is freed on its stream, and another allocated there. Measured over a device whose
// calls do nothing, and over the simulated device; the simulator's own part (stream id, capture state, marks) is
// measured alone, to be subtracted. Subjects take turns on the same requests. Results are medians of thread CPU time.
#include <allot/device/simulated.hpp>
#include <allot/device_allocator.hpp>

#include <harness/measure.hpp>
#include <harness/null_device.hpp>
#include <harness/statistics.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace {

namespace device = allot::device;
template <class Api>
struct memory : allot::policies<allot::page::on_device<Api>, allot::fit::best, allot::order::stream, allot::oom::null> {
};

struct request {
    std::uint32_t which;
    std::size_t bytes;
};

struct subject {
    virtual ~subject() = default;
    virtual void start(std::size_t live, std::uint32_t streams, std::size_t bytes) = 0;
    virtual void replace(const std::vector<request>& all) = 0;
    virtual std::string more() const { return {}; }
};

template <class Api> struct ours : subject {
    using stream = typename Api::stream_type;
    Api api;
    std::vector<stream> handles;
    std::unique_ptr<allot::device_allocator<memory<Api>>> gpu;
    std::vector<void*> at;

    ours(const Api& a, std::vector<stream> s) : api{a}, handles{std::move(s)} {}
    std::uint32_t streams = 1;
    void start(std::size_t live, std::uint32_t n, std::size_t bytes) override {
        gpu = std::make_unique<allot::device_allocator<memory<Api>>>(
            api, allot::limit{bytes}, allot::leak_sink{[](void*, std::string_view) noexcept {}});
        at.assign(live, nullptr);
        streams = n;
    }
    void replace(const std::vector<request>& all) override {
        for (const request& r : all) {
            const stream s = handles[r.which % streams];
            void*& p = at[r.which];
            gpu->deallocate(p, s);
            p = gpu->try_allocate(r.bytes, s);
        }
    }
    std::string more() const override {
        const auto f = gpu->stats();
        char text[160];
        std::snprintf(text, sizeof text, "events/free %.4f waits/free %.4f from others %.4f refused %llu",
                      static_cast<double>(f.events) / static_cast<double>(f.frees),
                      static_cast<double>(f.waits) / static_cast<double>(f.frees),
                      static_cast<double>(f.steals) / static_cast<double>(f.frees),
                      static_cast<unsigned long long>(f.refused));
        return text;
    }
};

// What the simulator takes of a pair: the same calls, without an allocator.
struct simulator_alone : subject {
    device::simulated api;
    std::vector<device::simulated::stream_type> handles;
    std::byte* base = nullptr;
    std::vector<std::size_t> size;
    std::uint32_t streams = 1;
    static constexpr std::size_t room = std::size_t{1} << 20;

    simulator_alone(const device::simulated& a, std::vector<device::simulated::stream_type> s)
        : api{a}, handles{std::move(s)} {}
    ~simulator_alone() override {
        if (base != nullptr) (void)api.deallocate({0}, base);
    }
    void start(std::size_t live, std::uint32_t n, std::size_t) override {
        if (base != nullptr) (void)api.deallocate({0}, base);
        base = static_cast<std::byte*>(api.allocate({0}, live * room).value_or(nullptr));
        size.assign(live, 0);
        streams = n;
    }
    void replace(const std::vector<request>& all) override {
        for (const request& r : all) {
            const auto s = handles[r.which % streams];
            std::byte* const p = base + r.which * room;
            if (!api.stream_id(s)) std::abort();
            if (!api.capturing(s)) std::abort();
            if (size[r.which] != 0) api.mark_freed(p, size[r.which], s);
            size[r.which] = std::min(allot::detail::align_up(r.bytes, 256), room);
            if (!api.stream_id(s)) std::abort();
            if (!api.capturing(s)) std::abort();
            api.mark_allocated(p, size[r.which], s);
        }
    }
};

// Free blocks by size and by address, under a lock: no streams, no order.
struct of_map : subject {
    std::multimap<std::size_t, std::uintptr_t> by_size;
    std::map<std::uintptr_t, std::multimap<std::size_t, std::uintptr_t>::iterator> by_address;
    std::map<std::uintptr_t, std::size_t> live;
    std::vector<std::uintptr_t> at;
    std::mutex lock;

    void insert(std::uintptr_t a, std::size_t n) { by_address.emplace(a, by_size.emplace(n, a)); }
    void start(std::size_t n, std::uint32_t, std::size_t bytes) override {
        by_size.clear(), by_address.clear(), live.clear();
        at.assign(n, 0);
        insert(1 << 20, bytes);
    }
    void give(std::uintptr_t a) {
        const std::lock_guard hold{lock};
        const auto found = live.find(a);
        if (found == live.end()) return;
        std::size_t n = found->second;
        live.erase(found);
        auto next = by_address.lower_bound(a);
        if (next != by_address.end() && a + n == next->first) {
            n += next->second->first;
            by_size.erase(next->second);
            next = by_address.erase(next);
        }
        if (next != by_address.begin())
            if (const auto before = std::prev(next); before->first + before->second->first == a) {
                a = before->first;
                n += before->second->first;
                by_size.erase(before->second);
                by_address.erase(before);
            }
        insert(a, n);
    }
    std::uintptr_t take(std::size_t n) {
        n = allot::detail::align_up(n, 256);
        const std::lock_guard hold{lock};
        const auto found = by_size.lower_bound(n);
        if (found == by_size.end()) return 0;
        const std::uintptr_t a = found->second;
        const std::size_t had = found->first;
        by_address.erase(a);
        by_size.erase(found);
        if (had != n) insert(a + n, had - n);
        live.emplace(a, n);
        return a;
    }
    void replace(const std::vector<request>& all) override {
        for (const request& r : all) {
            give(at[r.which]);
            at[r.which] = take(r.bytes);
        }
    }
};

} // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 9;
    std::vector<std::size_t> counts;
    for (int i = 2; i < argc; ++i) counts.push_back(std::strtoull(argv[i], nullptr, 10));
    if (counts.empty()) counts = {100, 1000, 10'000};

    device::simulator sim{{.total_bytes = std::size_t{1} << 40, .execution = device::execution::none}};
    const device::simulated api{sim};
    std::vector<bench::null_device::stream_type> numbers;
    std::vector<device::simulated::stream_type> handles;
    for (std::uint32_t i = 0; i != 8; ++i) {
        numbers.push_back({i + 2});
        handles.push_back(api.create_stream({0}, device::stream_kind::non_blocking).value_or({}));
    }
    std::vector<std::pair<std::string, std::unique_ptr<subject>>> all;
    all.emplace_back("device_allocator, null device",
                     std::make_unique<ours<bench::null_device>>(bench::null_device{}, numbers));
    all.reserve(8);
    all.emplace_back("device_allocator, simulated", std::make_unique<ours<device::simulated>>(api, handles));
    all.emplace_back("the simulator's part of it", std::make_unique<simulator_alone>(api, handles));
    all.emplace_back("std::map, best fit, a lock", std::make_unique<of_map>());

    std::printf("%-7s %-8s %-10s %-30s %8s %8s %8s\n", "live", "streams", "sizes", "subject", "ns/pair", "q1", "q3");
    for (const std::size_t live : counts)
        for (const std::uint32_t streams : {1U, 8U})
            for (const std::string kind : {"one", "classes", "mixed"}) {
                std::mt19937_64 random{live};
                std::lognormal_distribution<double> lognormal{std::log(8192.0), 1.5};
                const auto bytes = [&] {
                    if (kind == "one") return std::size_t{4096};
                    if (kind == "classes") return (std::size_t{256} << random() % 12) + (random() % 2 != 0 ? 0 : 256);
                    return std::min<std::size_t>(256 + static_cast<std::size_t>(lognormal(random)),
                                                 std::size_t{64} << 20);
                };
                std::size_t sum = 0;
                std::vector<request> first(live);
                for (std::size_t i = 0; i != live; ++i)
                    sum += allot::detail::align_up((first[i] = {static_cast<std::uint32_t>(i), bytes()}).bytes, 256);
                for (auto& [name, s] : all) {
                    s->start(live, streams,
                             allot::detail::align_up(sum / 2 * 3, std::size_t{2} << 20) + (std::size_t{16} << 20));
                    s->replace(first);
                }
                const std::size_t steps = std::max<std::size_t>(2 * live, 100'000);
                std::vector<std::vector<double>> ns(all.size());
                for (int round = -1; round < rounds; ++round) {
                    std::vector<request> requests(steps);
                    for (request& r : requests) r = {static_cast<std::uint32_t>(random() % live), bytes()};
                    for (std::size_t i = 0; i != all.size(); ++i) {
                        const std::size_t s = (i + static_cast<std::size_t>(round + 1)) % all.size();
                        const double begin = bench::cpu_ns();
                        all[s].second->replace(requests);
                        if (round >= 0) ns[s].push_back((bench::cpu_ns() - begin) / static_cast<double>(steps));
                    }
                }
                for (std::size_t s = 0; s != all.size(); ++s) {
                    const auto [q1, median, q3] = bench::spread_of(ns[s]);
                    std::printf("%-7zu %-8u %-10s %-30s %8.1f %8.1f %8.1f  %s\n", live, streams, kind.c_str(),
                                all[s].first.c_str(), median, q1, q3, all[s].second->more().c_str());
                }
                std::fflush(stdout);
            }
    all.clear();
    for (const auto h : handles) (void)api.destroy_stream(h);
    return sim.hazards() == 0 && sim.leaks() == 0 ? 0 : 1;
}
