// Compaction: n rows are allocated, nine of ten are released in random order, and the rest are moved together.
//
//   full       resident bytes per requested byte, with all n rows
//   sparse     resident bytes per byte of the rows that are left, after the releases
//   trimmed    the same after the allocator's own trim
//   compacted  the same after compact() and trim(): of ours only, as the next figures
//   to full    compacted / full
//   move ns    time of compact() per row of its span
//   trim us    time of the trim() after it, per 4 KiB that it returns to the system
//
// Resident bytes are the growth of the process. Times are thread CPU time, system calls included. Each row holds its
// number, which is verified after compact().
#pragma once

#include <harness/job.hpp>
#include <harness/measure.hpp>
#include <harness/resident.hpp>
#include <harness/timed.hpp>
#include <peers/peer.hpp>

#include <allot/row_manager.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <malloc.h>

namespace bench {

inline constexpr figure_names moving_figures{"full",    "sparse",  "trimmed", "compacted",    "to full",
                                             "move ns", "trim us", "moved %", "MiB returned", "page KiB"};

// Lognormal, median 110, sigma 1, clipped to 16..1024 bytes: a table from a fixed seed. Or one size.
class skewed_sizes {
  public:
    explicit skewed_sizes(const job& what) {
        std::mt19937_64 random(7);
        std::lognormal_distribution<double> bytes(std::log(110.0), 1.0);
        for (auto& size : table_) size = what.mixed() ? std::clamp(bytes(random), 16.0, 1024.0) : double(what.bytes);
    }
    std::size_t operator()(std::size_t i) const noexcept { return static_cast<std::size_t>(table_[i % table_.size()]); }

  private:
    std::vector<double> table_ = std::vector<double>(1 << 16);
};

// ---- subjects ---------------------------------------------------------------------------------------------------

template <class Set> struct moving_manager {
    static constexpr bool compacts = true;
    allot::row_manager<Set> rows{};
    explicit moving_manager(const job&) {}
    void* allocate(std::size_t bytes) { return rows.allocate(bytes); }
    void release(void* row) { rows.release(row); }
    void trim() { rows.trim(); }
};
// From a unique heap of its own, at one size.
template <class Set> struct moving_heap {
    static constexpr bool compacts = true;
    allot::row_manager<Set> rows{};
    decltype(rows.heap(std::size_t{})) heap;
    explicit moving_heap(const job& what) : heap(rows.heap(what.bytes)) {}
    void* allocate(std::size_t) { return heap.allocate(); }
    void release(void* row) { heap.release(row); }
    void trim() { rows.trim(); }
};

struct moving_peer {
    static constexpr bool compacts = false;
    peer of;
    moving_peer(const job&, peer p) : of(std::move(p)) {}
    void* allocate(std::size_t bytes) { return of.allocate(bytes); }
    void release(void* row) { of.release(row); }
    // As the library offers it; snmalloc's shim has no trim.
    void trim() {
        if (of.name == "glibc") return static_cast<void>(malloc_trim(0));
        Dl_info info{};
        if (dladdr(reinterpret_cast<void*>(of.allocate), &info) == 0) return;
        void* const library = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
        if (library == nullptr) return;
        if (const auto call = detail::symbol<void (*)(bool)>(library, "mi_collect")) call(true);
        if (const auto call = detail::symbol<void (*)()>(library, "MallocExtension_ReleaseFreeMemory")) call();
        if (const auto call = detail::symbol<int (*)(int, void*)>(library, "scalable_allocation_command"))
            call(0, nullptr); // TBBMALLOC_CLEAN_ALL_BUFFERS
        using control = int (*)(const char*, void*, std::size_t*, void*, std::size_t);
        if (const auto call = detail::symbol<control>(library, "mallctl")) {
            call("thread.tcache.flush", nullptr, nullptr, nullptr, 0);
            call("arena.4096.purge", nullptr, nullptr, nullptr, 0); // MALLCTL_ARENAS_ALL
        }
    }
};

// ---- the workload -----------------------------------------------------------------------------------------------

enum class span_order { allocated, random };

inline std::uint64_t number_in(const void* row) noexcept {
    std::uint64_t number = 0;
    std::memcpy(&number, row, sizeof number);
    return number;
}

// `Subject` is made from the job and `from...` in the measuring process.
template <class Subject, class... From> sample run_moving(const job& what, span_order order, const From&... from) {
    const skewed_sizes sizes(what);
    const std::size_t n = what.live_rows(), kept = n / 10;
    std::vector<std::uint32_t> which(n);                    // the first of them stay
    std::vector<void*> rows(n, &which), span(kept, &which); // touched
    std::iota(which.begin(), which.end(), 0U);
    random_source random;
    for (std::size_t i = n; i > 1; --i) std::swap(which[i - 1], which[random.below(i)]);
    if (order == span_order::allocated) std::sort(which.begin(), which.begin() + static_cast<std::ptrdiff_t>(kept));
    static_cast<void>(resident_bytes()); // takes some memory of its own, once
    const std::size_t before = resident_bytes();
    const auto resident = [before] { return static_cast<double>(resident_bytes() - before); };

    Subject& of = *new Subject(what, from...); // its process ends with it
    double bytes = 0, live = 0;
    for (std::size_t i = 0; i != n; ++i) {
        bytes += static_cast<double>(sizes(i));
        rows[i] = of.allocate(sizes(i));
        touch(rows[i], sizes(i), i);
    }
    const double full = resident() / bytes;
    for (std::size_t i = 0; i != n; ++i) {
        if (i >= kept) of.release(rows[which[i]]);
        else span[i] = rows[which[i]], live += static_cast<double>(sizes(which[i]));
    }
    const double sparse = resident() / live;
    of.trim();
    const double trimmed = resident() / live, none = std::numeric_limits<double>::quiet_NaN();
    if constexpr (!Subject::compacts) {
        return {full, sparse, trimmed, none, none, none, none, none, none, none};
    } else {
        allot::compaction done;
        const double moving = timed(0, [&] { done = of.rows.compact(span); });
        for (std::size_t i = 0; i != kept; ++i)
            if (number_in(span[i]) != which[i]) std::abort();
        const double sparse_bytes = resident();
        const double trimming = timed(0, [&] { of.trim(); });
        const double bytes_now = resident(), returned = sparse_bytes - bytes_now, survivors = static_cast<double>(kept);
        return {full,
                sparse,
                trimmed,
                bytes_now / live,
                bytes_now / live / full,
                moving / survivors,
                returned > 0 ? trimming / 1000 / (returned / 4096) : none,
                100 * static_cast<double>(done.moved) / survivors,
                returned / (1 << 20),
                static_cast<double>(of.rows.arena().page_bytes()) / 1024};
    }
}

} // namespace bench
