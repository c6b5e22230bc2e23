// Replays a recording against one subject, once, in this process.
//
// Each recorded thread is a thread here, with its operations in the recorded order. An operation waits until those of
// the same allocation that were before it are done; where bytes are measured, until all are that were before it. Memory
// is touched: a byte in each OS page of what is new, as a program does that uses it.
// Invariant: no wait is for ever, since each operation waits for earlier ones of the recorded order only.
#pragma once

#include "entry.hpp"
#include "sequence.hpp"
#include "subjects.hpp"

#include <allot/sys/map.hpp>
#include <shared/resident.hpp>

#include <atomic>
#include <cstddef>
#include <ctime>
#include <memory>
#include <span>
#include <thread>
#include <time.h>
#include <utility>
#include <vector>

namespace replay {

// An allocation while it is replayed.
struct place {
    std::atomic<std::uint32_t> turn{0}; // of the next operation
    std::uint32_t stream = 0;           // of the last one that allocated or resized it
    void* address = nullptr;            // null: refused
    std::size_t bytes = 0;
    std::size_t align = 1;
};

template <class Subject> class run_of {
  public:
    run_of(const sequence& t, const how& h) : sequence_(t), how_(h), places_(new place[t.counts().allocations]) {}

    figures operator()() {
        const sequence_counts& all = sequence_.counts();
        const conditions c{how_.limit, all.streams, all.peak};
        const std::size_t before = start_of_resident();
        figures f;
        {
            Subject subject{c};
            if (how_.is_warm) replay(subject), end(subject);
            f.seconds = replay(subject);
            subject.look();
            f.peak = subject.peak();
            if (how_.looks)
                f.resident = shared::peak_resident_bytes() - std::min(before, shared::peak_resident_bytes());
            end(subject);
        }
        f.refused = refused_.load(), f.left_out = left_out_.load();
        return f;
    }

  private:
    static constexpr std::size_t looks = 2000; // in a run

    std::size_t start_of_resident() const {
        if (!how_.looks) return 0;
        shared::restart_peak();
        return shared::resident_bytes();
    }
    // Returns: seconds, as figures::seconds.
    double replay(Subject& subject) {
        refused_ = 0, left_out_ = 0;
        next_ = 0;
        const bool threads = how_.in_threads && sequence_.counts().threads > 1;
        const double begin = now(threads);
        if (threads) in_threads(subject);
        else
            for (std::size_t i = 0; i != operations_.size(); ++i) step(subject, i, false);
        return now(threads) - begin;
    }
    static double now(bool threads) {
        std::timespec t{};
        ::clock_gettime(threads ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &t);
        return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
    }
    // Deallocates what is live.
    void end(Subject& subject) {
        for (std::size_t i = 0; i != sequence_.counts().allocations; ++i) {
            place& p = places_[i];
            if (p.address != nullptr) subject.deallocate(std::exchange(p.address, nullptr), p.bytes, p.stream);
            p.turn = 0;
        }
    }
    void in_threads(Subject& subject) {
        std::vector<std::jthread> all;
        for (std::size_t t = 0; t != sequence_.counts().threads; ++t)
            all.emplace_back([&, t] {
                for (const std::uint32_t i : sequence_.operations_of(t)) {
                    if (how_.looks) wait_for_turn(i);
                    step(subject, i, true);
                    if (how_.looks) next_ = i + 1, next_.notify_all();
                }
            });
    }
    void wait_for_turn(std::uint32_t i) {
        for (std::uint32_t now; (now = next_) != i;) next_.wait(now);
    }
    void step(Subject& subject, std::size_t i, bool waits) {
        const operation& o = operations_[i];
        place& at = places_[o.allocation];
        if (waits)
            for (unsigned spins = 0; at.turn.load(std::memory_order_acquire) != o.turn; ++spins)
                if (spins > 100) std::this_thread::yield();
        if (o.kind != allot::recorded_kind::allocate && at.address == nullptr) {
            left_out_.fetch_add(1, std::memory_order_relaxed);
            return finish(at, o, waits);
        }
        switch (o.kind) {
        case allot::recorded_kind::allocate:
            at.align = std::size_t{1} << o.log_alignment;
            at.address = subject.allocate(o.bytes, at.align, o.stream);
            became(at, at.address, 0, o);
            break;
        case allot::recorded_kind::resize:
            became(at, subject.resize(at.address, at.bytes, o.bytes, at.align, o.stream), at.bytes, o);
            break;
        case allot::recorded_kind::deallocate:
            subject.deallocate(std::exchange(at.address, nullptr), at.bytes, o.stream);
            break;
        }
        finish(at, o, waits);
        if (how_.looks && (i == sequence_.counts().peak_at || i % (operations_.size() / looks + 1) == 0))
            subject.look();
    }
    static void finish(place& at, const operation& o, bool waits) {
        if (waits) at.turn.store(o.turn + 1, std::memory_order_release);
    }
    void became(place& at, void* p, std::size_t had, const operation& o) {
        if (p == nullptr) {
            refused_.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        at.address = p, at.bytes = o.bytes, at.stream = o.stream;
        if constexpr (!Subject::is_on_device) {
            if (!how_.touches) return;
            auto* const first = static_cast<volatile char*>(p);
            for (std::size_t i = had; i < o.bytes; i = (i / page_ + 1) * page_) first[i] = 1;
        }
    }

    const sequence& sequence_;
    const std::span<const operation> operations_ = sequence_.operations();
    const how& how_;
    std::unique_ptr<place[]> places_;
    std::atomic<std::size_t> refused_{0}, left_out_{0};
    std::atomic<std::uint32_t> next_{0}; // operation, where bytes are measured
    const std::size_t page_ = allot::detail::sys::os_page_bytes();
};

} // namespace replay
