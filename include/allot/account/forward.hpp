// Forward declarations of accounts, for products that use the tree only if their set names ledger::tree.
#pragma once

#include <allot/config.hpp>

namespace allot::inline ALLOT_ABI {

class account;
struct item_stats;
namespace detail {
struct account_node;
}

} // namespace allot::inline ALLOT_ABI
