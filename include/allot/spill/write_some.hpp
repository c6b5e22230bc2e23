// Writes entries of a store that leave: the first of a list, and those behind it, as long as they are small and of one
// piece, by one call of the home.
//
// Cost: that of the home's calls; 64 pointers of stack. Threads: the caller moves the entries.
#pragma once

#include <allot/config.hpp>
#include <allot/spill/entry.hpp>
#include <allot/spill/home.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace allot::inline ALLOT_ABI {
namespace detail {

// What became of an entry that was to leave.
enum class leave_step : std::uint8_t { stays, cancelled, failed, is_kept, written };

// `begin(entry, why)`: what is to be done. `end(entry, step, status)` for each.
template <class Begin, class End> void write_some(home& to, store_entry*& list, Begin begin, End end) noexcept {
    constexpr std::size_t most_small = 65'536, most_in_one_call = 1'048'576; // bytes that are written together
    store_entry* some[kept_bytes::most_together];
    std::size_t n = 0, sum = 0;
    while (store_entry* const e = list) {
        const std::span<const std::byte> bytes = e->object->in_one_piece();
        const bool is_small = !bytes.empty() && bytes.size() <= most_small;
        if (n != 0 && (!is_small || n == kept_bytes::most_together || sum + bytes.size() > most_in_one_call)) break;
        list = e->next;
        home_status why;
        const leave_step how = begin(*e, why);
        if (how == leave_step::written && is_small) {
            some[n++] = e;
            sum += bytes.size();
            continue;
        }
        if (how == leave_step::written) why = e->write(*e->object, e->kept);
        end(*e, how, why);
        if (n == 0) return;
    }
    kept_bytes::write_together(
        to, n, [&](std::size_t i) -> kept_bytes& { return some[i]->kept; },
        [&](std::size_t i) { return some[i]->object->in_one_piece(); },
        [&](std::size_t i, const home_status& why) { end(*some[i], leave_step::written, why); });
}

} // namespace detail
} // namespace allot::inline ALLOT_ABI
