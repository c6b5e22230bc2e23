// Accounts: bytes charged under limits, in a tree. See account_class.hpp for what an account is and costs,
// docs/accounts.md for its use.
#pragma once

#include <allot/ledger/account_class.hpp>

#include <allot/ledger/account_hold.hpp>

#include <allot/ledger/account_calls.hpp>
#include <allot/ledger/account_climb.hpp>
#include <allot/ledger/account_close.hpp>
#include <allot/ledger/account_holders.hpp>
#include <allot/ledger/account_peak.hpp>
