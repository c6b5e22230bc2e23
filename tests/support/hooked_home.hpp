// A home in the host's heap that a test watches: what it is called for, what happens inside a call, and which one
// fails.
#pragma once

#include <allot/account/account.hpp>
#include <allot/spill/home.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace support {

class hooked_home final : public allot::home {
  public:
    using status = allot::home_status;
    static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

    // Bytes that are not in one piece pass in pieces of so many, as through staging.
    explicit hooked_home(allot::account& by, bool keeps_copies = true, std::size_t in_pieces_of = never) noexcept
        : home(by, keeps_copies), piece_(in_pieces_of) {}

    // Called inside each call, on its thread. One that returns false has the call fail.
    std::function<bool()> in_write, in_read;
    // That call fails, or is refused, counted from 0 and from now on.
    std::atomic<std::size_t> fail_write{never}, fail_read{never}, refuse_write{never};
    std::atomic<bool> is_full{false}, has_no_room{false}; // for bytes; for new records
    std::atomic<int> error{EIO};                          // of writes that fail
    std::atomic<std::size_t> writes{0}, reads{0}, drops{0}, records{0};

  private:
    struct kept final : record {
        using record::record;
        std::vector<std::byte> bytes;
    };
    static kept& of(record& r) noexcept { return static_cast<kept&>(r); }
    static status fails(const char* call, int error = 0) noexcept {
        return {.how = status::outcome::failed, .error = error, .call = call, .file = "hooked"};
    }
    static bool is_due(std::atomic<std::size_t>& n) noexcept { return n != never && n-- == 0; }
    // As a function of the test would: once, and it may set another one meanwhile.
    static bool passes(const std::function<bool()>& hook) {
        const std::function<bool()> now = hook;
        return !now || now();
    }
    template <class Byte, class Move> bool in_pieces(std::span<Byte> all, Move move) const {
        for (std::size_t at = 0; at != all.size();) {
            const std::size_t n = std::min(piece_, all.size() - at);
            if (!move(all.subspan(at, n))) return false;
            at += n;
        }
        return true;
    }

    record* reserve(std::size_t bytes) noexcept override {
        if (has_no_room) return nullptr;
        ++records;
        return new kept{bytes};
    }
    status write(record& to, allot::byte_source& from) noexcept override {
        ++writes;
        const bool is_refused = is_full || is_due(refuse_write), fails_late = !passes(in_write) || is_due(fail_write);
        if (is_refused) return {.how = status::outcome::refused, .why = {.outcome = allot::charge_outcome::over_limit}};
        status s;
        s.why = by().try_charge(from.bytes);
        if (!s.why) return s.how = status::outcome::refused, s;
        std::vector<std::byte>& all = of(to).bytes;
        all.resize(from.bytes);
        if (from.data != nullptr) std::memcpy(all.data(), from.data, from.bytes);
        const bool is_copied = from.data != nullptr || in_pieces(std::span(all), [&](auto p) { return from.next(p); });
        if (is_copied && !fails_late) return {};
        drop(to);
        return is_copied ? fails("write", error) : fails("copy");
    }
    status read(record& from, std::size_t offset, allot::byte_sink& to) noexcept override {
        ++reads;
        const bool fails_halfway = !passes(in_read) || is_due(fail_read);
        const auto all =
            std::span<const std::byte>(of(from).bytes).subspan(offset, fails_halfway ? to.bytes / 2 : to.bytes);
        if (to.data != nullptr) std::memcpy(to.data, all.data(), all.size());
        else if (!in_pieces(all, [&](auto p) { return to.next(p); })) return fails("copy");
        return fails_halfway ? fails("read", EIO) : status{};
    }
    void drop(record& r) noexcept override {
        ++drops;
        by().refund(of(r).bytes.size());
        of(r).bytes = {};
    }
    void end(record& r) noexcept override {
        --records;
        delete &of(r);
    }

    const std::size_t piece_;
};

} // namespace support
