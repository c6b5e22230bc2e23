// What every row of a manager can be told about: its types, and the names that errors and reports use.
//
// Reached from a page's header, so a release that knows only an address can run a destructor or name a mistake.
// Cost: that of the type table. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/text.hpp>
#include <allot/row/type_table.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {

struct row_context {
    const char* set = "";  // the name of the policy set
    const char* name = ""; // the manager's own name
    type_table types;

    void* manager = nullptr;
    void (*write_report)(void* manager, text_writer& out) noexcept = nullptr; // limits, arena, holders
    damage_sink damage;

    void report(misuse kind, const char* heap, const row_type* type, const void* address) const noexcept {
        report_misuse(
            {.kind = kind, .set = set, .heap = heap, .type = type != nullptr ? type->name : "", .address = address});
    }
    void report_damage(misuse kind, const char* heap, const row_type* type, const void* address) const noexcept {
        damage.write(
            damage.context,
            {.kind = kind, .set = set, .heap = heap, .type = type != nullptr ? type->name : "", .address = address});
    }
};

} // namespace allot::inline ALLOT_ABI
