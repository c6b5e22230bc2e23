// Virtual memory of the simulated device: address space, memory without an address, and mappings between them.
//
// CUDA's rules, violations of which are errors:
//   - sizes are multiples of the granularity;
//   - a handle is mapped whole, and not over another mapping;
//   - access is set for whole mappings, and unmap() takes whole mappings;
//   - free_address() takes a whole reservation without mappings.
// Memory that is released while mapped lives until its last mapping ends. One handle at two addresses is one memory
// (pages of a memory file), but uses are tracked by address, so races between such aliases are not found. unmap()
// before the host has waited for the users is a hazard. Threads: any; calls hold mutex_.
#pragma once

#include <allot/config.hpp>
#include <allot/core/bits.hpp>
#include <allot/device/simulator/memory.hpp>
#include <allot/sys/memory_file.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace allot::inline ALLOT_ABI {
namespace device::detail::sim {

struct physical {
    std::size_t bytes = 0;
    std::size_t offset = 0; // in the memory file
    std::uint32_t mapped = 0;
    int device = 0;
    bool released = false;
};

class mapping_layer : public memory_layer {
  public:
    using memory_type = handle<physical>;

    explicit mapping_layer(const simulator_options& options) : memory_layer{options} {}
    ALLOT_OUTLINE_WARM ~mapping_layer() {
        for (const auto& [start, bytes] : reserved_) allot::detail::sys::unmap(reinterpret_cast<void*>(start), bytes);
    }

    result<std::size_t> granularity(device_id device) {
        const entry in{*this, call::granularity};
        if (in.refused()) return in.error();
        if (!is_device(device.index)) return in.fail(failure::invalid_device);
        if (!options_.virtual_memory) return in.fail(failure::not_supported);
        return options_.granularity;
    }
    ALLOT_OUTLINE_WARM result<void*> reserve(device_id device, std::size_t bytes, std::size_t alignment) {
        const entry in{*this, call::reserve};
        if (in.refused()) return in.error();
        if (!is_device(device.index)) return in.fail(failure::invalid_device);
        if (!options_.virtual_memory) return in.fail(failure::not_supported);
        if (!whole(bytes) || (alignment != 0 && !allot::detail::is_power_of_two(alignment)))
            return in.fail(failure::invalid_value);
        std::byte* const p =
            allot::detail::sys::reserve(bytes, alignment > options_.granularity ? alignment : options_.granularity);
        if (p == nullptr) return in.fail(failure::out_of_memory);
        reserved_.emplace(at(p), bytes);
        return static_cast<void*>(p);
    }
    ALLOT_OUTLINE_WARM result<> free_address(void* p, std::size_t bytes) {
        const entry in{*this, call::free_address};
        if (in.refused()) return in.error();
        const auto it = reserved_.find(at(p));
        if (it == reserved_.end() || it->second != bytes || overlaps(at(p), bytes))
            return in.fail(failure::invalid_value);
        reserved_.erase(it);
        allot::detail::sys::unmap(p, bytes);
        return {};
    }
    ALLOT_OUTLINE_WARM result<memory_type> create(device_id device, std::size_t bytes) {
        const entry in{*this, call::create};
        if (in.refused()) return in.error();
        if (!is_device(device.index)) return in.fail(failure::invalid_device);
        if (!options_.virtual_memory) return in.fail(failure::not_supported);
        if (!whole(bytes)) return in.fail(failure::invalid_value);
        if (refused_by_capture()) return in.fail(failure::not_permitted_in_capture);
        if (!charge(device.index, bytes)) return in.fail(failure::out_of_memory);
        std::size_t offset = 0;
        if (!take_part(bytes, offset)) {
            refund(device.index, bytes);
            return in.fail(failure::out_of_memory);
        }
        const memory_type handle = physicals_.insert();
        *physicals_.find(handle) = {bytes, offset, 0, device.index, false};
        return handle;
    }
    ALLOT_OUTLINE_WARM result<> release(memory_type handle) {
        const entry in{*this, call::release};
        if (in.refused()) return in.error();
        physical* const m = physicals_.find(handle);
        if (m == nullptr || m->released) return in.fail(failure::invalid_handle);
        if (refused_by_capture()) return in.fail(failure::not_permitted_in_capture);
        m->released = true;
        end_if_unused(handle);
        return {};
    }
    ALLOT_OUTLINE_WARM result<> map(void* p, memory_type handle, std::size_t bytes) {
        const entry in{*this, call::map};
        if (in.refused()) return in.error();
        physical* const m = physicals_.find(handle);
        if (m == nullptr || m->released) return in.fail(failure::invalid_handle);
        if (bytes != m->bytes || !allot::detail::is_aligned(at(p), options_.granularity) ||
            !is_reserved(at(p), bytes) || overlaps(at(p), bytes))
            return in.fail(failure::invalid_value);
        if (refused_by_capture()) return in.fail(failure::not_permitted_in_capture);
        if (backed() && !file_.map(p, bytes, m->offset)) return in.fail(failure::out_of_memory);
        ++m->mapped;
        mapping& now = mappings_[at(p)] = {{at(p), bytes, 0, 0, 0, m->device, region_kind::mapped}, handle};
        uses_.insert(now.of, {"map", 0, host});
        return {};
    }
    /// Requires: the range is whole mappings.
    ALLOT_OUTLINE_WARM result<> set_access(void* p, std::size_t bytes, device_id device, access rights) {
        const entry in{*this, call::set_access};
        if (in.refused()) return in.error();
        if (!is_device(device.index)) return in.fail(failure::invalid_device);
        if (!covers_whole_mappings(at(p), bytes)) return in.fail(failure::invalid_value);
        if (refused_by_capture()) return in.fail(failure::not_permitted_in_capture);
        for (auto it = mappings_.find(at(p)); it != mappings_.end() && it->first < at(p) + bytes; ++it) {
            region& r = it->second.of;
            if (r.device != device.index && !options_.peers) return in.fail(failure::not_supported);
            const std::uint64_t one = bit(device.index);
            const std::uint64_t readers = rights == access::none ? r.readers & ~one : r.readers | one;
            if (backed() && !file_.protect(reinterpret_cast<void*>(r.begin), r.bytes, readers != 0))
                return in.fail(failure::out_of_memory);
            r.readers = readers;
            r.writers = rights != access::read_write ? r.writers & ~one : r.writers | one;
        }
        return {};
    }
    ALLOT_OUTLINE_WARM result<> unmap(void* p, std::size_t bytes) {
        const entry in{*this, call::unmap};
        if (in.refused()) return in.error();
        if (!covers_whole_mappings(at(p), bytes)) return in.fail(failure::invalid_value);
        if (refused_by_capture()) return in.fail(failure::not_permitted_in_capture);
        remove_range(at(p), bytes, host_operation("unmap"));
        if (delayed())
            for (stream_state& s : streams_) drain(s); // so that no queued work uses unmapped memory
        for (auto it = mappings_.find(at(p)); it != mappings_.end() && it->first < at(p) + bytes;
             it = mappings_.erase(it)) {
            if (backed()) file_.unmap(reinterpret_cast<void*>(it->first), it->second.of.bytes);
            --physicals_.find(it->second.handle)->mapped;
            end_if_unused(it->second.handle);
        }
        return {};
    }

  protected:
    bool is_reserved(address start, std::size_t bytes) const {
        auto it = reserved_.upper_bound(start);
        return it != reserved_.begin() && bytes <= (--it)->second && start - it->first <= it->second - bytes;
    }

    struct mapping {
        region of;
        memory_type handle;
    };
    std::map<address, std::size_t> reserved_;
    std::map<address, mapping> mappings_;
    slot_table<physical> physicals_;

  private:
    bool whole(std::size_t bytes) const noexcept { return bytes != 0 && bytes % options_.granularity == 0; }
    bool overlaps(address start, std::size_t bytes) const {
        const auto it = mappings_.lower_bound(start + bytes);
        return it != mappings_.begin() && std::prev(it)->first + std::prev(it)->second.of.bytes > start;
    }
    bool covers_whole_mappings(address start, std::size_t bytes) const {
        const address end = start + bytes;
        for (auto it = mappings_.find(start); it != mappings_.end() && it->first == start && start < end; ++it)
            start += it->second.of.bytes;
        return bytes != 0 && start == end;
    }

    // A part of the memory file; freed parts are reused at the same size.
    bool take_part(std::size_t bytes, std::size_t& offset) {
        if (!backed()) return true;
        auto& parts = free_parts_[bytes];
        if (!parts.empty()) {
            offset = parts.back();
            parts.pop_back();
            return true;
        }
        offset = file_end_;
        if (!file_.open() || !file_.grow(file_end_ + bytes)) return false;
        file_end_ += bytes;
        return true;
    }
    void end_if_unused(memory_type handle) {
        physical& m = *physicals_.find(handle);
        if (!m.released || m.mapped != 0) return;
        if (backed()) {
            file_.forget(m.offset, m.bytes);
            free_parts_[m.bytes].push_back(m.offset);
        }
        refund(m.device, m.bytes);
        physicals_.erase(handle);
    }

    allot::detail::sys::memory_file file_;
    std::size_t file_end_ = 0;
    std::unordered_map<std::size_t, std::vector<std::size_t>> free_parts_;
};

} // namespace device::detail::sim
} // namespace allot::inline ALLOT_ABI
