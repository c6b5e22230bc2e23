// Names of the tree of accounts, for products that use it only where their set says ledger::tree.
#pragma once

#include <allot/config.hpp>

namespace allot::inline ALLOT_ABI {

class account;
struct item_stats;

} // namespace allot::inline ALLOT_ABI
