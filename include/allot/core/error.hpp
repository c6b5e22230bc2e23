// Errors at run time: out of memory, with its page of who holds it, and misuse.
//
// Nothing here allocates: an out_of_memory carries its report in itself, and the exception's own storage
// comes from the C++ runtime's emergency pool when it must. Misuse aborts in checked builds with a message
// that names set, heap and row type; in others the call has its documented answer (for most: nothing
// happens).
// Any thread. Host only.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string_view>
#include <type_traits>

namespace allot::inline ALLOT_ABI {

/// Thrown by oom::raise. what() is one line; report() is a page that tells the request, the limit and the
/// holders.
class out_of_memory : public std::bad_alloc {
  public:
    static constexpr std::size_t line_bytes = 256;
    static constexpr std::size_t report_bytes = 3072;

    out_of_memory() noexcept { set("allot: out of memory", ""); }
    out_of_memory(std::string_view line, std::string_view page) noexcept { set(line, page); }

    /// Lets `write(text_writer&)` write the page in place, without a second buffer.
    template <class Write>
        requires std::is_invocable_v<Write&, text_writer&>
    out_of_memory(std::string_view line, Write&& write) noexcept {
        set(line, "");
        text_writer out{report_};
        write(out);
    }

    const char* what() const noexcept override { return line_; }
    const char* report() const noexcept { return report_; }

  private:
    void set(std::string_view line, std::string_view page) noexcept {
        text_writer{line_}.put(line);
        text_writer{report_}.put(page);
    }

    char line_[line_bytes];
    char report_[report_bytes];
};

/// Throws `error`; without exceptions writes its report to standard error and aborts.
[[noreturn]] ALLOT_COLD inline void raise(const out_of_memory& error) {
#if ALLOT_EXCEPTIONS
    throw error;
#else
    std::fprintf(stderr, "%s\n%s\n", error.what(), error.report());
    std::abort();
#endif
}

enum class misuse {
    double_release,         // the row, or the page, was given back before
    foreign_pointer,        // the address is not of this object's memory
    interior_pointer,       // the address lies inside a row or block, not at its start
    absurd_size,            // more bytes than an address space, or a row of the heap, holds
    bad_alignment,          // not a power of two, or more than rows can have (blocks of a device: any power)
    used_after_release_all, // the heap's rows were all released before
    wrong_thread,           // a handle or an account of one thread used by another
    not_shared_arena,       // the row's page belongs to an arena that this manager does not use
    null_type,              // a row type whose destructor would be needed is not there
    outlived,               // used after the object it belongs to has ended
    no_host_access,         // the host was to write, seal or destroy a row in memory that it must not touch
    over_refunded,          // more bytes than were charged
    other_tree,             // an account of another tree
    out_of_bounds,          // bytes beyond a buffer's ends, or values beyond a vector's
    used_up,                // a reservation that was used or closed before
    // damage: what a guard or a row's check finds, told in every build
    broken_link,       // a free slot was written: its link leads to no slot
    overrun,           // the bytes behind a row were written
    written_when_free, // a row was written after its last release
    broken_seal,       // a sealed row is not what it was
};

constexpr std::string_view text_of(misuse kind) noexcept {
    constexpr std::string_view texts[] = {
        "released twice",
        "a pointer that is not of this object's memory",
        "a pointer into the inside of a row or block",
        "a size that no address space, or no row of this heap, holds",
        "an alignment that is not a power of two, or beyond what is allowed",
        "used after release_all",
        "a handle, or an account, of one thread used by another thread",
        "a row of an arena that this manager does not use",
        "a row finalized without a type",
        "used after its owner has ended",
        "a row in memory that the host must not touch",
        "more refunded than was charged",
        "an account of another tree",
        "beyond the bounds of a buffer or vector",
        "a reservation that was used or closed before",
        "a free row was written over: its link leads nowhere",
        "bytes behind a row were written",
        "a row was written after its release",
        "a sealed row was changed",
    };
    static_assert(std::size(texts) == static_cast<std::size_t>(misuse::broken_seal) + 1);
    return texts[static_cast<std::size_t>(kind)];
}

/// What is known about a misuse; a null or empty text is left out.
struct misuse_report {
    misuse kind;
    const char* set = nullptr;
    const char* heap = nullptr;
    const char* type = nullptr;
    const void* address = nullptr;
};

/// "allot: misuse: released twice: 0x7f.. (set thor_rows, heap orders, row type order)"
inline void write(text_writer& out, const misuse_report& report) noexcept {
    out.put("allot: misuse: ").put(text_of(report.kind));
    if (report.address != nullptr) out.put(": ").pointer(report.address);
    const char* separator = " (";
    const auto part = [&](const char* what, const char* text) {
        if (text == nullptr || *text == '\0') return;
        out.put(separator).put(what).put(' ').put(text);
        separator = ", ";
    };
    part("set", report.set);
    part("heap", report.heap);
    part("row type", report.type);
    if (separator[0] == ',') out.put(')');
}

namespace detail {

inline void misuse_to_stderr(const misuse_report& report) noexcept {
    char buffer[1024];
    text_writer out{buffer};
    write(out, report);
    out.newline();
    std::fputs(out.c_str(), stderr);
}

} // namespace detail

/// Checked builds: says what happened on standard error and aborts. Others: returns, and the caller answers
/// as its documentation says.
ALLOT_COLD inline void report_misuse([[maybe_unused]] const misuse_report& report) noexcept {
#if ALLOT_CHECKED
    detail::misuse_to_stderr(report);
    std::abort();
#endif
}

/// Damage to memory: said on standard error in every build; checked builds abort then, others go on.
ALLOT_COLD inline void damage_to_stderr(void*, const misuse_report& report) noexcept {
    detail::misuse_to_stderr(report);
    if constexpr (ALLOT_CHECKED != 0) std::abort();
}

/// Where a manager tells the damage that its guard, or a row's check, found: standard error unless one is given.
/// It is called on any thread, without a lock held, and may use the manager. A program with a sink of its own goes
/// on in checked builds, too.
struct damage_sink {
    void (*write)(void* context, const misuse_report& report) noexcept = &damage_to_stderr;
    void* context = nullptr;
};

// Where an object writes at its end what was not given back: standard error unless one is given.
struct leak_sink {
    void (*write)(void* context, std::string_view report) noexcept;
    void* context = nullptr;
};

namespace detail {

inline void leaks_to_stderr(void*, std::string_view report) noexcept {
    std::fwrite(report.data(), 1, report.size(), stderr);
}

} // namespace detail

} // namespace allot::inline ALLOT_ABI
