// Tables of TPC-H in files, read part by part into chunks of rows.
//
// A table has parts (the row groups of a Parquet file, about 1 MiB of a .tbl file). A scan reads some columns of some
// rows of one part. It fills one chunk again and again, so it holds one page of each column, never a whole column.
// Dates are days since 1970-01-01, decimals are hundredths.
#pragma once

#include "query_memory.hpp"
#include <allot/buffers.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace tpch {

enum class column_type : std::uint8_t { number32, number64, text };

/// Values of some columns of up to `capacity` rows, in buffers that are charged to an account.
///
///   number32, number64   v0 v1 v2 ..
///   text                 o0 o1 .. on, 32 bits each: value i is bytes [oi, oi+1) of a second buffer
class chunk {
  public:
    static constexpr std::size_t default_capacity = 2048;

    /// Throws: what buffer_memory::allocate throws.
    chunk(const allot::buffer_memory& memory, allot::account& by, std::span<const column_type> types,
          std::size_t capacity = default_capacity);

    std::size_t rows() const { return rows_; }
    std::size_t capacity() const { return capacity_; }
    std::size_t columns() const { return columns_.size(); }
    column_type type(std::size_t column) const { return columns_[column].type; }

    /// The rows() values of a column of this type.
    std::span<const std::int32_t> ints(std::size_t column) const { return {ints_to(column), rows_}; }
    std::span<const std::int64_t> longs(std::size_t column) const { return {longs_to(column), rows_}; }
    /// Valid until the chunk is filled again.
    std::string_view text(std::size_t column, std::size_t row) const {
        const std::uint32_t* const at = offsets_to(column) + row;
        return {text_bytes(column) + at[0], at[1] - at[0]};
    }
    /// The text of row i is bytes [offsets[i], offsets[i + 1]) of text_bytes(column).
    const std::uint32_t* offsets(std::size_t column) const { return offsets_to(column); }
    const char* text_bytes(std::size_t column) const {
        return reinterpret_cast<const char*>(columns_[column].bytes.data());
    }

    // ---- for scans ------------------------------------------------------------------------------------------

    /// Bytes behind the last text that may be read and overwritten.
    static constexpr std::size_t slack = 80;

    std::int32_t* ints_to(std::size_t column) const { return values_to<std::int32_t>(column); }
    std::int64_t* longs_to(std::size_t column) const { return values_to<std::int64_t>(column); }
    std::uint32_t* offsets_to(std::size_t column) const { return values_to<std::uint32_t>(column); }
    /// Room for `more` bytes of text, and the slack, behind the first `used` bytes, which are kept.
    /// Returns: the text's first byte.
    /// Throws: what buffer_memory::allocate throws; the chunk is as before.
    char* text_to(std::size_t column, std::size_t used, std::size_t more);
    void set_rows(std::size_t n) { rows_ = n; }

  private:
    struct column_buffers {
        column_type type;
        allot::buffer values, bytes;
    };
    template <class T> T* values_to(std::size_t column) const {
        return reinterpret_cast<T*>(columns_[column].values.data());
    }

    allot::buffer_memory memory_;
    allot::account* by_;
    std::vector<column_buffers> columns_;
    std::size_t rows_ = 0, capacity_;
};

/// Reads some columns of some rows of one part. Threads: one at a time. After an exception only destroy it.
class scan {
  public:
    virtual ~scan() = default;
    /// Fills the chunk with the next rows: as many as it has room for, fewer only at the end.
    /// Requires: the chunk has the types of the columns.
    /// Returns: false, and no rows, at the end.
    /// Throws: std::runtime_error where the file is damaged; what the accounts' refusals throw.
    virtual bool next(chunk& to) = 0;
};

/// A table in a file. Threads: any; each has its own scans.
class table {
  public:
    virtual ~table() = default;
    virtual std::uint64_t rows() const = 0;
    virtual std::size_t parts() const = 0;
    virtual std::uint32_t rows_of(std::size_t part) const = 0;
    /// All columns, in the order of the file.
    virtual std::vector<const char*> columns() const = 0;
    /// Throws: std::runtime_error for a wrong name.
    virtual std::vector<column_type> types(std::span<const char* const> columns) const = 0;
    /// Reads rows [first, first + n) of a part.
    /// Requires: they are in the part; the table and `memory` outlive the scan.
    /// Throws: std::runtime_error for a wrong name or a damaged file, with file and column; what the accounts' refusals
    /// throw (out_of_memory, verdict_error).
    virtual std::unique_ptr<scan> read(std::size_t part, std::uint32_t first, std::uint32_t n,
                                       std::span<const char* const> columns, query_memory& memory) const = 0;
};

/// Opens `folder`/<name>.parquet, else `folder`/<name>.tbl.
/// Throws: std::runtime_error where there is neither, or this build cannot read it.
std::unique_ptr<table> open_table(const std::filesystem::path& folder, const char* name);

} // namespace tpch
