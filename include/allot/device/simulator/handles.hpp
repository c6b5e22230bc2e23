// Handles of the simulated device, and the tables that they index.
//
// A slot is reused with another generation after its object is destroyed, so a stale handle is an invalid_handle error.
// Streams are never reused: their number is their id. Cost: 8 bytes per handle; find O(1). Threads: one at a time.
#pragma once

#include <allot/config.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace allot::inline ALLOT_ABI {
namespace device {
namespace detail {

/// A stream. The default value is the legacy default stream of the current device, as a null cudaStream_t is.
struct simulated_stream {
    std::uint32_t index = 0;

    friend constexpr bool operator==(simulated_stream, simulated_stream) noexcept = default;
};

} // namespace detail

namespace detail::sim {

template <class Tag> struct handle {
    std::uint32_t index = 0;
    std::uint32_t generation = 0; // 0: no object

    friend constexpr bool operator==(handle, handle) noexcept = default;
};

// Objects do not move. A reused slot keeps the memory of its last object, such as that of a clock.
template <class T> class slot_table {
  public:
    using handle_type = handle<T>;

    handle_type insert() {
        std::uint32_t index;
        if (!free_.empty()) {
            index = free_.back();
            free_.pop_back();
        } else {
            index = static_cast<std::uint32_t>(slots_.size());
            slots_.emplace_back();
        }
        slots_[index].used = true;
        ++used_;
        return {index, ++slots_[index].generation};
    }
    T* find(handle_type h) noexcept {
        if (h.index >= slots_.size()) return nullptr;
        slot& s = slots_[h.index];
        return s.used && s.generation == h.generation ? &s.object : nullptr;
    }
    void erase(handle_type h) {
        slots_[h.index].used = false;
        --used_;
        free_.push_back(h.index);
    }
    std::size_t size() const noexcept { return used_; }
    template <class Visit> void each(Visit&& visit) {
        for (std::uint32_t i = 0; i != slots_.size(); ++i)
            if (slots_[i].used) visit(handle_type{i, slots_[i].generation}, slots_[i].object);
    }

  private:
    struct slot {
        T object{};
        std::uint32_t generation = 0;
        bool used = false;
    };
    std::deque<slot> slots_;
    std::vector<std::uint32_t> free_;
    std::size_t used_ = 0;
};

} // namespace detail::sim
} // namespace device
} // namespace allot::inline ALLOT_ABI
