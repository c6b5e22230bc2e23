// Collects what a manager tells of damage, so that a test can look at it and go on.
#pragma once

#include <allot/row_manager.hpp>
#include <allot/sys/poison.hpp>

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

class damage_log {
  public:
    struct entry {
        allot::misuse kind;
        std::string set, heap, type;
        const void* address;
    };

    allot::damage_sink sink() { return {&damage_log::write, this}; }
    std::vector<entry> all;

    // Exactly one entry since the last look, of this kind and address; the names are the caller's to look at.
    bool one(allot::misuse kind, const void* address) {
        const bool good = all.size() == 1 && all[0].kind == kind && all[0].address == address;
        last = all.empty() ? entry{} : all.back();
        all.clear();
        return good;
    }
    bool none() const { return all.empty(); }
    entry last{};

  private:
    static void write(void* context, const allot::misuse_report& report) noexcept {
        auto& self = *static_cast<damage_log*>(context);
        const std::lock_guard hold(self.lock_);
        self.all.push_back({report.kind, report.set, report.heap, report.type, report.address});
    }
    std::mutex lock_;
};

// Writes where a free row lies, as a stray pointer would: past the checkers that see poisoned memory.
inline void stray_write(void* at, const void* from, std::size_t bytes) {
    allot::detail::sys::write_poisoned(static_cast<std::byte*>(at), from, bytes);
}
// Changes a byte behind a row, as a write past its end would: past them, too.
inline void stray_change(void* at) {
    auto* const place = static_cast<std::byte*>(at);
    std::byte byte;
    allot::detail::sys::read_hidden(&byte, place, 1);
    byte ^= std::byte{1};
    allot::detail::sys::write_hidden(place, &byte, 1);
}
