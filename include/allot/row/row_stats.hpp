// Statistics of a row manager. Cost: a value. Threads: a value.
#pragma once

#include <allot/config.hpp>

#include <cstddef>

namespace allot::inline ALLOT_ABI {

/// Statistics of a row manager at one moment, in bytes unless a member says otherwise.
struct row_stats {
    std::size_t charged = 0;          ///< pages held x page size, idle, and books
    std::size_t peak = 0;             ///< highest charge; under ledger::none of the whole arena
    std::size_t limit = 0;            ///< SIZE_MAX: none; under ledger::none of the whole arena
    std::size_t committed = 0;        ///< of the whole arena
    std::size_t resident = 0;         ///< of the whole arena, as the system reports it
    std::size_t live_rows = 0;        ///< number of rows
    std::size_t live_bytes = 0;       ///< bytes that live rows may use; of huge rows their pages
    std::size_t largest_free_run = 0; ///< of the whole arena
    std::size_t idle = 0;             ///< of charged: free pages of a private arena that may hold memory, see trim()
    std::size_t books = 0;            ///< of charged: of the library's own objects (docs/accounts.md#books)
};

} // namespace allot::inline ALLOT_ABI
