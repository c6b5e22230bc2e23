// Page policies with nothing behind them, for tests that resolve sets and never allocate.
#pragma once

#include <allot/core/category/page.hpp>

namespace fake {

struct host_page {
    using category = allot::category::page;
    using needs = allot::types<>;
    using provides = allot::types<allot::property::host_accessible>;
    static constexpr std::string_view about = "pages of a test";
};

struct device_page {
    using category = allot::category::page;
    using needs = allot::types<>;
    using provides = allot::types<allot::property::device_accessible>;
};

struct preallocated_page {
    using category = allot::category::page;
    using needs = allot::types<>;
    using provides = allot::types<allot::property::host_accessible, allot::property::preallocated>;
};

} // namespace fake
