// What a device allocator adds to the ladder (request/ladder.hpp): where the device has no more memory, the device's
// other allocators, of any account.
//
// Invariant: an allocator is a tenant of its device during its life. Cost: a level per kind of api and device number;
// calls only after a refusal by the device. Threads: the request's own.
#pragma once

#include <allot/config.hpp>
#include <allot/device/id.hpp>
#include <allot/request/ladder.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/request/shared_level.hpp>
#include <allot/request/tenant.hpp>
#include <allot/sys/thread_context.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

// A device: its tenants are the device allocators of the process whose sets have ledger::tree. Devices whose numbers
// differ by 16 share a level.
template <class Api> shared_level& level_of(device_id device) noexcept {
    struct a_device : shared_level {
        a_device() noexcept : shared_level("a device", true) {}
    };
    static a_device all[16];
    return all[static_cast<unsigned>(device.index) % 16];
}

class device_steps {
  public:
    static constexpr bool any = true;

    device_steps(shared_level& of, const tenant& own) noexcept : device_(of), own_(own) {}

    static climbed return_idle(const memory_request&) noexcept { return climbed::moved_on; }
    // Once for each refusal by the device.
    climbed ask_arena(const memory_request& asked) noexcept {
        asked_ = !asked_ && asked.why.by == refuser::device;
        std::size_t bytes = 0;
        if (asked_)
            device_.each_tenant([&](tenant& t) {
                if (&t != &own_) bytes += t.return_idle(SIZE_MAX, of_this_thread.trying != nullptr);
            });
        return bytes != 0 ? climbed::served : (asked_ = false, climbed::moved_on);
    }
    static climbed wait_for_moves(const memory_request&) noexcept { return climbed::moved_on; }

  private:
    shared_level& device_;
    const tenant& own_;
    bool asked_ = false;
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
