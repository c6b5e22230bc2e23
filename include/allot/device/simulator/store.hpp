// Addresses of plain, stream-ordered and pinned memory, backed by host memory.
//
// Addresses stay readable until the simulator is destroyed, so that work that runs too late reads poison and does not
// fault. A free block keeps the use that freed it, and is reused only by operations that are ordered after that use, so
// reuse adds no order. Blocks are reused at the same rounded size and never split. Threads: one at a time.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/device/simulator/clock.hpp>
#include <allot/sys/map.hpp>

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace allot::inline ALLOT_ABI {
namespace device::detail::sim {

class store {
  public:
    static constexpr std::size_t alignment = 512;

    store() = default;
    store(const store&) = delete;
    store& operator=(const store&) = delete;
    ~store() {
        for (const chunk& c : chunks_) allot::detail::sys::unmap(c.start, c.bytes);
    }

    static std::size_t rounded(std::size_t bytes) noexcept {
        return allot::detail::align_up(bytes, bytes > std::size_t{1} << 20 ? std::size_t{64} << 10 : alignment);
    }

    // Requires: bytes is rounded(). Null: no address space.
    std::byte* take(std::size_t bytes, const vector_clock& clock, bool backed) {
        auto& list = free_[bytes];
        for (std::size_t i = list.size(), looks = 0; i != 0 && looks != 8; ++looks) {
            const block b = list[--i];
            if (!clock.knows(b.freed.who, b.freed.when)) continue;
            list[i] = list.back();
            list.pop_back();
            return b.start;
        }
        if (bytes > left_ && !grow(bytes, backed)) return nullptr;
        std::byte* const p = next_;
        next_ += bytes;
        left_ -= bytes;
        return p;
    }
    bool has(const void* p) const noexcept {
        for (const chunk& c : chunks_)
            if (reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(c.start) < c.bytes) return true;
        return false;
    }
    void give(std::byte* p, std::size_t bytes, const use& freed) { free_[bytes].push_back({p, freed}); }

  private:
    struct chunk {
        std::byte* start;
        std::size_t bytes;
    };
    struct block {
        std::byte* start;
        use freed;
    };

    bool grow(std::size_t least, bool backed) {
        constexpr std::size_t usual = std::size_t{256} << 20;
        const std::size_t bytes = least > usual ? least : usual;
        std::byte* const p = allot::detail::sys::reserve(bytes, std::size_t{2} << 20);
        if (p == nullptr) return false;
        if (backed && !allot::detail::sys::commit(p, bytes)) {
            allot::detail::sys::unmap(p, bytes);
            return false;
        }
        chunks_.push_back({p, bytes});
        next_ = p;
        left_ = bytes;
        return true;
    }

    std::vector<chunk> chunks_;
    std::unordered_map<std::size_t, std::vector<block>> free_;
    std::byte* next_ = nullptr;
    std::size_t left_ = 0;
};

} // namespace device::detail::sim
} // namespace allot::inline ALLOT_ABI
