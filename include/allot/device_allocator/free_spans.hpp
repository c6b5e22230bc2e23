// What lies side by side and is free, whoever freed it: one look at all runs, for a request that no run fits.
//
// It finds the smallest span that serves and whose runs the asking stream can come after, with these runs; whether one
// would after a wait for the whole device; and the bytes of pieces that are wholly free. Nothing is changed.
// Cost: O(runs), 1.5 KiB of stack. A span of more than 48 runs is taken for two. Threads: under the books' lock.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/device_allocator/stream_tag.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Run> struct free_span {
    static constexpr std::size_t most = 48;
    std::uintptr_t begin = 0, end = 0;
    std::size_t n = 0;
    Run runs[most];
    std::size_t bytes() const noexcept { return end - begin; }
};

template <class Run> class free_spans {
  public:
    // reachable(tag): the asking stream can come after it. piece(i): address and bytes of the i-th of so many, in
    // order.
    template <class Runs, class Reachable, class Pieces>
    free_spans(const Runs& runs, std::size_t bytes, std::size_t align, Reachable reachable,
               const Pieces& pieces) noexcept
        : bytes_(bytes), align_(align) {
        std::size_t at = 0;                // the piece to look at next
        std::uintptr_t begin = 0, end = 0; // free for anybody who waits for the device
        std::uint32_t segment = 0;
        const auto ended = [&] {
            after_a_wait = after_a_wait || serves(begin, end);
            while (at != pieces.size() && pieces[at].address < begin) ++at;
            for (; at != pieces.size() && pieces[at].address + pieces[at].bytes <= end; ++at)
                pieces_bytes += pieces[at].bytes;
        };
        runs.visit([&](const Run& r, bool live, std::uint32_t of) {
            const bool free = !live && r.tag.key() != stream_tag::held, follows = r.address == end && of == segment;
            if (!free || !follows) {
                ended();
                begin = end = r.address;
            }
            if (free) end = r.address + r.bytes;
            segment = of;
            if (!free || !follows || now_.n == now_.most || !reachable(r.tag)) start();
            if (free && reachable(r.tag)) {
                if (now_.n == 0) now_.begin = r.address;
                now_.runs[now_.n++] = r;
                now_.end = r.address + r.bytes;
            }
            return true;
        });
        ended();
        start();
    }
    const free_span<Run>* best() const noexcept { return best_.n != 0 ? &best_ : nullptr; }

    bool after_a_wait = false;
    std::size_t pieces_bytes = 0;

  private:
    void start() noexcept {
        if (now_.n != 0 && serves(now_.begin, now_.end) && (best_.n == 0 || now_.bytes() < best_.bytes())) best_ = now_;
        now_.n = 0;
    }
    bool serves(std::uintptr_t begin, std::uintptr_t end) const noexcept {
        const std::uintptr_t at = align_up(begin, align_);
        return at <= end && end - at >= bytes_;
    }
    std::size_t bytes_, align_;
    free_span<Run> now_, best_;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
