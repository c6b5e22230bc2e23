// Replays a recording against one subject, once, in this process.
//
// Each recorded thread is a thread here, with its operations in the recorded order; an operation waits until those of
// the same allocation that were before it are done. With one thread the order is the recorded one. Memory is touched: a
// byte in each OS page of what is new, as a program does that uses it.
// Invariant: no wait is for ever, since each operation waits for earlier ones of the recorded order only.
#pragma once

#include "subjects.hpp"
#include "trace.hpp"

#include <allot/sys/map.hpp>
#include <shared/resident.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <thread>
#include <vector>

namespace replay {

struct how {
    bool in_threads = true; // those that were recorded; else one
    bool touches = true;    // memory
    bool looks = false;     // measures bytes: then the time says nothing
    std::size_t limit = SIZE_MAX;
};

/// What a run took.
struct figures {
    double seconds = 0;
    std::size_t peak = 0;     // bytes charged
    std::size_t resident = 0; // bytes, at most, beyond the start
    std::size_t refused = 0;  // requests
};

// An allocation while it is replayed.
struct place {
    std::atomic<std::uint32_t> turn{0}; // of the next operation
    void* address = nullptr;            // null: refused
    std::size_t bytes = 0;
    std::size_t align = 1;
};

template <class Subject> class run_of {
  public:
    run_of(const trace& t, const how& h) : trace_(t), how_(h), places_(new place[t.counts().allocations]) {}

    figures operator()() {
        const trace_counts& all = trace_.counts();
        const conditions c{how_.limit, all.streams, all.peak};
        const std::size_t before = start_of_resident();
        figures f;
        {
            Subject subject{c};
            const auto begin = std::chrono::steady_clock::now();
            if (how_.in_threads && all.threads > 1) in_threads(subject);
            else
                for (std::size_t i = 0; i != all.operations; ++i) step(subject, i, false);
            f.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
            subject.look();
            f.peak = subject.peak();
            if (how_.looks)
                f.resident = shared::peak_resident_bytes() - std::min(before, shared::peak_resident_bytes());
            for (std::size_t i = 0; i != all.allocations; ++i) // what was live at the end
                if (places_[i].address != nullptr) subject.deallocate(places_[i].address, places_[i].bytes, 0);
        }
        f.refused = refused_.load();
        return f;
    }

  private:
    static constexpr std::size_t looks = 2000; // in a run

    std::size_t start_of_resident() const {
        if (!how_.looks) return 0;
        shared::restart_peak();
        return shared::resident_bytes();
    }
    void in_threads(Subject& subject) {
        std::vector<std::jthread> all;
        for (std::size_t t = 0; t != trace_.counts().threads; ++t)
            all.emplace_back([&, t] {
                for (const std::uint32_t i : trace_.operations_of(t)) step(subject, i, true);
            });
    }
    void step(Subject& subject, std::size_t i, bool waits) {
        const operation& o = operations_[i];
        place& at = places_[o.allocation];
        if (waits)
            for (unsigned spins = 0; at.turn.load(std::memory_order_acquire) != o.turn; ++spins)
                if (spins > 100) std::this_thread::yield();
        switch (o.kind) {
        case allot::recorded_kind::allocate:
            at.align = std::size_t{1} << o.log_alignment;
            at.address = subject.allocate(o.bytes, at.align, o.stream);
            became(at, at.address, 0, o.bytes);
            break;
        case allot::recorded_kind::resize:
            if (at.address != nullptr)
                became(at, subject.resize(at.address, at.bytes, o.bytes, at.align), at.bytes, o.bytes);
            break;
        case allot::recorded_kind::deallocate:
            if (at.address != nullptr) subject.deallocate(at.address, at.bytes, o.stream);
            at.address = nullptr;
            break;
        }
        if (waits) at.turn.store(o.turn + 1, std::memory_order_release);
        if (how_.looks && (i == trace_.counts().peak_at || i % (operations_.size() / looks + 1) == 0)) subject.look();
    }
    void became(place& at, void* p, std::size_t had, std::size_t bytes) {
        if (p == nullptr) {
            refused_.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        at.address = p, at.bytes = bytes;
        if constexpr (!Subject::is_on_device) {
            if (!how_.touches) return;
            auto* const first = static_cast<volatile char*>(p);
            for (std::size_t i = had; i < bytes; i = (i / page_ + 1) * page_) first[i] = 1;
        }
    }

    const trace& trace_;
    const std::span<const operation> operations_ = trace_.operations();
    const how& how_;
    std::unique_ptr<place[]> places_;
    std::atomic<std::size_t> refused_{0};
    const std::size_t page_ = allot::sys::os_page_bytes();
};

} // namespace replay
