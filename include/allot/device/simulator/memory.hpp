// Memory of the simulated device: allocations, the rights to use them, and their last uses.
//
// Plain and pinned memory is freed as in CUDA, after a wait for the device; stream-ordered memory in stream order. An
// allocator that cuts blocks out of a segment marks them, so that a use after free, a double free, and reuse on a
// stream that is not ordered after the free are found. Cost: see uses.hpp. Threads: any; calls hold mutex_.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>
#include <allot/device/id.hpp>
#include <allot/device/properties.hpp>
#include <allot/device/result.hpp>
#include <allot/device/simulator/store.hpp>
#include <allot/device/simulator/streams.hpp>
#include <allot/device/simulator/uses.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <unordered_map>

namespace allot::inline ALLOT_ABI {
namespace device::detail::sim {

class memory_layer : public stream_layer {
  public:
    explicit memory_layer(const simulator_options& options) : stream_layer{options} {}

    ALLOT_OUTLINE_WARM result<void*> allocate(device_id device, std::size_t bytes) {
        const entry in{*this, call::allocate};
        if (in.refused()) return in.error();
        if (!is_device(device.index)) return in.fail(failure::invalid_device);
        if (refused_by_capture()) return in.fail(failure::not_permitted_in_capture);
        return new_region(in, device.index, bytes, region_kind::plain, {"allocate", 0, host}, host_clock_);
    }
    /// Waits for the whole device, then frees plain or stream-ordered memory.
    ALLOT_OUTLINE_WARM result<> deallocate(device_id device, void* p) {
        const entry in{*this, call::deallocate};
        if (in.refused()) return in.error();
        if (!is_device(device.index)) return in.fail(failure::invalid_device);
        if (p == nullptr) return {};
        if (refused_by_capture()) return in.fail(failure::not_permitted_in_capture);
        region* const r = region_at(p);
        if (r == nullptr || r->kind == region_kind::pinned || r->device != device.index)
            return in.fail(failure::invalid_value);
        wait_for_device(device.index);
        end_region(*r, host_operation("deallocate"));
        return {};
    }
    ALLOT_OUTLINE_WARM result<void*> allocate_async(std::size_t bytes, stream_type stream) {
        const entry in{*this, call::allocate_async};
        if (in.refused()) return in.error();
        stream_state* const s = find(stream);
        if (s == nullptr) return in.fail(failure::invalid_handle);
        if (!options_.memory_pools || captures_.find(s->capture) != nullptr) return in.fail(failure::not_supported);
        if (const int code = implicit_capture(*s)) return in.fail(failure::not_permitted_in_capture, code);
        const use now = begin_operation(*s, "allocate_async");
        return new_region(in, s->device, bytes, region_kind::pooled, now, s->clock);
    }
    ALLOT_OUTLINE_WARM result<> deallocate_async(void* p, stream_type stream) {
        const entry in{*this, call::deallocate_async};
        if (in.refused()) return in.error();
        stream_state* const s = find(stream);
        if (s == nullptr) return in.fail(failure::invalid_handle);
        if (p == nullptr) return {};
        if (captures_.find(s->capture) != nullptr) return in.fail(failure::not_supported);
        if (const int code = implicit_capture(*s)) return in.fail(failure::not_permitted_in_capture, code);
        region* const r = region_at(p);
        if (r == nullptr || r->kind != region_kind::pooled) return in.fail(failure::invalid_value);
        const use now = begin_operation(*s, "deallocate_async");
        check(*s, p, r->bytes, intent::free, now);
        poison(*s, p, r->bytes);
        end_region(*r, now);
        return {};
    }
    ALLOT_OUTLINE_WARM result<void*> allocate_pinned(std::size_t bytes) {
        const entry in{*this, call::allocate_pinned};
        if (in.refused()) return in.error();
        if (refused_by_capture()) return in.fail(failure::not_permitted_in_capture);
        return new_region(in, 0, bytes, region_kind::pinned, {"allocate_pinned", 0, host}, host_clock_);
    }
    ALLOT_OUTLINE_WARM result<> deallocate_pinned(void* p) {
        const entry in{*this, call::deallocate_pinned};
        if (in.refused()) return in.error();
        if (p == nullptr) return {};
        if (refused_by_capture()) return in.fail(failure::not_permitted_in_capture);
        region* const r = region_at(p);
        if (r == nullptr || r->kind != region_kind::pinned) return in.fail(failure::invalid_value);
        wait_for_all();
        end_region(*r, host_operation("deallocate_pinned"));
        return {};
    }

    /// Marks a block as live from this point of the stream; uses of it must be ordered after this point.
    void mark_allocated(const void* p, std::size_t bytes, stream_type stream) {
        mark(p, bytes, stream, intent::allocate, "mark_allocated");
    }
    /// Marks a block as free from this point of the stream; its next mark_allocated() must be ordered after this point.
    void mark_freed(const void* p, std::size_t bytes, stream_type stream) {
        mark(p, bytes, stream, intent::free, "mark_freed");
    }

    result<int> device_count() {
        const entry in{*this, call::device_count};
        if (in.refused()) return in.error();
        return options_.devices;
    }
    ALLOT_OUTLINE_WARM result<properties> properties_of(device_id device) {
        const entry in{*this, call::properties};
        if (in.refused()) return in.error();
        if (!is_device(device.index)) return in.fail(failure::invalid_device);
        properties p{};
        text_writer{p.name}.put("simulated device ").number(static_cast<std::uint64_t>(device.index));
        p.total_bytes = options_.total_bytes;
        p.granularity = options_.virtual_memory ? options_.granularity : 0;
        p.virtual_memory = options_.virtual_memory;
        p.memory_pools = options_.memory_pools;
        return p;
    }
    result<memory_stats> memory_of(device_id device) {
        const entry in{*this, call::memory};
        if (in.refused()) return in.error();
        if (!is_device(device.index)) return in.fail(failure::invalid_device);
        return memory_stats{options_.total_bytes - devices_[static_cast<std::size_t>(device.index)].used,
                            options_.total_bytes};
    }
    result<bool> can_access_peer(device_id device, device_id peer) {
        const entry in{*this, call::can_access_peer};
        if (in.refused()) return in.error();
        if (!is_device(device.index) || !is_device(peer.index)) return in.fail(failure::invalid_device);
        return options_.peers && device != peer;
    }
    ALLOT_OUTLINE_WARM result<> enable_peer(device_id device, device_id peer) {
        const entry in{*this, call::enable_peer};
        if (in.refused()) return in.error();
        if (!is_device(device.index) || !is_device(peer.index) || device == peer)
            return in.fail(failure::invalid_device);
        if (!options_.peers) return in.fail(failure::not_supported);
        devices_[static_cast<std::size_t>(device.index)].peers |= bit(peer.index);
        return {};
    }

  protected:
    static address at(const void* p) noexcept { return reinterpret_cast<address>(p); }
    static constexpr std::uint64_t bit(int device) noexcept { return std::uint64_t{1} << device; }
    bool backed() const noexcept { return options_.execution != execution::none; }

    // Counts bytes of a device's memory. False, and nothing changes, if they exceed its total.
    bool charge(int device, std::size_t bytes) noexcept {
        std::size_t& used = devices_[static_cast<std::size_t>(device)].used;
        if (bytes > options_.total_bytes - used) return false;
        used += bytes;
        return true;
    }
    void refund(int device, std::size_t bytes) noexcept { devices_[static_cast<std::size_t>(device)].used -= bytes; }

    bool may_use(const region& r, int device, intent what) const noexcept {
        switch (r.kind) {
        case region_kind::pinned: return true;
        case region_kind::mapped: return ((what == intent::read ? r.readers : r.writers) >> device & 1) != 0;
        case region_kind::pooled: return r.device == device;
        default: return r.device == device || (devices_[static_cast<std::size_t>(device)].peers >> r.device & 1) != 0;
        }
    }

    // Reports what a check of uses finds.
    struct hazard_reporter {
        memory_layer* machine;
        use now;

        ALLOT_OUTLINE_WARM void operator()(hazard_kind kind, address from, address to, const use& earlier) const {
            machine->report({kind, reinterpret_cast<const void*>(from), to - from, machine->operation_of(now),
                             machine->operation_of(earlier), machine->event_recorded_after(earlier)});
        }
    };

    // Checks a use by an operation of a stream. False: it must not run.
    bool check(stream_state& s, const void* p, std::size_t bytes, intent what, const use& now) {
        return uses_.access(
            at(p), at(p) + bytes, what, now, s.clock, [&](const region& r) { return may_use(r, s.device, what); },
            hazard_reporter{this, now});
    }
    // The same for a use by the host, which may use pinned memory only.
    bool check_host(const void* p, std::size_t bytes, intent what, const use& now) {
        return uses_.access(
            at(p), at(p) + bytes, what, now, host_clock_, [](const region& r) { return r.kind == region_kind::pinned; },
            hazard_reporter{this, now});
    }
    // The same for a copy: copies between devices need no peer access, but mapped memory needs a right of some device.
    bool check_copy(stream_state& s, const void* p, std::size_t bytes, intent what, const use& now) {
        return uses_.access(
            at(p), at(p) + bytes, what, now, s.clock,
            [&](const region& r) {
                return r.kind != region_kind::mapped || (what == intent::read ? r.readers : r.writers) != 0;
            },
            hazard_reporter{this, now});
    }

    void poison(stream_state& s, void* p, std::size_t bytes) {
        if (options_.poison && backed()) submit(s, [p, bytes] { std::memset(p, poison_byte, bytes); });
    }

    // Removes the intervals of a range, and reports the first use that the host has not waited for.
    void remove_range(address begin, std::size_t bytes, const use& now) {
        bool reported = false;
        uses_.erase(begin, begin + bytes, [&](address from, address to, const use& u) {
            if (reported || host_clock_.knows(u.who, u.when)) return;
            reported = true;
            hazard_reporter{this, now}(hazard_kind::unmapped_while_used, from, to, u);
        });
    }

    use_map uses_;
    store store_;
    std::unordered_map<address, region> regions_; // plain, pooled and pinned regions by address

  private:
    region* region_at(const void* p) {
        const auto it = regions_.find(at(p));
        return it != regions_.end() ? &it->second : nullptr;
    }
    ALLOT_OUTLINE_WARM result<void*> new_region(const entry& in, int device, std::size_t bytes, region_kind kind,
                                                const use& first, const vector_clock& clock) {
        if (bytes == 0) return static_cast<void*>(nullptr);
        if (bytes > options_.total_bytes) return in.fail(failure::out_of_memory);
        const std::size_t held = store::rounded(bytes);
        const bool on_device = kind != region_kind::pinned;
        if (on_device && !charge(device, held)) return in.fail(failure::out_of_memory);
        std::byte* const p = store_.take(held, clock, backed());
        if (p == nullptr) {
            if (on_device) refund(device, held);
            return in.fail(failure::out_of_memory);
        }
        const region& r = regions_[at(p)] = {at(p), bytes, held, 0, 0, device, kind};
        uses_.insert(r, first);
        return static_cast<void*>(p);
    }
    void end_region(region& r, const use& now) {
        uses_.erase(r.begin, r.begin + r.bytes, [](address, address, const use&) {}); // waited for, or checked
        auto* const p = reinterpret_cast<std::byte*>(r.begin);
        if (options_.poison && backed() && now.who == host) std::memset(p, poison_byte, r.bytes);
        store_.give(p, r.held, now);
        if (r.kind != region_kind::pinned) refund(r.device, r.held);
        regions_.erase(r.begin);
    }

    ALLOT_OUTLINE_WARM void mark(const void* p, std::size_t bytes, stream_type stream, intent what, const char* name) {
        const std::lock_guard lock{mutex_};
        stream_state* const s = find(stream);
        if (s == nullptr || bytes == 0) return;
        if (captures_.find(s->capture) !=
            nullptr) { // a launch of the graph orders it, possibly before all work of streams so far
            const auto anyone = [](const region&) { return true; };
            const use now = host_operation(name);
            const hazard_reporter reporter{this, {name, 0, s->self()}};
            if (what == intent::allocate) uses_.access(at(p), at(p) + bytes, what, now, host_clock_, anyone, reporter);
            else uses_.access(at(p), at(p) + bytes, what, now, knows_all{}, anyone, reporter);
            return;
        }
        const use now = begin_operation(*s, name);
        const bool usable = check(*s, p, bytes, what, now);
        if (what == intent::free && usable) poison(*s, const_cast<void*>(p), bytes);
    }
};

} // namespace device::detail::sim
} // namespace allot::inline ALLOT_ABI
