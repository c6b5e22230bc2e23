// allot_fit: the cost of an allocate and release in fit::best, beside a best fit over std's trees, and bounds.
//
//   allot_fit [rounds] [live runs...]          default: 5 rounds of 10000 and 100000
//
// A steady state in one range with a third as much free as live: each step releases a random run, of all or of 64
// (hot), and allocates another. Sizes: one; 24 classes from 256 bytes to 512 KiB; lognormal about 8 KiB. Only metadata
// is touched. Subjects take turns, round by round, on the same requests. Results are medians of thread CPU time.
#include <allot/fit/best.hpp>

#include <harness/measure.hpp>
#include <harness/mimalloc.hpp>
#include <harness/statistics.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

constexpr std::uintptr_t base = 0x7000'0000'0000;
constexpr std::uint32_t streams = 8;

struct stream_tag {
    std::uint32_t stream = 0;
    std::uint64_t ticket = 0;
    std::uint32_t key() const noexcept { return stream; }
    static bool may_join(const stream_tag& a, const stream_tag& b) noexcept { return a.stream == b.stream; }
    static stream_tag join(const stream_tag& a, const stream_tag& b) noexcept { return a.ticket < b.ticket ? b : a; }
};

struct subject {
    virtual ~subject() = default;
    virtual bool start(std::size_t bytes, std::size_t live) = 0;
    // Replaces runs at[which[i]] by ones of bytes[i].
    virtual void replace(const std::vector<std::uint32_t>& which, const std::vector<std::size_t>& bytes) = 0;
    virtual bool fill(const std::vector<std::size_t>& bytes) = 0;
    virtual std::size_t metadata() const { return 0; }
};

// The loop is the same for all; the calls in it are the subject's own.
template <class Self> struct looped : subject {
    std::vector<std::uintptr_t> at;
    std::vector<std::size_t> size;

    bool fill(const std::vector<std::size_t>& bytes) override {
        at.clear();
        size = bytes;
        for (const std::size_t n : bytes) {
            at.push_back(self().take(n, static_cast<std::uint32_t>(at.size())));
            if (at.back() == 0) return false;
        }
        return true;
    }
    void replace(const std::vector<std::uint32_t>& which, const std::vector<std::size_t>& bytes) override {
        for (std::size_t i = 0; i != which.size(); ++i) {
            std::uintptr_t& a = at[which[i]];
            std::size_t& n = size[which[i]];
            if (a != 0) self().give(a, n, which[i]);
            n = bytes[i];
            a = self().take(n, which[i]);
        }
    }
    Self& self() { return static_cast<Self&>(*this); }
};

struct ours : looped<ours> {
    std::unique_ptr<allot::detail::best_fit_runs<>> fit;
    bool start(std::size_t bytes, std::size_t) override {
        fit = std::make_unique<allot::detail::best_fit_runs<>>(256);
        return fit->add(base, bytes, 0);
    }
    std::uintptr_t take(std::size_t n, std::uint32_t) { return fit->allocate(n, 256).address; }
    void give(std::uintptr_t a, std::size_t, std::uint32_t) { fit->release(a); }
    std::size_t metadata() const override { return fit->metadata_bytes(); }
};

// A run belongs to a stream for good: own free runs first, then anybody's.
template <std::uint32_t Streams> struct ours_tagged : looped<ours_tagged<Streams>> {
    std::unique_ptr<allot::detail::best_fit_runs<stream_tag>> fit;
    std::uint64_t ticket = 0;
    bool start(std::size_t bytes, std::size_t) override {
        fit = std::make_unique<allot::detail::best_fit_runs<stream_tag>>(256);
        for (std::uint32_t s = 0; s != Streams; ++s)
            if (!fit->open(s)) return false;
        return fit->add(base, bytes, 0);
    }
    std::uintptr_t take(std::size_t n, std::uint32_t i) {
        auto r = fit->allocate(n, 256, i % Streams);
        if (!r) r = fit->allocate_any(n, 256);
        return r.address;
    }
    void give(std::uintptr_t a, std::size_t, std::uint32_t i) { fit->release(a, {i % Streams, ++ticket}); }
    std::size_t metadata() const override { return fit->metadata_bytes(); }
};

// As caching device allocators have it: a set of free blocks by size and address, blocks linked to their neighbours.
struct of_std : looped<of_std> {
    struct block {
        std::uintptr_t address;
        std::size_t bytes;
        block *prev, *next;
        bool live;
    };
    struct before {
        bool operator()(const block* a, const block* b) const {
            return a->bytes != b->bytes ? a->bytes < b->bytes : a->address < b->address;
        }
    };
    std::set<block*, before> free;
    std::unordered_map<std::uintptr_t, block*> live;
    block* first = nullptr;

    ~of_std() override { clear(); }
    void clear() {
        for (block *b = first, *next; b != nullptr; b = next) {
            next = b->next;
            delete b;
        }
        free.clear();
        live.clear();
    }
    bool start(std::size_t bytes, std::size_t) override {
        clear();
        first = new block{base, bytes, nullptr, nullptr, false};
        free.insert(first);
        return true;
    }
    std::uintptr_t take(std::size_t n, std::uint32_t) {
        n = allot::detail::align_up(n, 256);
        block key{0, n, nullptr, nullptr, false};
        const auto found = free.lower_bound(&key);
        if (found == free.end()) return 0;
        block* const b = *found;
        free.erase(found);
        if (b->bytes != n) {
            auto* const rest = new block{b->address + n, b->bytes - n, b, b->next, false};
            if (b->next != nullptr) b->next->prev = rest;
            b->next = rest;
            b->bytes = n;
            free.insert(rest);
        }
        b->live = true;
        live.emplace(b->address, b);
        return b->address;
    }
    void give(std::uintptr_t a, std::size_t, std::uint32_t) {
        const auto found = live.find(a);
        block* const b = found->second;
        live.erase(found);
        b->live = false;
        if (block* const p = b->prev; p != nullptr && !p->live) join(p, b, p->address);
        if (block* const p = b->next; p != nullptr && !p->live) join(p, b, b->address);
        free.insert(b);
    }
    void join(block* gone, block* into, std::uintptr_t address) {
        free.erase(gone);
        into->address = address;
        into->bytes += gone->bytes;
        (gone == into->prev ? into->prev : into->next) = gone == into->prev ? gone->prev : gone->next;
        if (into->prev != nullptr) into->prev->next = into;
        if (into->next != nullptr) into->next->prev = into;
        if (gone == first) first = into;
        delete gone;
    }
};

// A free list a power of two, told sizes, that never splits nor joins: what no fit can beat.
struct lists : looped<lists> {
    std::vector<std::vector<std::uintptr_t>> free;
    std::uintptr_t fresh = base;
    bool start(std::size_t, std::size_t live) override {
        fresh = base;
        free.assign(64, {});
        for (auto& list : free) list.reserve(live);
        return true;
    }
    std::uintptr_t take(std::size_t n, std::uint32_t) {
        const unsigned of = allot::detail::log2_ceil(n);
        if (free[of].empty()) return fresh += std::size_t{1} << of;
        const std::uintptr_t a = free[of].back();
        free[of].pop_back();
        return a;
    }
    void give(std::uintptr_t a, std::size_t n, std::uint32_t) { free[allot::detail::log2_ceil(n)].push_back(a); }
};

// A malloc of host memory, asked for a 32nd of the bytes: size classes, links in the memory itself.
struct host_malloc : looped<host_malloc> {
    void* (*allocate)(std::size_t);
    void (*release)(void*);
    host_malloc(void* (*a)(std::size_t), void (*r)(void*)) : allocate(a), release(r) {}
    ~host_malloc() override { clear(); }
    void clear() {
        for (const std::uintptr_t a : at) release(reinterpret_cast<void*>(a));
        at.clear();
    }
    bool start(std::size_t, std::size_t) override { return clear(), true; }
    std::uintptr_t take(std::size_t n, std::uint32_t) { return reinterpret_cast<std::uintptr_t>(allocate(n / 32)); }
    void give(std::uintptr_t a, std::size_t, std::uint32_t) { release(reinterpret_cast<void*>(a)); }
};

std::size_t some_bytes(const std::string& kind, std::mt19937_64& random) {
    static std::lognormal_distribution<double> lognormal{std::log(8192.0), 1.5};
    if (kind.starts_with("one")) return 4096;
    if (kind.starts_with("classes")) return (std::size_t{256} << random() % 12) + (random() % 2 != 0 ? 0 : 256);
    return std::min<std::size_t>(256 + static_cast<std::size_t>(lognormal(random)), std::size_t{64} << 20);
}

} // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
    std::vector<std::size_t> counts;
    for (int i = 2; i < argc; ++i) counts.push_back(std::strtoull(argv[i], nullptr, 10));
    if (counts.empty()) counts = {10'000, 100'000};

    std::vector<std::pair<std::string, std::unique_ptr<subject>>> all;
    all.emplace_back("fit::best", std::make_unique<ours>());
    all.reserve(8);
    all.emplace_back("fit::best, a stream", std::make_unique<ours_tagged<1>>());
    all.emplace_back("fit::best, 8 streams", std::make_unique<ours_tagged<streams>>());
    all.emplace_back("std::set, unordered_map", std::make_unique<of_std>());
    if (const auto peer = bench::mimalloc::find())
        all.emplace_back("mimalloc, a 32nd", std::make_unique<host_malloc>(peer.allocate, peer.release));
    all.emplace_back("lists of classes", std::make_unique<lists>());

    std::printf("%-9s %-12s %-26s %8s %8s %8s  %s\n", "live", "sizes", "subject", "ns/pair", "q1", "q3",
                "metadata a run");
    for (const std::size_t live : counts)
        for (const std::string kind : {"one", "classes", "mixed", "one, hot", "classes, hot", "mixed, hot"}) {
            std::mt19937_64 random{live};
            std::vector<std::size_t> first(live);
            std::size_t bytes = 0;
            for (std::size_t& n : first) bytes += allot::detail::align_up(n = some_bytes(kind, random), 256);
            const std::size_t steps = std::max<std::size_t>(2 * live, 200'000);
            std::vector<std::vector<double>> ns(all.size());
            for (auto& [name, s] : all)
                if (!s->start(allot::detail::align_up(bytes / 3 * 4, 256), live) || !s->fill(first))
                    std::printf("%s: cannot start\n", name.c_str());
            for (int round = -1; round < rounds; ++round) { // the first one reaches the steady state
                std::vector<std::uint32_t> which(steps);
                std::vector<std::size_t> sizes(steps);
                for (auto& w : which) w = static_cast<std::uint32_t>(random() % (kind.ends_with("hot") ? 64 : live));
                for (auto& n : sizes) n = some_bytes(kind, random);
                for (std::size_t i = 0; i != all.size(); ++i) {
                    const std::size_t s = (i + static_cast<std::size_t>(round + 1)) % all.size();
                    const double begin = bench::cpu_ns();
                    all[s].second->replace(which, sizes);
                    if (round >= 0) ns[s].push_back((bench::cpu_ns() - begin) / static_cast<double>(steps));
                }
            }
            for (std::size_t s = 0; s != all.size(); ++s) {
                const auto [q1, median, q3] = bench::spread_of(ns[s]);
                std::printf("%-9zu %-12s %-26s %8.1f %8.1f %8.1f  %.0f\n", live, kind.c_str(), all[s].first.c_str(),
                            median, q1, q3, static_cast<double>(all[s].second->metadata()) / static_cast<double>(live));
            }
        }
}
