// A hazard: a use of memory that is not ordered after an earlier use, or of memory that the operation must not use.
//
// It names the range, both operations, and the missing order between them. Each range that an operation uses reports at
// most one hazard. The log counts all hazards, keeps the first 64, and reports each to a sink (standard error by
// default). A sink is called with the simulator's lock held and must not call the simulator. Writing allocates nothing.
#pragma once

#include <allot/config.hpp>
#include <allot/core/text.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string_view>

namespace allot::inline ALLOT_ABI {
namespace device {

/// The kind of a hazard.
enum class hazard_kind : std::uint8_t {
    not_ordered,        // used while an earlier use may still run
    used_after_free,    // used after its block was freed
    handed_out_twice,   // a block was allocated while it, or a part of it, was live
    freed_twice,        // a free block was freed
    not_allocated,      // not in memory of the device: never allocated, freed, or not mapped
    no_access,          // the operation's device has no right to the memory
    unmapped_while_used // unmapped or freed before the host had waited for its users
};

constexpr std::string_view text_of(hazard_kind kind) noexcept {
    constexpr std::string_view texts[] = {
        "is not ordered after",
        "uses freed memory:",
        "hands out memory that is in use:",
        "frees memory that is free:",
        "uses an address where no memory is allocated",
        "has no access to this memory",
        "unmaps memory before the host has waited for:",
    };
    static_assert(std::size(texts) == static_cast<std::size_t>(hazard_kind::unmapped_while_used) + 1);
    return texts[static_cast<std::size_t>(kind)];
}

/// An operation in a hazard. Stream 0 is the legacy stream of device 0; the host has no stream.
struct operation {
    const char* what = ""; // the name of the kernel or of the call
    std::uint64_t stream = 0;
    std::uint64_t number = 0; // of the stream's operations, from 1
    bool host = false;
};

/// A hazard: the bytes, and the two operations that are not ordered.
struct hazard {
    hazard_kind kind{};
    const void* address = nullptr;
    std::size_t bytes = 0;
    operation later{};
    operation earlier{};         // unused by not_allocated and no_access
    bool event_recorded = false; // on the earlier stream, after the earlier operation
};

inline void write(text_writer& out, const operation& o) noexcept {
    out.put('"').put(o.what).put("\" ");
    if (o.host) out.put("of the host");
    else out.put("(stream ").number(o.stream).put(", operation ").number(o.number).put(')');
}

/// Writes 'allot: hazard: 4 KiB at 0x7f..: "fill" (stream 3, operation 8) is not ordered after "copy" (stream 2,
/// operation 7): no event was recorded on stream 2 after it'.
ALLOT_OUTLINE_WARM void write(text_writer& out, const hazard& h) noexcept {
    out.put("allot: hazard: ").bytes(h.bytes).put(" at ").pointer(h.address).put(": ");
    write(out, h.later);
    out.put(' ').put(text_of(h.kind));
    if (h.kind == hazard_kind::not_allocated || h.kind == hazard_kind::no_access) return;
    out.put(' ');
    write(out, h.earlier);
    if (h.kind != hazard_kind::not_ordered || h.earlier.host) return;
    if (h.later.host)
        out.put(": the host waited neither for stream ").number(h.earlier.stream).put(" nor for an event after it");
    else if (h.event_recorded)
        out.put(": stream ")
            .number(h.later.stream)
            .put(" waited for no event recorded on stream ")
            .number(h.earlier.stream)
            .put(" after it");
    else out.put(": no event was recorded on stream ").number(h.earlier.stream).put(" after it");
}

/// An object that was not freed when the simulator was destroyed.
struct leak {
    const char* what = ""; // "event", "stream", "plain memory", ...
    const void* address = nullptr;
    std::size_t bytes = 0;
    std::uint64_t number = 0; // of objects without an address
};

ALLOT_OUTLINE_WARM void write(text_writer& out, const leak& l) noexcept {
    out.put("allot: leak: ").put(l.what);
    if (l.address != nullptr) out.put(" at ").pointer(l.address);
    else out.put(' ').number(l.number);
    if (l.bytes != 0) out.put(", ").bytes(l.bytes);
}

namespace detail {

template <class Finding> void finding_to_stderr(void*, const Finding& finding) noexcept {
    char buffer[512];
    text_writer out{buffer};
    write(out, finding);
    std::fprintf(stderr, "%s\n", out.c_str());
}

// A function, because nvcc 13 mistakes a noexcept lambda that becomes a pointer here.
template <class Finding> void ignore_finding(void*, const Finding&) noexcept {}

} // namespace detail

/// Functions that hazards and leaks are reported to. They are called with the simulator's lock held, and must not call
/// it.
struct hazard_sink {
    void (*write_hazard)(void* context, const hazard&) noexcept = &detail::finding_to_stderr<hazard>;
    void (*write_leak)(void* context, const leak&) noexcept = &detail::finding_to_stderr<leak>;
    void* context = nullptr;

    /// A sink that writes nothing, for tests that read the count.
    static hazard_sink quiet() noexcept {
        return {&detail::ignore_finding<hazard>, &detail::ignore_finding<leak>, nullptr};
    }
};

namespace detail::sim {

class hazard_log {
  public:
    static constexpr std::size_t max_kept = 64;

    void report(const hazard_sink& sink, const hazard& h, bool abort) noexcept {
        if (count_ < max_kept) kept_[count_] = h;
        ++count_;
        sink.write_hazard(sink.context, h);
        if (abort) std::abort();
    }
    std::uint64_t count() const noexcept { return count_; }
    std::size_t kept() const noexcept { return count_ < max_kept ? static_cast<std::size_t>(count_) : max_kept; }
    const hazard& operator[](std::size_t i) const noexcept { return kept_[i]; }
    void clear() noexcept { count_ = 0; }

  private:
    std::uint64_t count_ = 0;
    std::array<hazard, max_kept> kept_{};
};

} // namespace detail::sim
} // namespace device
} // namespace allot::inline ALLOT_ABI
