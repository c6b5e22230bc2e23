// What the job keeps on a device where --device names one: the flights' numbers, column by column, while the queries
// are answered. The same code serves a GPU and the simulated device; one file here compiles it for each.
#pragma once
#include "../options.hpp"
#include "../tables.hpp"
#include <allot/device_allocator/device_stats.hpp>
#include <memory>
#include <memory_resource>
#include <stdexcept>
#include <string>

namespace flights {

/// There is no such device, or it does not do what it is asked.
struct device_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct device_outcome {
    std::string device;                         // empty: none was asked for
    std::size_t columns = 0, equal_columns = 0; // those that came back as they had been copied there
    std::uint64_t rows = 0, chunks = 0, streams = 0;
    std::uint64_t copied = 0;        // bytes to the device
    std::uint64_t dropped = 0;       // chunks that made room for others, and were copied again
    std::uint64_t hazards = 0;       // uses of memory that were not ordered: what the simulated device found
    std::string report, report_json; // of the device allocator, when all that fits was there
    allot::device_stats afterwards;  // when nothing was left there

    bool good() const { return equal_columns == columns && hazards == 0; }
};

class device_side {
  public:
    virtual ~device_side() = default;
    /// Copies the columns to the device. Throws allot::out_of_memory where the limit is too small for one chunk.
    virtual void keep() = 0;
    /// Copies them back, on other streams, and frees them.
    virtual device_outcome finish() = 0;
};

/// Null for --device none. Throws device_error where there is no such device; nothing was read until then. The table
/// and the memory outlive it.
std::unique_ptr<device_side> open_device(const options& asked, const table<flight>& from,
                                         std::pmr::memory_resource& memory);

namespace devices { // each in the file of its name
std::unique_ptr<device_side> simulated(const options&, const table<flight>&, std::pmr::memory_resource&);
std::unique_ptr<device_side> cuda(const options&, const table<flight>&, std::pmr::memory_resource&);
} // namespace devices

} // namespace flights
