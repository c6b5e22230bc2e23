// row_context: the row types of a manager, and the names and sinks for its errors and reports.
//
// A page's header leads to it, so a release by address finds destructors, and misuse reports have names.
// Cost: that of the type table. Threads: any.
#pragma once

#include <allot/config.hpp>
#include <allot/core/error.hpp>
#include <allot/core/text.hpp>
#include <allot/row/type_table.hpp>
#include <allot/sys/lock_rank.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {
namespace detail {

struct row_owner {
    const char* set = "";  // name of the policy set
    const char* name = ""; // name of the manager
    void* manager = nullptr;
    damage_sink damage;
};

struct row_context : row_owner {
    type_table types;

    void report(misuse kind, const char* heap, const row_type* type, const void* address,
                const char* arena = nullptr) const noexcept {
        report_misuse(facts(kind, heap, type, address, arena));
    }
    void report_damage(misuse kind, const char* heap, const row_type* type, const void* address) const noexcept {
        detail::check_no_lock_is_held("reports damage");
        damage.write(damage.context, facts(kind, heap, type, address, nullptr));
    }

  private:
    misuse_report facts(misuse kind, const char* heap, const row_type* type, const void* address,
                        const char* arena) const noexcept {
        return {.kind = kind,
                .set = set,
                .heap = heap,
                .type = type != nullptr ? type->name : "",
                .address = address,
                .arena = arena,
                .manager = name};
    }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
