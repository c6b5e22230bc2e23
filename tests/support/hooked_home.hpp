// A home in the host's heap that a test watches: what it is called for, and what happens inside a call.
#pragma once

#include <allot/account/account.hpp>
#include <allot/spill/home.hpp>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

namespace support {

class hooked_home final : public allot::home {
  public:
    explicit hooked_home(allot::account& by, bool keeps_copies = true) noexcept : home(by, keeps_copies) {}

    // Called inside each call, on its thread. One that returns false has the call fail with EIO.
    std::function<bool()> in_write, in_read;
    std::size_t writes = 0, reads = 0, drops = 0, records = 0;
    bool has_no_room = false; // for new records

  private:
    struct kept final : record {
        using record::record;
        std::vector<std::byte> bytes;
    };
    static kept& of(record& r) noexcept { return static_cast<kept&>(r); }
    static allot::home_status fails(const char* call) noexcept {
        return {.how = allot::home_status::outcome::failed, .error = EIO, .call = call, .file = "hooked"};
    }
    // As a function of the test would: once, and it may set another one meanwhile.
    static bool passes(std::function<bool()>& hook) {
        const std::function<bool()> now = hook;
        return !now || now();
    }

    record* reserve(std::size_t bytes) noexcept override {
        if (has_no_room) return nullptr;
        ++records;
        return new kept{bytes};
    }
    allot::home_status write(record& to, allot::byte_source& from) noexcept override {
        ++writes;
        allot::home_status s;
        if (!passes(in_write)) return fails("write");
        s.why = by().try_charge(from.bytes);
        if (!s.why) return s.how = allot::home_status::outcome::refused, s;
        of(to).bytes.resize(from.bytes);
        if (from.data != nullptr) std::memcpy(of(to).bytes.data(), from.data, from.bytes);
        else if (!from.next(of(to).bytes)) return drop(to), fails("write");
        return s;
    }
    allot::home_status read(record& from, std::size_t offset, allot::byte_sink& to) noexcept override {
        ++reads;
        if (!passes(in_read)) return fails("read");
        const auto all = std::span(of(from).bytes).subspan(offset, to.bytes);
        if (to.data != nullptr) std::memcpy(to.data, all.data(), all.size());
        else if (!to.next(all)) return fails("read");
        return {};
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
};

} // namespace support
