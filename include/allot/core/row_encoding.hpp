// How a row that is an object leaves memory and comes back: its type encodes it, and makes it again from that.
//
//     struct order {
//         explicit order(allot::row_reader& from) { from.get(&id, sizeof id), ... }
//         void encode(allot::row_writer& to) const noexcept { to.put(&id, sizeof id), ... }
//     };
//
// An encoding owns nothing: it may be dropped without being read, and be read several times. So a row that points to
// rows of its own writes what is in them, and makes them again; one that links rows of others links them again.
// Invariant: encode() writes the same bytes each time; get() gives no byte beyond what encode() has put.
// Cost: encode() is called about four times each time that a row leaves. Threads: one at a time.
#pragma once

#include <allot/config.hpp>
#include <allot/core/min_max.hpp>

#include <cstddef>
#include <cstring>
#include <span>

namespace allot::inline ALLOT_ABI {

/// Takes the encoding of one row; keeps the bytes of it from `from` on that fit into `window`.
class row_writer {
  public:
    explicit row_writer(std::span<std::byte> window = {}, std::size_t from = 0) noexcept
        : window_(window), from_(from) {}

    void put(const void* bytes, std::size_t n) noexcept {
        const std::size_t begin = detail::max(put_, from_), end = detail::min(put_ + n, from_ + window_.size());
        if (begin < end)
            std::memcpy(window_.data() + (begin - from_), static_cast<const std::byte*>(bytes) + (begin - put_),
                        end - begin);
        put_ += n;
    }
    /// Bytes that were put so far, kept or not.
    std::size_t bytes() const noexcept { return put_; }

  private:
    std::span<std::byte> window_;
    std::size_t from_, put_ = 0;
};

/// Gives the encoding of one row.
class row_reader {
  public:
    /// The next bytes behind those that were given; none: they cannot be read.
    using more = std::span<const std::byte> (*)(void* context) noexcept;

    explicit row_reader(std::span<const std::byte> first, more next = nullptr, void* context = nullptr,
                        bool may_wait = false) noexcept
        : here_(first), left_(first.size()), next_(next), context_(context), may_wait_(may_wait) {}

    /// Copies the next n bytes. Returns: false where there are fewer, or they cannot be read; from then on always.
    bool get(void* to, std::size_t n) noexcept {
        auto* at = static_cast<std::byte*>(to);
        return each_piece(n, [&](std::span<const std::byte> piece) {
            std::memcpy(at, piece.data(), piece.size());
            at += piece.size();
        });
    }
    /// Bytes of the encoding that were not given yet.
    std::size_t left() const noexcept { return left_; }
    bool has_failed() const noexcept { return failed_; }
    /// Whether requests for memory may wait, and throw; else they take what is free: try_allocate() under a cost_cap.
    bool may_wait() const noexcept { return may_wait_; }

    // For the store: an encoding of n bytes begins behind what was given.
    void begin(std::size_t n) noexcept { left_ = n; }
    // Passes the rest of the encoding over. Returns: false where it cannot be read.
    bool end() noexcept {
        return each_piece(left_, [](std::span<const std::byte>) {});
    }

  private:
    template <class Take> bool each_piece(std::size_t n, Take take) noexcept {
        if (failed_ || n > left_) return failed_ = true, false;
        left_ -= n;
        while (n != 0) {
            if (here_.empty() && next_ != nullptr) here_ = next_(context_);
            if (here_.empty()) return failed_ = true, false;
            const std::size_t piece = detail::min(n, here_.size());
            take(here_.first(piece));
            here_ = here_.subspan(piece);
            n -= piece;
        }
        return true;
    }

    std::span<const std::byte> here_;
    std::size_t left_;
    more next_;
    void* context_;
    bool may_wait_, failed_ = false;
};

} // namespace allot::inline ALLOT_ABI
