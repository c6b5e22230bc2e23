// With --device, the number columns of the flights are kept on a device while queries are answered. The same code is
// compiled for a GPU (cuda.cpp) and for the simulated device (simulated.cpp).
#pragma once
#include "../options.hpp"
#include <allot/device_allocator/device_stats.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>

namespace flights {

struct device_outcome {
    std::string device;                         // empty: no device
    std::size_t columns = 0, equal_columns = 0; // all, and those that were unchanged when copied back
    std::uint64_t rows = 0, chunks = 0, streams = 0;
    std::uint64_t copied = 0;        // bytes to the device
    std::uint64_t dropped = 0;       // chunks that were dropped to make room, and copied again
    std::uint64_t hazards = 0;       // unordered uses of memory that the simulated device found
    std::string report, report_json; // of the device allocator, while it held the columns
    allot::device_stats afterwards;  // after all blocks were freed

    bool good() const { return equal_columns == columns && hazards == 0; }
};

/// The flights, as code sees them that is compiled once for all policy sets.
class flight_chunks {
  public:
    virtual std::size_t count() const = 0;
    virtual std::size_t rows() const = 0;
    /// Calls fn with the rows of a chunk.
    virtual void read(std::size_t chunk, const std::function<void(std::span<void* const>)>& fn) const = 0;

  protected:
    ~flight_chunks() = default;
};
template <class Table> class chunks_of final : public flight_chunks {
  public:
    explicit chunks_of(const Table& from) : from_(from) {}
    std::size_t count() const override { return from_.chunks(); }
    std::size_t rows() const override { return from_.rows(); }
    void read(std::size_t chunk, const std::function<void(std::span<void* const>)>& fn) const override {
        const auto held = from_[chunk].read();
        fn(held.rows());
    }

  private:
    const Table& from_;
};

class device_side {
  public:
    virtual ~device_side() = default;
    /// Copies the columns to the device. Throws allot::out_of_memory if the limit is too small for one chunk.
    virtual void keep() = 0;
    /// Copies the columns back on other streams, compares them, and frees them.
    virtual device_outcome finish() = 0;
};

/// Null for --device none. Throws shared::device_error if there is no such device. Requires: the chunks and the memory
/// outlive the result.
std::unique_ptr<device_side> open_device(const options& asked, const flight_chunks& from,
                                         std::pmr::memory_resource& memory);

namespace devices { // each in the file with its name
std::unique_ptr<device_side> simulated(const options&, const flight_chunks&, std::pmr::memory_resource&);
std::unique_ptr<device_side> cuda(const options&, const flight_chunks&, std::pmr::memory_resource&);
} // namespace devices

} // namespace flights
