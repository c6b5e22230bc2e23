// The options of spill files.
//
// Cost: none. Threads: values.
#pragma once

#include <allot/account/forward.hpp>
#include <allot/config.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::inline ALLOT_ABI {

/// How an extent is stored. An extent that does not shrink by a 16th is stored as it is.
enum class spill_compression : std::uint8_t { none, lz4 };

struct spill_file_options {
    const char* name = "spill files";                // in errors; outlives the files
    std::size_t extent_bytes = std::size_t{1} << 20; // of one extent: rounded up to 4 KiB, at most 16 MiB
    unsigned staging_buffers = 0;                    // at most 32; 0: one per processor, 2 to 16
    account* staging_by = nullptr;                   // charged for staging buffers; null: they are outside of limits
    spill_compression compress = spill_compression::none; // lz4 needs ALLOT_LZ4=1
    bool uring = false; // io_uring, where the system lets the process use it; needs ALLOT_URING=1
};

} // namespace allot::inline ALLOT_ABI
