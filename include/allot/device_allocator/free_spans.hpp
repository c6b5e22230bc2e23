// Spans of adjacent free runs, freed by any streams: one scan of all runs, for a request that no single run fits.
//
// Finds the smallest span that fits the request and that its stream can be ordered after, with the runs of the span;
// whether a span would fit after a wait for the whole device; and the bytes of wholly free pieces. Changes nothing.
// Cost: O(runs), 1.5 KiB of stack. A span of more than 48 runs counts as two. Threads: requires the lock of the runs.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/device_allocator/stream_tag.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Run> struct free_span {
    static constexpr std::size_t max_runs = 48;
    std::uintptr_t begin = 0, end = 0;
    std::size_t n = 0;
    Run runs[max_runs];
    std::size_t bytes() const noexcept { return end - begin; }
};

template <class Run> class free_spans {
  public:
    // reachable(tag): the requesting stream can be ordered after it. pieces: address and bytes, sorted by address.
    template <class Runs, class Reachable, class Pieces>
    free_spans(const Runs& runs, std::size_t bytes, std::size_t align, Reachable reachable,
               const Pieces& pieces) noexcept
        : bytes_(bytes), align_(align) {
        std::size_t at = 0;                // index of the next piece
        std::uintptr_t begin = 0, end = 0; // a span that is free after a wait for the device
        std::uint32_t segment = 0;
        const auto ended = [&] {
            wait_may_help = wait_may_help || fits(begin, end);
            while (at != pieces.size() && pieces[at].address < begin) ++at;
            for (; at != pieces.size() && pieces[at].address + pieces[at].bytes <= end; ++at)
                free_piece_bytes += pieces[at].bytes;
        };
        runs.visit([&](const Run& r, bool live, std::uint32_t of) {
            const bool free = !live && r.tag.key() != stream_tag::held, follows = r.address == end && of == segment;
            if (!free || !follows) {
                ended();
                begin = end = r.address;
            }
            if (free) end = r.address + r.bytes;
            segment = of;
            if (!free || !follows || current_.n == current_.max_runs || !reachable(r.tag)) start();
            if (free && reachable(r.tag)) {
                if (current_.n == 0) current_.begin = r.address;
                current_.runs[current_.n++] = r;
                current_.end = r.address + r.bytes;
            }
            return true;
        });
        ended();
        start();
    }
    const free_span<Run>* best() const noexcept { return best_.n != 0 ? &best_ : nullptr; }

    bool wait_may_help = false;
    std::size_t free_piece_bytes = 0;

  private:
    void start() noexcept {
        if (current_.n != 0 && fits(current_.begin, current_.end) && (best_.n == 0 || current_.bytes() < best_.bytes()))
            best_ = current_;
        current_.n = 0;
    }
    bool fits(std::uintptr_t begin, std::uintptr_t end) const noexcept {
        const std::uintptr_t at = align_up(begin, align_);
        return at <= end && end - at >= bytes_;
    }
    std::size_t bytes_, align_;
    free_span<Run> current_, best_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
