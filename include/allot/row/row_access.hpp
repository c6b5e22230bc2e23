// row_access: lets handles reach the core of a row manager. Internal.
#pragma once

#include <allot/config.hpp>

namespace allot::inline ALLOT_ABI {

template <class Set> class row_manager;

namespace detail {

template <class Set> class row_core;

struct row_access {
    template <class Set> static row_core<Set>& core(row_manager<Set>& rows) noexcept { return rows.core_; }
};

} // namespace detail
} // namespace allot::inline ALLOT_ABI
