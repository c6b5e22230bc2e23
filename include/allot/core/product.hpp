// Products that a set of policies configures, and the categories that each product reads.
//
// A product is a tag with a name and a list. A policy of a category that the product does not read is refused, because
// it would have no effect. Types only.
#pragma once

#include <allot/core/category.hpp>
#include <allot/core/property.hpp>

#include <string_view>

namespace allot::inline ALLOT_ABI {

namespace product {

struct row_manager {
    static constexpr std::string_view name = "row_manager";
    using reads =
        types<category::page, category::size, category::slots, category::heap, category::refill, category::count,
              category::ledger, category::spill, category::oom, category::retain, category::guard, category::watch>;
};

/// One heap of a row manager: the categories that `as<...>` may name.
struct row_heap {
    static constexpr std::string_view name = "row_heap";
    using reads = types<category::size, category::slots, category::heap, category::refill, category::guard>;
};

struct arena {
    static constexpr std::string_view name = "arena";
    using reads = types<category::page, category::retain, category::watch>;
};

struct chunk_arena {
    static constexpr std::string_view name = "chunk_arena";
    using reads = types<category::page, category::fit, category::heap, category::ledger, category::spill, category::oom,
                        category::retain, category::watch>;
};

struct device_allocator {
    static constexpr std::string_view name = "device_allocator";
    using reads = types<category::page, category::fit, category::order, category::ledger, category::spill,
                        category::oom, category::retain, category::watch>;
};

} // namespace product

} // namespace allot::inline ALLOT_ABI
