// The error of a home that could not be opened, or from which bytes could not be read back: one line of text.
//
// It has a copy of the file's name, which may end with the home. Cost: 600 bytes; nothing is allocated.
// Threads: as any value. Host only.
#pragma once

#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/text.hpp>
#include <allot/spill/home.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>

namespace allot::inline ALLOT_ABI {

/// Writes "failed: write /var/tmp at 4096, 1.00 MiB: No space left on device".
inline void write(text_writer& out, const home_status& s) noexcept {
    constexpr std::string_view texts[] = {"done", "refused", "failed", "damaged"};
    out.put(texts[static_cast<std::size_t>(s.how)]);
    if (s.how == home_status::outcome::refused) write(out.put(": "), s.why);
    if (*s.call != 0) out.put(": ").put(s.call);
    if (*s.file != 0) out.put(' ').put(s.file);
    if (s.bytes != 0) out.put(" at ").number(s.offset).put(", ").bytes(s.bytes);
    if (s.error != 0) {
        const char* const text = ::strerrordesc_np(s.error);
        out.put(": ").put(text != nullptr ? text : "unknown error");
        out.put(" (errno ").number(static_cast<std::uint64_t>(s.error)).put(')');
    }
    if (s.how == home_status::outcome::damaged) out.put(": the bytes are not those that were written");
}

/// What failed is status(); its file is part of this error.
class spill_error : public std::exception {
  public:
    /// `of`: the name of the store or home.
    ALLOT_OUTLINE spill_error(std::string_view of, const home_status& s) noexcept : status_(s) {
        keep_file(s.file);
        text_writer out{line_};
        write(out.put("allot: ").brief(of).put(": "), s);
    }
    spill_error(const spill_error& o) noexcept : std::exception(o), status_(o.status_) { copy(o); }
    spill_error& operator=(const spill_error& o) noexcept {
        if (&o == this) return *this;
        status_ = o.status_;
        return copy(o), *this;
    }

    const char* what() const noexcept override { return line_; }
    const home_status& status() const noexcept { return status_; }

  private:
    void keep_file(const char* name) noexcept {
        text_writer{file_}.put(name);
        status_.file = file_;
    }
    void copy(const spill_error& o) noexcept {
        keep_file(o.file_);
        text_writer{line_}.put(o.line_);
    }

    home_status status_;
    char file_[160];
    char line_[320];
};

/// Throws `error`. In builds without exceptions writes its text to standard error and aborts.
[[noreturn]] ALLOT_OUTLINE_COLD void raise(const spill_error& error) {
#if ALLOT_EXCEPTIONS
    throw error;
#else
    std::fprintf(stderr, "%s\n", error.what());
    std::abort();
#endif
}

} // namespace allot::inline ALLOT_ABI
