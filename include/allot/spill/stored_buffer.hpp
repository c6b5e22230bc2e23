// How a store keeps a buffer: its bytes, which come back to memory of the source that its block is of.
//
// Requires: the view is its block's only one, of memory that the host may access; its account is charged. Checked
// builds report what is not so. Threads: as stored.hpp says.
#pragma once

#include <allot/account/top_holders.hpp>
#include <allot/buffer/buffer.hpp>
#include <allot/buffer/buffer_memory.hpp>
#include <allot/config.hpp>
#include <allot/core/charge_status.hpp>
#include <allot/core/error.hpp>
#include <allot/core/row_type.hpp>
#include <allot/reclaim/cost_cap.hpp>
#include <allot/reclaim/reclaimer.hpp>
#include <allot/spill/home.hpp>
#include <allot/spill/stored.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

namespace allot::inline ALLOT_ABI {
namespace detail {

// What cannot be stored; `type`: of a row, or null.
[[noreturn]] ALLOT_OUTLINE_COLD void raise_not_storable(misuse what, const char* account_name,
                                                        const row_type* type = nullptr) {
    const char* const of = type != nullptr ? type->name : "";
    report_misuse({.kind = what, .heap = account_name, .type = of});
    char line[out_of_memory::line_bytes];
    text_writer text{line};
    text.put("allot: ").put(text_of(what));
    if (*of != 0) text.put(": type ").put(of);
    allot::raise(out_of_memory{text.view(), "", {.outcome = charge_outcome::misused}});
}
// The account that is charged for a buffer; raises where the buffer cannot be stored. Requires: it is not empty.
inline account& account_to_store(const buffer& b, bool is_shared, bool needs_host_access = true) {
    account& by = *b.charged();
    if (!buffer_memory::of(b)) raise_not_storable(misuse::not_storable, by.name());
    if (is_shared) raise_not_storable(misuse::other_views, by.name());
    if (needs_host_access && !b.host_access()) raise_not_storable(misuse::no_host_access, by.name());
    return by;
}
// Memory for what comes back. None: `why`.
inline buffer make_buffer(const buffer_memory& from, const pin_request& by, std::size_t bytes,
                          home_status& why) noexcept {
    buffer b = by.make([&] { return from.try_allocate(by.to, bytes, &why.why); },
                       [&](const wait_limit& most) { return from.allocate_for(by.to, bytes, most, &why.why); });
    if (!b) why.how = home_status::outcome::refused;
    return b;
}

} // namespace detail

/// Throws: out_of_memory, as misused, for a foreign block, one with other views, and one that the host may not access.
/// An empty buffer never leaves.
template <> struct storing<buffer> {
    using held = buffer;

    storing(const buffer& b, account& of_store)
        : by(b ? detail::account_to_store(b, b.is_shared()) : of_store), memory(buffer_memory::of(b)), bytes(b.size()) {
    }

    static buffer hold(buffer& b) noexcept { return std::move(b); }
    static std::size_t charged(const buffer& b) noexcept { return b.block_bytes(); }
    static home_status write(const buffer& from, kept_bytes& to) noexcept {
        byte_source source{from.bytes()};
        return to.write(source);
    }
    static bool may_leave(const buffer& b) noexcept { return !b.is_shared(); }
    static std::span<const std::byte> in_one_piece(const buffer& b) noexcept { return b.bytes(); }
    buffer make(const kept_bytes& from, const pin_request& by_pin, home_status& why) const noexcept {
        buffer b = detail::make_buffer(*memory, by_pin, bytes, why);
        if (!b) return b;
        byte_sink sink{b.bytes()};
        why = from.read(sink);
        return b;
    }
    static void move_to(account& to, buffer& b) {
        if (!b || b.holder() == &to) return;
        transfer_result moved = std::move(b).try_transfer(to);
        if (!moved.view) detail::raise_refused(to.node(), moved.status);
        b = std::move(moved.view);
    }
    std::size_t count() const noexcept { return bytes; }
    stored_part<buffer> part(std::size_t from, std::size_t n, const kept_bytes& whole, home_status&) const noexcept {
        stored_part<buffer> p{*this, whole.slice(from, n)};
        p.how.bytes = n;
        return p;
    }

    account& by;
    std::optional<buffer_memory> memory; // none: it is empty
    std::size_t bytes;
};
static_assert(spillable<stored<buffer>>);

} // namespace allot::inline ALLOT_ABI
