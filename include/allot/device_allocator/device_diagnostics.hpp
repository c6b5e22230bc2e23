// Reports of a device allocator: the last error of the device, misuse, and leaks at its end.
//
// Invariant: the last error is that of the last device call that failed, on any thread.
// Cost: 80 bytes (88 in checked builds), and a lock per failure.
// Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/error.hpp>
#include <allot/core/text.hpp>
#include <allot/core/type_name.hpp>
#include <allot/device/error.hpp>
#include <allot/device/result.hpp>
#include <allot/request/memory_request.hpp>
#include <allot/request/shared_level.hpp>
#include <allot/sync/lock_guard.hpp>
#include <allot/sys/mutex.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {
namespace detail {

template <class Set> class device_diagnostics {
  public:
    device_diagnostics(const char* name, const leak_sink& leaks, shared_level& device) noexcept
        : name_(name), leaks_(leaks), device_(device) {}

    const char* name() const noexcept { return name_; }
    // Of the device: requests that it, or the limit of the allocator, refuses wait there.
    shared_level& level() const noexcept { return device_; }
    static const char* set_name() noexcept { return type_name_c_str<Set>(); }

    void set_last_error(const device::error& e) noexcept {
        const lock_guard hold{lock_};
        last_error_ = e;
    }
    device::error last_error() const noexcept {
        const lock_guard hold{lock_};
        return last_error_;
    }
    void refuse(memory_request& asked, charge_outcome why, refuser by, std::size_t bytes, std::size_t used = 0,
                std::size_t most = SIZE_MAX) const noexcept {
        asked.refuse({why, {}, by, 0, nullptr, bytes, used, most, name_}, &device_);
    }
    // Refuses a request whose stream the device refused: a wrong handle, or a device that fails.
    void refuse_stream(memory_request& asked) const noexcept {
        if (last_error().kind == device::failure::invalid_handle)
            asked.refuse(charge_outcome::misused, asked.bytes, "the stream is not a live one");
        else refuse(asked, charge_outcome::no_memory, refuser::device, asked.bytes);
    }
    // For calls that return memory, whose error has no caller to go to: writes a failure to the leak sink.
    void report_failure(const device::result<>& r) noexcept {
        if (r) return;
        set_last_error(r.error());
        char line[256];
        text_writer out{line};
        headline(out).put(": ");
        write(out, r.error());
        out.newline();
        leaks_.write(leaks_.context, out.view());
    }
    void report_live(std::size_t blocks, std::size_t bytes) noexcept {
        if (blocks == 0) return;
        char page[512];
        text_writer out{page};
        headline(out).put(" ended with ").number(blocks).put(" blocks of ").bytes(bytes).put(" not freed").newline();
        leaks_.write(leaks_.context, out.view());
    }
    void report_misused(misuse kind, const void* p) const noexcept {
        report_misuse({.kind = kind, .set = set_name(), .heap = name_, .address = p});
    }

  private:
    text_writer& headline(text_writer& out) const noexcept {
        return out.put("allot: device allocator ").brief(name_).put(" (set ").put(set_name()).put(")");
    }

    const char* name_;
    leak_sink leaks_;
    shared_level& device_;
    mutable sys::mutex lock_{lock_rank::leaf};
    device::error last_error_{};
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
