// A buffer that leaves for memory of another account while it is not used, and comes back: a spillable input.
//
//     allot::spillable_buffer batch{std::move(b), near, far};   // homes: a memory and the account that it charges
//     {
//         const auto data = batch.pin();                        // back in near memory; it stays there
//         data->set<int>(0, 42);
//     }                                                         // may leave again
//
// It is a reclaimer of the near account: a request that is short there moves it to far memory, unless it is pinned.
// What leaves is charged to the far account. A limit that is on both accounts gains nothing by that: the far account
// must not be below a limit that near memory is short of.
// Cost: one object of the host's heap, 216 bytes; a move copies the bytes. Threads: any; pins of several threads may
// overlap. Checked builds report what breaks a `Requires`. Source: Spark-RAPIDS' SpillableHandle, 2024.
#pragma once

#include <allot/account/account.hpp>
#include <allot/buffer/buffer.hpp>
#include <allot/buffer/buffer_memory.hpp>
#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/error.hpp>
#include <allot/reclaim/cost_cap.hpp>
#include <allot/reclaim/reclaimer.hpp>
#include <allot/spill/spillable.hpp>

#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace allot::inline ALLOT_ABI {

/// Where a spillable buffer lives: a memory that the host may access, and the account that it is charged to.
/// Requires: both outlive the buffer.
struct buffer_home {
    buffer_memory& memory;
    account& by;

    /// Throws: as buffer_memory's allocate().
    buffer allocate(std::size_t bytes) const { return memory.allocate(by, bytes); }
};

class spillable_buffer {
    class handle;

  public:
    static constexpr std::uint32_t default_cost = 10;

    /// The bytes of a buffer, which stay in near memory until this ends. Requires: the buffer outlives it.
    class pinned {
      public:
        pinned(pinned&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
        pinned& operator=(pinned&&) = delete;
        ~pinned() {
            if (of_ != nullptr) of_->unpin();
        }
        std::span<std::byte> bytes() const noexcept { return of_->data().bytes(); }
        /// The buffer itself. Requires: no view of it outlives this.
        const buffer& operator*() const noexcept { return of_->data(); }
        const buffer* operator->() const noexcept { return &of_->data(); }

      private:
        friend spillable_buffer;
        explicit pinned(handle& of) noexcept : of_(&of) {}
        handle* of_;
    };

    /// Requires: the buffer is of near memory, charged to near's account, and its block's only view, or it is empty.
    /// Throws: std::bad_alloc; the buffer is as it was then.
    spillable_buffer(buffer&& b, buffer_home near, buffer_home far, std::uint32_t cost = default_cost)
        : handle_(std::make_unique<handle>(near, far, cost)) {
        if constexpr (ALLOT_CHECKED != 0) check(b, near);
        handle_->begin(std::move(b));
    }
    /// The other one has 0 bytes then, and must not be pinned.
    spillable_buffer(spillable_buffer&&) noexcept = default;
    spillable_buffer& operator=(spillable_buffer&&) noexcept = default;

    /// Brings the bytes back, if they left. Requires: it was not moved from. Throws: as a buffer_memory's allocate();
    /// the bytes are where they were then. Of what was moved from: out_of_memory, with the status misused.
    pinned pin() const {
        if (ALLOT_UNLIKELY(handle_ == nullptr)) raise_moved_from();
        return handle_->pin(), pinned{*handle_};
    }
    /// Its bytes, which are charged near, or far while it is away.
    std::size_t bytes() const noexcept { return handle_ != nullptr ? handle_->size() : 0; }
    bool is_away() const noexcept { return handle_ != nullptr && handle_->is_away(); }
    /// Lets it leave now. Returns: false if it is pinned, away, or far memory refuses.
    bool spill() const noexcept { return handle_ != nullptr && handle_->leave(); }
    /// Its bytes as two parts, cut at a multiple of `unit` bytes; none if it has less than two units. A unit of 0 is
    /// one byte. It leaves first, which needs as much far memory as it has bytes, if it is not away. The parts need no
    /// near memory before they are pinned; far memory is returned when both have come back. Requires: it is not pinned;
    /// else there are no parts. Throws: std::bad_alloc, where far memory refuses it, or the host an object.
    std::vector<spillable_buffer> halves(std::size_t unit = 1) const {
        std::vector<spillable_buffer> parts;
        if (unit == 0) unit = 1;
        if (bytes() / 2 < unit) return parts;
        std::unique_ptr<handle> first = handle_->sibling(), second = handle_->sibling();
        parts.reserve(2);
        if (!handle_->cut(bytes() / 2 / unit * unit, *first, *second)) return parts;
        parts.push_back(spillable_buffer{std::move(first)});
        parts.push_back(spillable_buffer{std::move(second)});
        return parts;
    }

  private:
    explicit spillable_buffer(std::unique_ptr<handle> h) noexcept : handle_(std::move(h)) {}

    static void check(const buffer& b, const buffer_home& near) noexcept {
        if (b.empty()) return;
        const auto report = [&](misuse what) { report_misuse({.kind = what, .heap = near.by.name()}); };
        if (b.charged() != &near.by) report(misuse::not_near);
        if (b.is_shared()) report(misuse::other_views);
        if (!b.host_access()) report(misuse::no_host_access);
    }
    [[noreturn]] ALLOT_COLD static void raise_moved_from() {
        report_misuse({.kind = misuse::moved_from});
        allot::raise(out_of_memory{
            "allot: pin() of a spillable buffer that was moved from", "", {.outcome = charge_outcome::misused}});
    }

    class handle final : public reclaimer {
      public:
        handle(buffer_home near, buffer_home far, std::uint32_t cost) noexcept
            : reclaimer("spillable buffers", cost), near_(near), far_(far) {}
        ~handle() {
            near_.by.remove(*this);
            if (ALLOT_CHECKED != 0 && pins_ != 0) report(misuse::living_pin);
        }
        void begin(buffer&& b, bool away = false) noexcept {
            data_ = std::move(b);
            size_ = data_.size();
            away_ = away;
            near_.by.add(*this); // requests that wait may ask for it
        }
        std::unique_ptr<handle> sibling() const { return std::make_unique<handle>(near_, far_, cost()); }
        // Begins the parts, cut behind `bytes`, away. False: it is pinned, and none began.
        bool cut(std::size_t bytes, handle& first, handle& second) {
            buffer there; // ends without the lock
            bool is_cut = false;
            bring(there, far_, [&] {
                const std::lock_guard hold(lock_);
                if (ALLOT_UNLIKELY(pins_ != 0)) return report(misuse::pinned_halves), true;
                if (!away_ && there) leave_locked(std::move(there));
                if (!away_) return false;
                first.begin(data_.slice(0, bytes), true);
                second.begin(data_.slice(bytes, size_ - bytes), true);
                return is_cut = true;
            });
            return is_cut;
        }
        std::size_t size() const noexcept { return size_; }
        const buffer& data() const noexcept { return data_; }
        bool is_away() const noexcept {
            const std::lock_guard hold(lock_);
            return away_;
        }
        void pin() {
            buffer other; // ends without the lock
            bring(other, near_, [&] { return pin_if_near(other); });
        }
        bool pin_if_near(buffer& other) noexcept {
            const std::lock_guard hold(lock_);
            if (away_ && !other) {
                const cost_cap calls_none{idle}; // several pins at once bring one copy back
                other = near_.memory.try_allocate(near_.by, size_);
            }
            if (away_ && other) {
                std::memcpy(other.data(), data_.data(), size_);
                std::swap(data_, other);
                away_ = false;
            }
            if (!away_) ++pins_;
            return !away_;
        }
        void unpin() noexcept {
            {
                const std::lock_guard hold(lock_);
                if (--pins_ != 0) return;
            }
            near_.by.notify_unused(); // requests that wait may ask for it
        }
        bool leave() noexcept {
            const std::unique_lock hold(lock_, std::try_to_lock);
            if (!hold || away_ || pins_ != 0 || size_ == 0) return false;
            buffer there = far_.memory.try_allocate(far_.by, size_);
            if (!there) return false;
            leave_locked(std::move(there));
            return true;
        }
        bool reclaim(const shortage&) noexcept override { return leave(); }
        std::size_t reclaimable() const noexcept override {
            const std::unique_lock hold(lock_, std::try_to_lock);
            return !hold || away_ || pins_ != 0 ? 0 : size_;
        }

      private:
        void report(misuse what) const noexcept { report_misuse({.kind = what, .heap = near_.by.name()}); }
        // Until done(), which takes the lock, takes memory for it, without the lock: it may wait. Where that is
        // refused, another thread may have done it.
        template <class Done> void bring(buffer& memory, const buffer_home& from, Done done) const {
            while (!done()) {
#if ALLOT_EXCEPTIONS
                try {
                    memory = from.allocate(size_);
                } catch (const out_of_memory&) {
                    if (!done()) throw;
                    return;
                }
#else
                memory = from.allocate(size_);
#endif
            }
        }
        void leave_locked(buffer there) noexcept {
            std::memcpy(there.data(), data_.data(), size_);
            data_ = std::move(there);
            away_ = true;
        }

        const buffer_home near_, far_;
        mutable std::mutex lock_;
        buffer data_;
        std::size_t size_ = 0;
        unsigned pins_ = 0;
        bool away_ = false;
    };
    std::unique_ptr<handle> handle_;
};
static_assert(spillable<spillable_buffer>);

} // namespace allot::inline ALLOT_ABI
