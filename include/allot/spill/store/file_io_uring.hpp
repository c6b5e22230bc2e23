// As file_io, by io_uring: pieces of 1 MiB are under way together, and staged bytes go past the system's cache of
// pages.
//
// A call takes one of a few rings; where none is free, or the system did not let the process open any, it is file_io's
// call. So is the rest of a piece that was moved in part. All pieces of a call have ended before it returns.
// Invariant: a ring that did not take all pieces is used no more, so that it never moves bytes of an earlier call.
// Cost: one system call for 16 pieces; a ring has 16 places. Threads: any, but for open().
// Source: io_uring, Axboe 2019; Mars' SpilledArena, 2021.
#pragma once

#include <allot/config.hpp>
#include <allot/spill/store/file_io.hpp>
#include <allot/spill/store/free_numbers.hpp>
#include <allot/spill/store/spill_file_stats.hpp>
#include <allot/sys/fault.hpp>
#include <allot/sys/file.hpp>

#if ALLOT_URING
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>

#include <liburing.h>

namespace allot::inline ALLOT_ABI {
namespace detail {
inline namespace ALLOT_STORE_ABI {

class file_io_uring {
  public:
    static constexpr unsigned most_rings = 8, places = 16;

    explicit file_io_uring(spill_counters& counters) noexcept : plain_(counters), counters_(counters) {}
    file_io_uring(const file_io_uring&) = delete;
    file_io_uring& operator=(const file_io_uring&) = delete;
    ~file_io_uring() {
        for (unsigned i = 0; i != rings_; ++i) ::io_uring_queue_exit(&ring_[i]);
    }

    /// Opens rings that know the staging memory. False: the system lets the process have none.
    bool open(unsigned n, std::span<std::byte> staging) noexcept {
        ::iovec all{staging.data(), staging.size()};
        knows_staging_ = true;
        for (; rings_ != std::min(n, most_rings); ++rings_) {
            if (sys::fault::should_fail() || ::io_uring_queue_init(places, &ring_[rings_], 0) != 0) break;
            if (::io_uring_register_buffers(&ring_[rings_], &all, 1) != 0) knows_staging_ = false; // locked memory
        }
        free_.open(rings_);
        return rings_ != 0;
    }
    bool is_open() const noexcept { return rings_ != 0; }

    io_result write(const sys::file& to, std::uint64_t offset, std::span<sys::file_part> parts) noexcept {
        return move(to, offset, parts, &file_io::write, [&](::io_uring_sqe* s, const piece& p) {
            ::io_uring_prep_write(s, to.descriptor(), p.at, p.bytes, p.offset);
        });
    }
    io_result read(const sys::file& from, std::uint64_t offset, std::span<sys::file_part> parts) noexcept {
        return move(from, offset, parts, &file_io::read, [&](::io_uring_sqe* s, const piece& p) {
            ::io_uring_prep_read(s, from.descriptor(), p.at, p.bytes, p.offset);
        });
    }
    /// Writes bytes of a staging buffer, in whole blocks, by a descriptor of open_direct().
    io_result write_staged(const sys::file& direct, std::uint64_t offset, sys::file_part part) noexcept {
        return move(direct, offset, {&part, 1}, &file_io::write, [&](::io_uring_sqe* s, const piece& p) {
            if (knows_staging_) ::io_uring_prep_write_fixed(s, direct.descriptor(), p.at, p.bytes, p.offset, 0);
            else ::io_uring_prep_write(s, direct.descriptor(), p.at, p.bytes, p.offset);
        });
    }

  private:
    static constexpr std::size_t most_of_piece = std::size_t{1} << 20;
    struct piece {
        std::byte* at;
        unsigned bytes;
        std::uint64_t offset;
        int result; // bytes, or a negative errno
    };
    using call = io_result (file_io::*)(const sys::file&, std::uint64_t, std::span<sys::file_part>) noexcept;

    // `otherwise`: moves what the ring did not.
    template <class Prepare>
    io_result move(const sys::file& f, std::uint64_t offset, std::span<sys::file_part> parts, call otherwise,
                   Prepare prepare) noexcept {
        const int error = sys::fault::error_of_file_call();
        if (error != 0 && error != EAGAIN) return {error, false};
        const unsigned number = error != 0 ? free_.most : free_.try_take();
        if (number == free_.most) return (plain_.*otherwise)(f, offset, parts);
        io_result result;
        bool is_whole = true;
        piece pieces[places];
        unsigned n = 0;
        const auto flush = [&] {
            if (is_whole) otherwise == &file_io::read ? counters_.read_call() : counters_.write_call();
            is_whole = is_whole && run(ring_[number], {pieces, n}, prepare);
            for (unsigned i = 0; i != n; ++i)
                if (const io_result r = finish(f, pieces[i], otherwise); result) result = r;
            n = 0;
        };
        for (const sys::file_part& p : parts)
            for (std::size_t at = 0; at != p.iov_len && result;) {
                const std::size_t bytes = std::min(p.iov_len - at, most_of_piece);
                pieces[n++] = {static_cast<std::byte*>(p.iov_base) + at, static_cast<unsigned>(bytes), offset, -EAGAIN};
                at += bytes, offset += bytes;
                if (n == places) flush();
            }
        if (n != 0) flush();
        if (is_whole) free_.put(number);
        return result;
    }
    // Returns when all pieces that the ring took have ended. False: it did not take all.
    template <class Prepare> bool run(::io_uring& ring, std::span<piece> pieces, Prepare prepare) noexcept {
        for (piece& p : pieces) {
            ::io_uring_sqe* const s = ::io_uring_get_sqe(&ring);
            prepare(s, p);
            ::io_uring_sqe_set_data(s, &p);
        }
        int taken;
        do taken = ::io_uring_submit_and_wait(&ring, static_cast<unsigned>(pieces.size()));
        while (taken == -EINTR);
        for (int i = 0; i < taken; ++i) {
            ::io_uring_cqe* c = nullptr;
            while (::io_uring_wait_cqe(&ring, &c) != 0) {
            }
            static_cast<piece*>(::io_uring_cqe_get_data(c))->result = c->res;
            ::io_uring_cqe_seen(&ring, c);
        }
        return taken == static_cast<int>(pieces.size());
    }
    io_result finish(const sys::file& f, const piece& p, call otherwise) noexcept {
        if (p.result < 0 && p.result != -EAGAIN && p.result != -EINTR) return {-p.result, false};
        const unsigned moved = p.result < 0 ? 0 : static_cast<unsigned>(p.result);
        if (moved == p.bytes) return {};
        sys::file_part rest{p.at + moved, p.bytes - moved};
        return (plain_.*otherwise)(f, p.offset + moved, {&rest, 1});
    }

    file_io plain_;
    spill_counters& counters_;
    ::io_uring ring_[most_rings];
    unsigned rings_ = 0;
    bool knows_staging_ = false;
    free_numbers free_;
};

} // namespace ALLOT_STORE_ABI
} // namespace detail
} // namespace allot::inline ALLOT_ABI
#endif
