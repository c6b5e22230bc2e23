// The bytes of a file, in order. Where its pieces are kept, those of an earlier reading are not read from the system
// again.
#pragma once
#include "kept.hpp"
#include <allot/buffers.hpp>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace flights::csv {

inline constexpr std::size_t block_bytes = 128 * 1024;

/// The file cannot be used: missing, not readable, or not the expected table.
struct input_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The memory of blocks, and the account that is charged.
struct block_memory {
    allot::buffer_memory memory;
    allot::account& by;
    kept* pieces = nullptr; // of files, for the next reading; null: none are kept

    allot::buffer allocate() const { return memory.allocate(by, block_bytes); }
};

class file {
  public:
    /// Throws input_error if the file cannot be opened, or is no regular file and its pieces are to be kept. Requires:
    /// the path outlives it.
    file(const std::string& path, const block_memory& memory);
    ~file();
    file(const file&) = delete;
    file& operator=(const file&) = delete;

    /// Bytes; 0: unknown.
    std::uint64_t size() const { return size_; }
    /// Reads some bytes, at most `room`; 0: at the end. Throws input_error.
    std::size_t read(char* at, std::size_t room);

  private:
    std::size_t read_from_system(char* at, std::size_t room);
    std::size_t read_piece();

    const std::string& path_;
    kept* const pieces_;
    int file_ = -1;
    std::uint64_t size_ = 0, at_ = 0;
    allot::buffer own_; // where a piece is read
    found kept_;        // one that was kept
    std::size_t used_ = 0, piece_bytes_ = 0;
};

} // namespace flights::csv
